"""Where the shapes of a chart lie: computed here, so that templates only print them. Units are those of its viewBox."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 480
TOP, BOTTOM = 14, 150
TICKS = 6


@dataclass(frozen=True)
class Column:
    """One day of a bar chart: `part` of `total` is drawn in the danger colour; `title` says it in words."""

    title: str
    url: str
    total: float
    part: float = 0


@dataclass(frozen=True)
class Bar:
    """A column as it is drawn."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    title: str
    url: str


@dataclass(frozen=True)
class Point:
    """A value of a line as it is drawn."""

    x: float
    y: float
    title: str
    url: str


@dataclass(frozen=True)
class Line:
    """One line of a chart: its points, and the stretches between those that follow each other without a gap."""

    name: str
    points: Sequence[Point]
    stretches: Sequence[str]


@dataclass(frozen=True)
class Tick:
    """A word below the axis."""

    x: float
    word: str


def ticks(words: Sequence[str]) -> list[Tick]:
    """The words of a few of the days, evenly spread."""
    step, every = WIDTH / max(len(words), 1), max(len(words) // TICKS, 1)
    return [
        Tick(round((number + 0.5) * step, 1), word) for number, word in enumerate(words) if number % every == every // 2
    ]


def bars(columns: Sequence[Column]) -> list[Bar]:
    """Place the columns side by side, the highest as high as the chart."""
    top, step = max((each.total for each in columns), default=0) or 1, WIDTH / max(len(columns), 1)
    return [_bar(number, each, step=step, top=top) for number, each in enumerate(columns)]


def line(name: str, values: Sequence[tuple[float | None, str, str]], *, top: float) -> Line:
    """Place (value, title, address) of each day; a day without a value breaks the line."""
    step = WIDTH / max(len(values), 1)
    stretches: list[list[Point]] = [[]]
    for number, (value, title, url) in enumerate(values):
        if value is None:
            stretches.append([])
            continue
        x = round((number + 0.5) * step, 1)
        stretches[-1].append(Point(x, round(BOTTOM - _height(value, top), 1), title, url))
    drawn = [" ".join(f"{point.x},{point.y}" for point in stretch) for stretch in stretches if len(stretch) > 1]
    return Line(name, [point for stretch in stretches for point in stretch], drawn)


def _bar(number: int, column: Column, *, step: float, top: float) -> Bar:
    height, part = _height(column.total, top), _height(column.part, top)
    return Bar(
        x=round((number + 0.15) * step, 1),
        width=round(step * 0.7, 1),
        y=round(BOTTOM - height, 1),
        height=round(height - part, 1),
        part_y=round(BOTTOM - part, 1),
        part_height=round(part, 1),
        title=column.title,
        url=column.url,
    )


def _height(value: float, top: float) -> float:
    return (BOTTOM - TOP) * value / (top or 1)
