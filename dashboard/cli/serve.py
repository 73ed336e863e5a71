"""`dashboard serve`: the web application behind waitress."""

import errno
import logging
import socket
from typing import Any

import click
from flask import Flask
from waitress.server import create_server

from dashboard.app import create_app, settle
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.logs import configure

THREADS = 8
FORWARDED = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="Port to listen at.")
@click.option("--trusted-proxy", metavar="ADDRESS", help="Address of the one proxy whose X-Forwarded-* are believed.")
def serve(*, host: str, port: int, trusted_proxy: str | None) -> None:
    """Serve the web application until Ctrl-C or SIGTERM."""
    configure(level=logging.INFO)
    settings = Settings()
    if settings.demo:
        # Its key is public: whoever knows it could make a session of anybody.
        raise InvalidInputError((Problem("DASHBOARD_DEMO", "demo_served"),))
    settings.signing_key()
    with ready_database(settings):
        app = create_app(settings)
    try:
        opened = listen(host, port)
    except OSError as error:
        raise click.UsageError(f"Cannot listen at {host}:{port}: {error.strerror}. Choose another --port.") from error
    click.echo(f"Serving at http://{host}:{port}/ - Ctrl-C ends it.")
    run(app, opened, trusted_proxy=trusted_proxy)


def listen(host: str, port: int) -> socket.socket:
    """Open the port; raises OSError where that fails."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def run(app: Flask, opened: socket.socket, *, trusted_proxy: str | None = None) -> None:
    """Answer requests until Ctrl-C or SIGTERM; forwarded headers count only from the trusted proxy."""
    server = serving(app, opened, trusted_proxy=trusted_proxy)
    settle()
    server.run()


def serving(app: Flask, opened: socket.socket, *, trusted_proxy: str | None = None) -> Any:
    """Give the server that `run` starts."""
    # Left in place, so that who is behind a proxy on this machine is not taken for this machine.
    proxy: dict[str, Any] = {"clear_untrusted_proxy_headers": False}
    if trusted_proxy:
        proxy |= {"trusted_proxy": trusted_proxy, "trusted_proxy_count": 1, "trusted_proxy_headers": FORWARDED}
    return create_server(app, sockets=[opened], threads=THREADS, ident=None, **proxy)


def is_taken(error: OSError) -> bool:
    """Whether the port could not be opened because another program listens there."""
    return error.errno == errno.EADDRINUSE
