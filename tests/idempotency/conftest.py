"""Both doors over HTTP, each in turn: what a client may rely on does not depend on how the host is protected."""

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from tests.idempotency.host import Shop

Door = Callable[[Shop], FlaskClient]


@pytest.fixture(params=["flask", "wsgi"])
def door(request: pytest.FixtureRequest) -> Door:
    return lambda shop: getattr(shop, request.param)()
