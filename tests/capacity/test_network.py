import pytest

from app.capacity.network import HEAD_BYTES, PACKET_BYTES, on_the_wire, traffic
from app.capacity.workload import Learning, Model, Transport, Workload
from app.types import Version
from app.wire.bray import encoded
from app.wire.frames import frame
from app.wire.http import BYTES, HttpReply
from app.wire.messages import reply_message
from app.wire.steps import StepReply

SESSION = 32 * "s"
REPLY = StepReply(SESSION, b"", 12_345, Version(12, 3_456))


def test_a_packet_has_a_head_and_large_messages_have_several() -> None:
    assert (on_the_wire(0), on_the_wire(1448), on_the_wire(1449)) == (90, 1538, 1629)


def answer_bytes(transport: Transport) -> int:
    if transport == "bray":
        return len(encoded(REPLY, 0))
    if transport == "native":
        return len(frame(reply_message(12_345, REPLY)))
    headers = ((b"session", SESSION.encode()), (b"seq", b"12345"), (b"policy_version", b"12.3456"))
    return len(HttpReply(200, b"", BYTES, headers).encoded())


@pytest.mark.parametrize("transport", HEAD_BYTES)
def test_heads_of_answers_are_about_what_the_wire_has(transport: Transport) -> None:
    assert answer_bytes(transport) == pytest.approx(HEAD_BYTES[transport][1], rel=0.3)


def test_a_tick_is_its_request_its_answer_and_an_acknowledgement() -> None:
    """By hand: 10 ticks a second of 100 bytes over HTTP."""
    found = traffic(Workload(1, 10, body_bytes=100, reply_bytes=40), 0, 0, 1)
    assert found.ticks_in == 8 * 10 * (180 + 100 + PACKET_BYTES + PACKET_BYTES)
    assert found.ticks_out == 8 * 10 * (160 + 40 + PACKET_BYTES)
    assert (found.decisions, found.rows, found.gradients, found.weights_per_node) == (0, 0, 0, 0)


def test_observations_rows_gradients_and_weights_travel() -> None:
    """By hand: 10 observations of 500 + 32 bytes, 5 rows of 64 bytes twice, 4 steps of 3 workers, 2 publishes."""
    model = Model("mlp", "remote", observation_bytes=500, weights_mb=3)
    found = traffic(Workload(1, 10, model=model, learning=Learning(share=0.5)), 2, 4, 3)
    assert found.decisions == 8 * 10 * 532
    assert found.rows == 8 * 2 * 5 * 64
    assert found.gradients == 8 * 4 * 2 * 2 * 3 * 2**20
    assert found.weights_per_node == 8 * 2 * 3 * 2**20
