"""Steps between replicas."""

import pytest

from app.types import StepKind
from app.wire.steps import Credentials, StepRequest, step_of
from deployments.peer_wire import step_headers


def received(request: StepRequest) -> StepRequest:
    return step_of({name.replace("_", "-"): value for name, value in step_headers(request).items()}, b"1")


def test_a_forwarded_step_carries_its_key_but_not_what_was_checked_already() -> None:
    request = StepRequest("s", StepKind.TICK, b"1", seq=3, credentials=Credentials("team", "1700000000", "f" * 64))
    assert received(request).credentials == Credentials("team")
    assert received(StepRequest("s", StepKind.TICK, b"1")).credentials is None


@pytest.mark.parametrize("key", ["", "a b", "a\r\ncluster-secret: x", "é", "\ud800", "鍵"])
def test_text_that_no_door_admits_is_not_forwarded_as_a_key(key: str) -> None:
    assert received(StepRequest("s", StepKind.TICK, b"1", credentials=Credentials(key))).credentials is None
