"""What requests of ours to the outside share: whom they may reach, whom they trust, and how they prove who asks."""

import base64
import ipaddress
import os
import ssl
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import httpx

from dashboard.domain.policy import Auth


class CredentialsError(Exception):
    """The secret cannot be used; `code` says why, `reason` in words and without the secret."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def credentials(auth: Auth | None) -> dict[str, str]:
    """The headers that prove who asks, from the secret as it is now; raises CredentialsError."""
    if auth is None:
        return {}
    secret = os.environ.get(auth.env, "").strip()
    if not secret:
        raise CredentialsError("secret_missing", f"The environment variable {auth.env} is not set.")
    if not (secret.isascii() and secret.isprintable()):
        raise CredentialsError("secret_invalid", f"The environment variable {auth.env} does not fit a header.")
    if auth.kind == "bearer":
        return {auth.header: f"Bearer {secret}"}
    if auth.kind == "basic":
        return {auth.header: "Basic " + base64.b64encode(secret.encode()).decode()}
    return {auth.header: secret}


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates to trust; reading them takes longer than most answers, so it is done once."""
    return httpx.create_ssl_context(trust_env=False)


def only_public(refusal: Callable[[], Exception]) -> Mapping[str, Any]:
    """The extension of a request that may not reach private addresses; raises the refusal before a byte is sent.

    The address is checked once connected, so that no name can lead to another one in between.
    """

    def trace(event: str, found: Mapping[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        connection = found["return_value"]
        if not is_public(str(connection.get_extra_info("server_addr")[0])):
            connection.close()
            raise refusal()

    return {"trace": trace}


def is_public(host: str) -> bool:
    """Whether an address is one of the open internet: not private, loopback, link-local, multicast or reserved."""
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return address.is_global and not address.is_multicast
