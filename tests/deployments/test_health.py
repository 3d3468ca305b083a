import orjson
import pytest

from app.errors import UnauthorizedError
from app.wire.http import HttpRequest
from app.wire.steps import Credentials
from deployments.health import Health


def get(path: str, **fields: str) -> HttpRequest:
    return HttpRequest(b"GET", path, fields, b"", True)


@pytest.mark.parametrize(
    ("path", "status", "healthy", "ready"),
    [
        ("/healthz", 200, True, False),
        ("/healthz", 503, False, True),
        ("/readyz", 200, False, True),
        ("/readyz", 503, True, False),
    ],
)
async def test_health_and_readiness_are_told_apart(path: str, status: int, healthy: bool, ready: bool) -> None:
    reply = await Health(lambda: {"healthy": healthy, "ready": ready, "more": 1})(get(path))
    assert (reply.status, orjson.loads(reply.body)) == (status, {"healthy": healthy, "ready": ready})


async def test_the_status_needs_an_administrators_key_where_there_are_keys() -> None:
    def may_see(credentials: Credentials | None) -> bool:
        return credentials is not None and credentials.key == "operator"

    health = Health(lambda: {"healthy": True, "ready": True, "more": 1}, may_see)
    assert orjson.loads((await health(get("/status", key="operator"))).body)["more"] == 1
    with pytest.raises(UnauthorizedError):
        await health(get("/status"))
    assert (await health(get("/healthz"))).status == 200
    assert (await health(get("/nowhere"))).status == 404
