"""Steps between replicas, as bytes."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import (
    AgentError,
    BadRequestError,
    BodyTooLargeError,
    DrainingError,
    GameElsewhereError,
    OverloadedError,
    StepError,
    UnauthorizedError,
)
from app.types import Purpose, StepKind, Version
from app.wire.detect import MAX_FRAME_BYTES, Speech, detect
from app.wire.frames import frame
from app.wire.steps import Credentials, JsonBody, StepReply, StepRequest
from deployments.peer_wire import (
    MAX_GREETING_BYTES,
    PeerReplyReader,
    PeerRequestReader,
    greeting_frame,
    reply_frame,
    request_frame,
)

SECRET = "a secret"  # noqa: S105

numbers = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
keys = st.from_regex(r"[!-~]+", fullmatch=True)
requests = st.builds(
    StepRequest,
    session=texts,
    kind=st.sampled_from(StepKind),
    body=st.binary(max_size=100),
    purpose=st.none() | st.sampled_from(Purpose),
    seq=st.none() | numbers,
    deadline_ms=st.none() | st.integers(0, 10**9) | st.floats(0, 1e9),
    credentials=st.none() | st.builds(Credentials, keys),
    delta=st.booleans(),
)
replies = st.builds(
    StepReply,
    session=texts,
    body=st.binary(max_size=100),
    seq=numbers,
    version=st.none() | st.builds(Version, numbers, numbers),
    resumed_at=st.none() | numbers,
    endpoint=st.none() | texts,
    is_json=st.booleans(),
)


def kinds(base: type[StepError] = StepError) -> list[type[StepError]]:
    return [base, *(kind for child in base.__subclasses__() for kind in kinds(child))]


def greeted() -> PeerRequestReader:
    reader = PeerRequestReader(SECRET)
    assert reader.feed(greeting_frame(SECRET)) == [None]
    return reader


def received(step: StepRequest) -> StepRequest:
    (request,) = greeted().feed(request_frame(1, step, via_gateway=False))
    assert request is not None
    return request.step


def answered(answer: StepReply | StepError) -> StepReply | StepError:
    (reply,) = PeerReplyReader().feed(reply_frame(1, answer))
    return reply.answer


@given(st.lists(st.tuples(numbers, requests, st.booleans()), max_size=4), st.integers(1, 200))
def test_steps_arrive_as_they_were_sent_however_they_are_cut(
    sent: list[tuple[int, StepRequest, bool]], piece: int
) -> None:
    data = b"".join(request_frame(number, step, via_gateway=gateway) for number, step, gateway in sent)
    reader = greeted()
    got = [request for at in range(0, len(data), piece) for request in reader.feed(data[at : at + piece])]
    assert got == sent
    assert reader.failure is None


@given(st.lists(st.tuples(numbers, replies), max_size=4), st.integers(1, 200))
def test_answers_arrive_as_they_were_sent_however_they_are_cut(sent: list[tuple[int, StepReply]], piece: int) -> None:
    data = b"".join(reply_frame(number, reply) for number, reply in sent)
    reader = PeerReplyReader()
    assert [reply for at in range(0, len(data), piece) for reply in reader.feed(data[at : at + piece])] == sent


@given(st.sampled_from([kind for kind in kinds() if kind is not GameElsewhereError]), st.text(max_size=50))
def test_an_error_stays_of_its_class(kind: type[StepError], message: str) -> None:
    got = answered(kind(message))
    assert type(got) is kind
    assert (str(got), got.code, got.status) == (message.encode(errors="replace").decode(), kind.code, kind.status)
    assert got.retry_after_s == kind.retry_after_s


def test_an_error_keeps_a_time_of_its_own() -> None:
    error = OverloadedError("full")
    setattr(error, "retry_after_s", 7)  # noqa: B010
    got = answered(error)
    assert isinstance(got, OverloadedError)
    assert (got.retry_after_s, OverloadedError.retry_after_s) == (7, 1)


@pytest.mark.parametrize(
    ("code", "known"), [("bad_request", BadRequestError), ("draining", DrainingError), ("new", AgentError)]
)
def test_an_error_of_a_class_that_is_not_known_here_goes_by_its_code(code: str, known: type[StepError]) -> None:
    head = orjson.dumps([1, ["AlienError", code, "strange", None, None]])
    (reply,) = PeerReplyReader().feed(frame(len(head).to_bytes(4, "big") + head))
    assert type(reply.answer) is known
    assert str(reply.answer) == "strange"


def test_a_game_elsewhere_tells_its_owner() -> None:
    got = answered(GameElsewhereError("the game", "replica#2"))
    assert isinstance(got, GameElsewhereError)
    assert (got.game, got.owner) == ("the game", "replica#2")


def test_a_forwarded_step_carries_its_key_but_not_what_was_checked_already() -> None:
    request = StepRequest("s", StepKind.TICK, b"1", seq=3, credentials=Credentials("team", "1700000000", "f" * 64))
    assert received(request).credentials == Credentials("team")
    assert received(StepRequest("s", StepKind.TICK, b"1")).credentials is None


@pytest.mark.parametrize("key", ["", "a b", "a\r\ncluster-secret: x", "é", "\ud800", "鍵"])
def test_text_that_no_door_admits_is_not_forwarded_as_a_key(key: str) -> None:
    assert received(StepRequest("s", StepKind.TICK, b"1", credentials=Credentials(key))).credentials is None


def test_a_parsed_body_is_forwarded_as_json() -> None:
    assert received(StepRequest("s", StepKind.TICK, JsonBody({"a": [1]}))).body == b'{"a":[1]}'


def test_what_no_frame_holds_is_refused_before_it_is_sent() -> None:
    with pytest.raises(BadRequestError, match="cannot be forwarded"):
        request_frame(1, StepRequest("\ud800", StepKind.TICK, b""), via_gateway=False)
    with pytest.raises(BodyTooLargeError, match="too many for a link"):
        request_frame(1, StepRequest("s", StepKind.TICK, bytes(MAX_FRAME_BYTES)), via_gateway=False)
    assert isinstance(answered(StepReply("s", bytes(MAX_FRAME_BYTES), 1)), BodyTooLargeError)
    assert isinstance(answered(StepReply("\ud800", b"", 1)), AgentError)


@pytest.mark.parametrize(
    "first",
    [
        greeting_frame("another secret"),
        frame(SECRET.encode()),
        request_frame(1, StepRequest("s", StepKind.TICK, b""), via_gateway=False),
        greeting_frame(SECRET).replace(b"link 1", b"link 2"),
    ],
)
def test_who_does_not_greet_with_the_secret_is_not_heard(first: bytes) -> None:
    reader = PeerRequestReader(SECRET)
    assert reader.feed(first + request_frame(1, StepRequest("s", StepKind.TICK, b""), via_gateway=False)) == []
    assert isinstance(reader.failure, UnauthorizedError)


def test_a_stranger_is_not_waited_for_with_much() -> None:
    reader = PeerRequestReader(SECRET)
    reader.feed((MAX_GREETING_BYTES + 1).to_bytes(4, "big"))
    assert isinstance(reader.failure, BodyTooLargeError)


@given(st.binary(max_size=60))
def test_other_bytes_end_the_link(payload: bytes) -> None:
    for reader in (greeted(), PeerReplyReader()):
        assert reader.feed(frame(payload)) == []
        assert reader.failure is not None


def test_a_link_is_told_from_http_by_its_first_bytes() -> None:
    assert detect(greeting_frame(SECRET)) is Speech.NATIVE
