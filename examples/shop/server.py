"""The payment provider of the example: localstripe on loopback, forgetting everything when it ends.

    python -m examples.shop.server 8420

localstripe by itself listens on every interface and keeps its memory in a file in /tmp that anybody may write.
"""

import sys

from aiohttp import web
from localstripe.resources import store
from localstripe.server import app


def main(port: int) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    store.dump_to_disk = lambda: None
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
