"""The sentences of an explained policy, in a person's language; the command line shows them in English."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal

from flask_babel import LazyString

from dashboard.domain.explaining import Section, Statement
from dashboard.domain.text import visible
from dashboard.web.formatting import duration, money
from dashboard.web.labels import label
from dashboard.web.language import lazy_gettext

SECTIONS: Mapping[Section, LazyString] = {
    Section.EFFECT: lazy_gettext("What should exist"),
    Section.PROOF: lazy_gettext("How it is proven"),
    Section.TIME: lazy_gettext("When"),
    Section.VERDICTS: lazy_gettext("What follows from each verdict"),
    Section.PEOPLE: lazy_gettext("Who decides"),
    Section.ALERTS: lazy_gettext("What people are told of"),
    Section.KEEPING: lazy_gettext("What is kept"),
}

SENTENCES: Mapping[str, LazyString] = {
    # What should exist
    "effect_expected": lazy_gettext("%(effect)s."),
    "effect_unwritten": lazy_gettext("Nobody wrote down which effect should exist."),
    "destination_honours": lazy_gettext(
        "The effect lies at %(destination)s, which makes one effect of requests with the same idempotency key."
    ),
    "destination_repeats": lazy_gettext(
        "The effect lies at %(destination)s, where every request may make a new effect: a retry is dangerous."
    ),
    "destination_unnamed": lazy_gettext("No destination is named."),
    "moves_money": lazy_gettext("It moves money."),
    "moves_no_money": lazy_gettext("It moves no money."),
    # How it is proven
    "truth_destination": lazy_gettext("What the destination shows is the truth."),
    "truth_other": lazy_gettext("What %(source)s shows is the truth."),
    "probe_http": lazy_gettext("It is asked over HTTP: GET %(path)s at %(destination)s."),
    "probe_sql": lazy_gettext("It is asked by a reading query on the database that %(connection)s names."),
    "probe_python": lazy_gettext("It is asked by the host's function %(entry)s."),
    "probe_file": lazy_gettext("It cannot be asked: the lines of result files from %(destination)s are the evidence."),
    "probe_receipt": lazy_gettext("It cannot be asked: signed receipts from %(destination)s are the evidence."),
    "probe_none": lazy_gettext("It cannot be asked: every verdict is ambiguous, and a person finds out."),
    "probe_sees_cancelled": lazy_gettext("An effect that was called off or replaced counts as not applicable."),
    "absence_never": lazy_gettext("That nothing is found proves nothing."),
    "absence_twice": lazy_gettext("Absence counts as proven once nothing was found twice, %(lag)s apart."),
    "absence_once": lazy_gettext("Absence counts as proven by one fresh answer in which nothing is found."),
    # When
    "window": lazy_gettext("It is checked %(after)s after sending, then ever less often, at least every %(cap)s."),
    "lag": lazy_gettext("An effect may show as late as %(lag)s after sending: younger answers count for nothing."),
    "freshness": lazy_gettext("A verdict counts as proof for %(freshness)s."),
    "deadline": lazy_gettext("It is overdue %(deadline)s after it was created."),
    "retry": lazy_gettext(
        "It is sent at most %(attempts)s times; the wait begins below %(first)s, grows by the factor %(factor)s"
        " and ends at %(cap)s."
    ),
    "budget": lazy_gettext("All workers together retry at most %(count)s times a minute at %(destination)s."),
    # What follows from each verdict
    "on_confirm": lazy_gettext("It is confirmed, with the answer as evidence."),
    "on_retry": lazy_gettext("It is sent again while attempts are left; then a person decides."),
    "on_review": lazy_gettext("A person decides."),
    "on_close": lazy_gettext("It is closed as not applicable."),
    "on_wait": lazy_gettext(
        "It is never sent again by itself. A late or failed answer is asked for again; at the deadline, and where there"
        " are several effects, a person decides."
    ),
    # Who decides
    "mode_act": lazy_gettext("The reconciler does what the verdicts say."),
    "mode_observe": lazy_gettext("The reconciler only records what it would do, and does nothing."),
    "approval_none": lazy_gettext("%(action)s: nobody else needs to approve."),
    "approval_one": lazy_gettext("%(action)s: one other person must approve."),
    "approval_several": lazy_gettext("%(action)s: %(count)s other people must approve."),
    "approval_unwritten": lazy_gettext("No action needs a second person."),
    "approval_expires": lazy_gettext("A proposal that nobody approves ends after %(expires)s."),
    "manager_above": lazy_gettext("Above %(amount)s a manager must approve."),
    "approval_notify": lazy_gettext("Proposals are announced at %(sink)s."),
    "compensation_partial": lazy_gettext("A part of the amount may be given back."),
    "compensation": lazy_gettext("It is undone by %(type)s."),
    "compensation_none": lazy_gettext("Policy names nothing that undoes it."),
    # What people are told of
    "alert_accumulation": lazy_gettext("More than %(above)s operations need a person, for %(lasting)s."),
    "alert_age": lazy_gettext("The oldest open operation is older than %(above)s, for %(lasting)s."),
    "alert_deadline": lazy_gettext("More than %(above)s open operations are past their deadline, for %(lasting)s."),
    "alert_divergence": lazy_gettext(
        "A share above %(above)s of at least %(minimum)s verdicts of the last 30 days diverges, for %(lasting)s."
    ),
    "alert_none": lazy_gettext("Policy has no alert for this type."),
    # What is kept
    "retention": lazy_gettext("Bodies and evidence are kept for %(retention)s after its end."),
    "redacted": lazy_gettext("Never stored, beside what looks like a secret: %(paths)s."),
    "masked": lazy_gettext("Shown only to who reveals it, which is recorded: %(paths)s."),
}

ShowAmount = Callable[[Decimal, str], str]


def sentence(statement: Statement, *, amount: ShowAmount = money) -> str:
    """Give the sentence of a statement; `amount` writes money, which the command line does without a language."""
    values = {name: _shown(name, value) for name, value in statement.values.items()}
    if isinstance(exact := statement.values.get("amount"), Decimal):
        values["amount"] = amount(exact, str(statement.values["currency"]))
    return str(SENTENCES[statement.code]) % values


def _shown(name: str, value: object) -> str:
    if isinstance(value, timedelta):
        return duration(value)
    return label("action", str(value)) if name == "action" else visible(str(value))
