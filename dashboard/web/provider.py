"""The identity provider of this application, through Authlib: code flow with PKCE, state and nonce.

What goes wrong there has a code of ours: `provider_away`, `state_wrong`, `access_denied`, `provider_refused`,
`clock_differs` and `token_invalid`. No transaction is open while the provider is asked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from authlib.integrations.base_client.errors import MismatchingStateError, OAuthError
from authlib.integrations.flask_client import OAuth
from flask import Flask, current_app, session, url_for
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError
from requests.exceptions import RequestException
from werkzeug.wrappers import Response

from dashboard.config import Settings
from dashboard.db import assert_outside_transaction
from dashboard.services.group_grants import GroupGrant, load_group_grants
from dashboard.services.sign_on import Claims, claims_from
from dashboard.web.context import settings

NAME = "provider"
STATE = f"_state_{NAME}_"
CLOCKS_MAY_DIFFER_SECONDS = 120
PATIENCE_SECONDS = 10
TIMES = ("exp", "iat", "nbf")
ASKED_AGAIN = ("email", "email_verified")


class ProviderError(Exception):
    """The provider did not say who it is; `code` says why, `detail` in the provider's words."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(code)


def install(app: Flask, settings: Settings) -> None:
    """Set up the provider where there is one; raises InvalidInputError where its groups cannot be read."""
    secret = settings.oidc_client_secret
    if not (settings.oidc_issuer and settings.oidc_grants and secret):
        return
    app.extensions["dashboard.group_grants"] = load_group_grants(settings.oidc_grants)
    app.extensions["dashboard.provider"] = OAuth(app).register(
        NAME,
        client_id=settings.oidc_client_id,
        client_secret=secret.get_secret_value(),
        server_metadata_url=f"{settings.oidc_issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.oidc_scopes,
            "code_challenge_method": "S256",
            "default_timeout": PATIENCE_SECONDS,
        },
    )


def is_there() -> bool:
    """Tell whether people may sign on at a provider."""
    return "dashboard.provider" in current_app.extensions


def group_grants() -> tuple[GroupGrant, ...]:
    """Give which groups give which roles."""
    found: tuple[GroupGrant, ...] = current_app.extensions["dashboard.group_grants"]
    return found


def send_there() -> Response:
    """Send the browser to the provider; raises ProviderError where that does not answer."""
    # Windows that were left open there would fill the cookie.
    for name in [name for name in session if name.startswith(STATE)]:
        del session[name]
    with _asking():
        _check_issuer()
        answer: Response = _client().authorize_redirect(url_for("sign_on.finish", _external=True))
    return answer


def claims() -> Claims:
    """Give what the provider says about who came back; raises ProviderError."""
    client, chosen = _client(), settings()
    with _asking():
        _check_issuer()
        token = client.authorize_access_token(
            claims_options={
                "iss": {"essential": True, "values": [chosen.oidc_issuer]},
                "aud": {"essential": True, "values": [client.client_id]},
            },
            leeway=CLOCKS_MAY_DIFFER_SECONDS,
        )
        found = dict(token.get("userinfo") or {})
        if not found:
            raise ProviderError("token_invalid", "no id token")
        if any(name not in found for name in (*ASKED_AGAIN, chosen.oidc_groups_claim)):
            found = _completed(found, client=client, token=token)
    return claims_from(found, issuer=str(chosen.oidc_issuer), groups_claim=chosen.oidc_groups_claim)


def ends_sessions() -> bool:
    """Tell whether the provider says how to sign out there; it has been asked by the sign-on before."""
    return "end_session_endpoint" in _client().server_metadata


def way_out() -> str | None:
    """Give the address at which to sign out at the provider, or None; raises ProviderError."""
    client = _client()
    with _asking():
        if "end_session_endpoint" not in client.load_server_metadata():
            return None
        back = url_for("login.form", _external=True)
        url: str = client.create_logout_url(post_logout_redirect_uri=back, client_id=client.client_id)["url"]
    return url


def _check_issuer() -> None:
    """Believe addresses and keys only in the name of the configured issuer, letter by letter (ASVS 5.0, 10.5.3)."""
    named = _client().load_server_metadata().get("issuer")
    if named != settings().oidc_issuer:
        raise ProviderError("provider_refused", f"its metadata is of the issuer {named}")


def _completed(found: dict[str, Any], *, client: Any, token: dict[str, Any]) -> dict[str, Any]:
    """Many providers put address and groups only where the access token leads; the subject has to be the same."""
    if "userinfo_endpoint" not in client.load_server_metadata():
        return found
    more = dict(client.userinfo(token=token))
    if more.get("sub") != found.get("sub"):
        raise ProviderError("token_invalid", "userinfo of another subject")
    return {**more, **found}


def _client() -> Any:
    return current_app.extensions["dashboard.provider"]


@contextmanager
def _asking() -> Iterator[None]:
    assert_outside_transaction()
    try:
        yield
    except RequestException as error:
        raise ProviderError("provider_away", str(error)) from error
    except MismatchingStateError as error:
        raise ProviderError("state_wrong") from error
    except OAuthError as error:
        code = "access_denied" if error.error == "access_denied" else "provider_refused"
        raise ProviderError(code, f"{error.error}: {error.description}") from error
    except JoseError as error:
        raise ProviderError("clock_differs" if _is_of_time(error) else "token_invalid", str(error)) from error
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        # Its answers are no metadata, keys or token at all.
        raise ProviderError("provider_refused", f"{type(error).__name__}: {error}") from error


def _is_of_time(error: JoseError) -> bool:
    return isinstance(error, ExpiredTokenError) or (isinstance(error, InvalidClaimError) and error.claim in TIMES)
