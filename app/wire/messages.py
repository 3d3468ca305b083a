"""Messages of the native protocol to steps, and replies to messages; no I/O."""

from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from app.errors import BadPayloadError, BadRequestError, StepError
from app.wire import messages_pb2 as pb
from app.wire.step_batches import MAX_BATCH_STEPS
from app.wire.step_fields import PROTOCOL, check_protocol, checked_session, minted_once, parse_kind
from app.wire.steps import Credentials, StepReply, StepRequest, error_text
from app.words import Purpose, StepKind

MAX_SEQ: Final = 2**63 - 1
"""Largest sequence number; what other languages count with."""

_KINDS: Final = {0: StepKind.TICK, 1: StepKind.START, 2: StepKind.STOP, 3: StepKind.AUTO}
_PURPOSES: Final = {0: None, 1: Purpose.TRAIN, 2: Purpose.EVALUATE, 3: Purpose.PLAY}


@dataclass(frozen=True, slots=True)
class NativeRequest:
    """One message of a client."""

    request_id: int
    content: StepRequest | list[StepRequest]
    """One step, or a batch."""


class RefusedRequestError(Exception):
    """A message that asks for nothing that can be done, and the number that it goes by."""

    def __init__(self, request_id: int, error: StepError) -> None:
        super().__init__(str(error))
        self.request_id = request_id
        self.error = error


def read_request(payload: bytes) -> NativeRequest:
    """Returns what a message asks for.

    Raises:
      BadPayloadError: It is not a ``Request``.
      RefusedRequestError: It is one, but of another protocol version, or what it asks for does not exist.
    """
    message = pb.Request()
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise BadPayloadError(f"{len(payload)} bytes are no Request of protocol {PROTOCOL}: {error}") from error
    try:
        return NativeRequest(message.request_id, _content(message))
    except StepError as error:
        raise RefusedRequestError(message.request_id, error) from error


def reply_message(request_id: int, answer: StepReply | StepError) -> bytes:
    """Returns the message that answers a request of one step."""
    reply = pb.Reply(request_id=request_id, protocol=PROTOCOL)
    if isinstance(answer, StepError):
        _tell(reply.answer.error, answer)
    else:
        _fill(reply.answer, answer)
    return reply.SerializeToString()


def batch_message(request_id: int, requests: list[StepRequest], answers: list[StepReply | StepError]) -> bytes:
    """Returns the message that answers a batch, in its order."""
    reply = pb.Reply(request_id=request_id, protocol=PROTOCOL)
    reply.batch.SetInParent()
    _fill_batch(reply.batch, requests, answers)
    return reply.SerializeToString()


def error_message(request_id: int, error: StepError) -> bytes:
    """Returns the message that tells why a request as a whole was refused; 0 where its number is not known."""
    reply = pb.Reply(request_id=request_id, protocol=PROTOCOL)
    _tell(reply.error, error)
    return reply.SerializeToString()


def read_batch(body: bytes, credentials: Credentials | None) -> list[StepRequest]:
    """Returns the steps of a ``Batch``, such as the body of a ``/steps`` request.

    Raises:
      BadPayloadError: It is not a ``Batch``.
      BadRequestError: There are too many items, or one is not a step.
    """
    try:
        return _steps(pb.Batch.FromString(body), credentials)
    except DecodeError as error:
        raise BadPayloadError(f"{len(body)} bytes are no Batch of protocol {PROTOCOL}: {error}") from error


def answer_batch(requests: list[StepRequest], answers: list[StepReply | StepError]) -> bytes:
    """Returns the ``AnswerBatch`` that answers a ``Batch``, in its order."""
    message = pb.AnswerBatch()
    _fill_batch(message, requests, answers)
    return message.SerializeToString()


def _content(message: pb.Request) -> StepRequest | list[StepRequest]:
    if message.protocol:
        check_protocol(message.protocol)
    credentials = None
    if message.HasField("credentials"):
        given = message.credentials
        credentials = Credentials(given.key, given.time, given.token)
    content = message.WhichOneof("content")
    if content == "step":
        return _step(message.step, credentials)
    if content == "batch":
        return _steps(message.batch, credentials)
    raise BadRequestError("a Request holds neither step nor batch")


def _step(step: pb.Step, credentials: Credentials | None) -> StepRequest:
    kind, purpose = _KINDS.get(step.kind), step.purpose
    if kind is None or purpose not in _PURPOSES:
        raise BadRequestError(f"kind is {step.kind} and purpose {purpose}; allowed are 0 to 3 for either")
    seq = step.seq if step.HasField("seq") else None
    if seq is not None and seq > MAX_SEQ:
        raise BadRequestError(f"seq is {seq}; allowed is a whole number up to {MAX_SEQ}")
    session = checked_session(step.session)
    if not session:
        kind = parse_kind(kind, session)
        session = minted_once(kind, step.idempotency_key)
    return StepRequest(
        session, kind, step.body, _PURPOSES[purpose], seq, step.deadline_ms or None, credentials, step.delta
    )


def _steps(batch: pb.Batch, credentials: Credentials | None) -> list[StepRequest]:
    if len(batch.steps) > MAX_BATCH_STEPS:
        raise BadRequestError(f"a batch holds at most {MAX_BATCH_STEPS} steps, got {len(batch.steps)}")
    steps: list[StepRequest] = []
    for at, step in enumerate(batch.steps):
        try:
            steps.append(_step(step, credentials))
        except BadRequestError as error:
            raise BadRequestError(f"item {at} of the batch: {error}") from error
    return steps


def _fill(answer: pb.Answer, reply: StepReply) -> None:
    answer.session = reply.session
    answer.seq = reply.seq
    answer.body = reply.body
    answer.json = reply.is_json
    if reply.version is not None:
        answer.policy_version = str(reply.version)
    if reply.resumed_at is not None:
        answer.resumed_at = reply.resumed_at
    if reply.endpoint is not None:
        answer.endpoint = reply.endpoint


def _fill_batch(batch: pb.AnswerBatch, requests: list[StepRequest], answers: list[StepReply | StepError]) -> None:
    for request, given in zip(requests, answers, strict=True):
        answer = batch.answers.add()
        if isinstance(given, StepError):
            answer.session = request.session
            _tell(answer.error, given)
        else:
            _fill(answer, given)


def _tell(message: pb.Error, error: StepError) -> None:
    message.code = error.code
    message.message = error_text(error)
    message.retry_after_s = error.retry_after_s or 0
