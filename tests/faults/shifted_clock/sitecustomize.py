"""A client whose clock is wrong by CLOCK_SHIFT seconds: Python imports this module first in every process."""

import datetime as dt
import os
import time
from typing import Any

SHIFT = float(os.environ.get("CLOCK_SHIFT", "0"))
_time = time.time
_datetime: Any = dt.datetime


class _EveryDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _datetime)


class _Shifted(dt.datetime, metaclass=_EveryDatetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return _datetime.now(tz) + dt.timedelta(seconds=SHIFT)


time.time = lambda: _time() + SHIFT
setattr(dt, "datetime", _Shifted)  # noqa: B010 - a type may not be assigned to
