"""What permissions, accounts and tokens are called on the screens of administrators; `labels` joins them to others."""

from collections.abc import Mapping

from flask_babel import LazyString

from dashboard.web.language import lazy_gettext

PEOPLE_LABELS: Mapping[str, Mapping[str, LazyString]] = {
    "permission": {
        "browse": lazy_gettext("see operations"),
        "note": lazy_gettext("add notes"),
        "claim": lazy_gettext("claim"),
        "check": lazy_gettext("check at the destination"),
        "escalate": lazy_gettext("escalate"),
        "propose": lazy_gettext("propose repairs"),
        "execute": lazy_gettext("carry out repairs that need no approval"),
        "approve": lazy_gettext("approve what others propose"),
        "approve_above_limit": lazy_gettext("approve above the limit"),
        "override": lazy_gettext("approve overrides"),
        "reopen": lazy_gettext("reopen what was closed"),
        "reveal": lazy_gettext("reveal masked fields"),
        "audit_own": lazy_gettext("see own audit entries"),
        "audit_scope": lazy_gettext("see the audit entries of their scope"),
        "audit_all": lazy_gettext("see all audit entries"),
        "export": lazy_gettext("export"),
        "administer": lazy_gettext("manage people and tokens"),
        "register": lazy_gettext("register operations and events"),
        "work": lazy_gettext("work on operations"),
        "alerts": lazy_gettext("see alerts"),
        "silence": lazy_gettext("silence alerts of operation types"),
        "silence_installation": lazy_gettext("silence alerts of the installation"),
        "reserve": lazy_gettext("reserve idempotency keys"),
    },
    "user_status": {
        "active": lazy_gettext("Active"),
        "disabled": lazy_gettext("Disabled"),
    },
    "user_source": {
        "local": lazy_gettext("Password"),
        "provider": lazy_gettext("Identity provider"),
    },
    "token_status": {
        "active": lazy_gettext("Active"),
        "expired": lazy_gettext("Expired"),
        "revoked": lazy_gettext("Revoked"),
    },
}
