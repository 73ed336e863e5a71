"""An identity provider on loopback, in a process of its own, with an owner who agrees to every sign-on asked for.

with running() as provider:
provider.knows("sub-1", email="ana@shop.example", email_verified=True, groups=["ops"])
back = provider.agree(url, "sub-1")     # where the browser would go next
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest

from tests.servers import QUIET, free_port

START_SECONDS = 30
LIFE_SECONDS = 3600


@dataclass(frozen=True)
class Provider:
    """Where the provider listens; its address is its issuer."""

    url: str

    def knows(self, subject: str, **claims: object) -> None:
        """Let the provider say this about a person."""
        httpx.put(f"{self.url}/users/{subject}", json=claims).raise_for_status()

    def agree(self, url: str, subject: str) -> str:
        """Sign in there as this person and give the address that the browser is sent to."""
        return httpx.post(url, data={"sub": subject}).headers["Location"]

    def deny(self, url: str) -> str:
        """Refuse there to be signed on and give the address that the browser is sent to."""
        return httpx.post(url, data={"action": "deny"}).headers["Location"]


@contextmanager
def running(*, life_seconds: int = LIFE_SECONDS) -> Iterator[Provider]:
    """A provider whose tokens last so long; less than nothing is what a clock that is behind makes of them."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--host", "127.0.0.1"]
    process = subprocess.Popen([*command, "--require-nonce", "--token-max-age", str(life_seconds)], **QUIET)
    try:
        _wait_for(f"http://127.0.0.1:{port}", process)
        yield Provider(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            httpx.get(f"{url}/.well-known/openid-configuration").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the identity provider did not start")
