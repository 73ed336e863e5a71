"""Settings from the environment; bad values stop the start with one clear line each."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from dashboard.domain.errors import InvalidInputError, Problem

DEMO_SECRET = "demo-secret-for-loopback-only"  # noqa: S105 - refused outside the demo
MIN_SECRET = 16
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Settings(BaseSettings):
    """What an operator may set: every field is read from DASHBOARD_<FIELD>.

    Times are minutes or hours, as their names say.
    """

    model_config = SettingsConfigDict(env_prefix="DASHBOARD_", frozen=True, extra="forbid")

    database_url: str = "sqlite:///dashboard.sqlite3"
    secret_key: SecretStr | None = None
    policies: Path | None = None
    environment: str = Field(default="", max_length=40)
    cookie_secure: bool = True
    demo: bool = False
    session_idle_minutes: int = Field(default=60, ge=1, le=1440)
    session_absolute_hours: int = Field(default=12, ge=1, le=168)
    statement_timeout_seconds: int = Field(default=10, ge=1, le=300)
    metrics: bool = True
    metrics_token: SecretStr | None = Field(default=None, min_length=16)
    metrics_types: int = Field(default=200, ge=1, le=2000)
    public_url: str = Field(default="", pattern=r"^(https?://[^\s]+)?$")
    smtp_host: str | None = None
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    smtp_from: str = Field(default="dashboard@localhost", pattern=r"^[^@\s]+@[^@\s]+$")
    smtp_user: str | None = None
    smtp_password: SecretStr | None = None
    audit_key: SecretStr | None = None
    audit_public_keys: str = Field(default="", pattern=r"^([0-9a-fA-F]{64}([, ]+|$))*$")
    local_sign_in: bool = True
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_scopes: str = "openid email profile"
    oidc_groups_claim: str = Field(default="groups", min_length=1)
    oidc_grants: Path | None = None
    oidc_name: str = Field(default="", max_length=40)

    @field_validator("database_url")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        engine = value.split(":", 1)[0].split("+", 1)[0]
        if engine not in {"sqlite", "postgresql", "postgres", "mysql", "mariadb"}:
            raise ValueError("must begin with sqlite:, postgresql:, mariadb: or mysql:")
        return value

    @field_validator("policies", "oidc_grants")
    @classmethod
    def _existing_file(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError(f"no such file: {value}")
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _safe_issuer(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        # Without TLS anybody on the way could answer in the provider's name.
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError("must begin with https://")
        return value

    @field_validator("oidc_scopes")
    @classmethod
    def _asks_who_it_is(cls, value: str) -> str:
        if "openid" not in value.split():
            raise ValueError("must have openid among them")
        return value

    @model_validator(mode="after")
    def _whole_sign_on(self) -> "Settings":
        if self.oidc_issuer and not (self.oidc_client_id and self.oidc_client_secret and self.oidc_grants):
            raise ValueError("DASHBOARD_OIDC_ISSUER needs DASHBOARD_OIDC_CLIENT_ID, _CLIENT_SECRET and _GRANTS")
        if not self.local_sign_in and not self.oidc_issuer:
            raise ValueError("nobody could sign in: set DASHBOARD_OIDC_ISSUER, or leave DASHBOARD_LOCAL_SIGN_IN on")
        return self

    @model_validator(mode="after")
    def _demo_secret_only_in_demo(self) -> "Settings":
        if not self.demo and self.secret_key and self.secret_key.get_secret_value() == DEMO_SECRET:
            raise ValueError("secret_key is the demo's; set one of your own")
        return self

    def trusted_audit_keys(self) -> frozenset[str]:
        """The public keys whose anchors count; with none, those of every key do."""
        return frozenset(self.audit_public_keys.lower().replace(",", " ").split())

    def signing_key(self) -> str:
        """The secret that signs sessions and forms.

        Raises InvalidInputError when it is missing or shorter than 16 characters outside the demo.
        """
        if self.demo:
            return DEMO_SECRET
        secret = self.secret_key.get_secret_value() if self.secret_key else ""
        if len(secret) < MIN_SECRET:
            raise InvalidInputError((Problem("DASHBOARD_SECRET_KEY", "secret_missing", {"minimum": MIN_SECRET}),))
        return secret


def problems_in_words(error: ValidationError) -> list[str]:
    """One line a bad setting, naming its variable; never the value, which may be a secret."""
    lines = []
    for found in error.errors(include_input=False, include_url=False):
        name = "DASHBOARD_" + "_".join(str(part) for part in found["loc"]).upper() if found["loc"] else "DASHBOARD_*"
        lines.append(f"{name}: {found['msg'].removeprefix('Value error, ')}")
    return lines
