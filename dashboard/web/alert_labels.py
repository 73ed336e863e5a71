"""What the notices of alerts are called on screens; `labels` joins them to others."""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.web.language import lazy_gettext

ALERT_LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "alert_notice": {
        "firing": lazy_gettext("It began"),
        "repeat": lazy_gettext("It lasts"),
        "resolved": lazy_gettext("It is over"),
    },
    "alert_receiver": {"webhook": lazy_gettext("Webhook"), "mail": lazy_gettext("Mail")},
    "alert_notice_state": {
        "waiting": lazy_gettext("Not sent yet"),
        "sent": lazy_gettext("Sent"),
        "given_up": lazy_gettext("Given up"),
        "superseded": lazy_gettext("Overtaken by a newer one"),
    },
}
