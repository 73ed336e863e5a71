"""What the facts of history and their reasons are called on screens; `labels` joins them to the others."""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.web.language import lazy_gettext

TREND_LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "fact": {
        "retry": lazy_gettext("Retries"),
        "probe_failed": lazy_gettext("Failed checks"),
        "contradicted": lazy_gettext("Confirmed, then contradicted"),
        "reopened": lazy_gettext("Reopened after their end"),
        "key_conflict": lazy_gettext("Key conflicts"),
    },
    "fact_about": {
        "probe_failed": lazy_gettext("The destination gave no usable answer."),
        "contradicted": lazy_gettext("A later check found something else than what was confirmed by itself."),
        "reopened": lazy_gettext("A person opened again what had ended."),
        "key_conflict": lazy_gettext("A key came again with other content."),
    },
    "fact_label": {
        "not_sent": lazy_gettext("Not sent"),
        "throttled": lazy_gettext("Throttled"),
        "rejected": lazy_gettext("Rejected"),
        "sent_unknown": lazy_gettext("Sent, answer unknown"),
        "local_conflict": lazy_gettext("Local conflict"),
        "permanent": lazy_gettext("Permanent failure"),
        "absent": lazy_gettext("A check found no effect"),
        "requeue": lazy_gettext("A person requeued it"),
        "confirmed": lazy_gettext("Was confirmed"),
        "compensated": lazy_gettext("Was compensated"),
        "not_applicable": lazy_gettext("Was closed"),
        "": lazy_gettext("No reason given"),
    },
}
