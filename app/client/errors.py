"""All that a client raises, in one tree; those below StepFailedError are what the service answered, a class a code."""

from typing import ClassVar

from app.errors import SparringError


class ClientError(SparringError):
    """Base of what a client raises."""


class ServiceUnreachableError(ClientError):
    """No connection led to an answer within the time limit. Whether the step was played is unknown.

    The session stays usable: its next step asks first what became of this one.
    """


class WaitTimeoutError(ClientError):
    """A blocking call took longer than all its tries may take; its step was given up."""


class ClientClosedError(ClientError):
    """The client was closed."""


class SessionClosedError(ClientError):
    """A step of a session that is stopped, or not yet started."""


class StepFailedError(ClientError):
    """The service answered a step with an error that a retry cannot help, or not in time.

    The step was not played; the session goes on with the next one unless a subclass says otherwise.

    Attributes:
      code: The wire contract's error code, such as ``session_unknown``.
      message: What the service said.
      status: HTTP status of the reply; None where it was one answer of a ``/steps`` reply.
    """

    wire_code: ClassVar[str | None] = None
    """Code that this class stands for; None where it stands for several."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(f"the service answered {code}{f' ({status})' if status else ''}: {message}")
        self.code, self.message, self.status = code, message, status


class BadRequestError(StepFailedError):
    """A field has a value that the protocol does not know."""

    wire_code = "bad_request"


class UnauthorizedError(StepFailedError):
    """Key or token are not those of a client that may do this; a wrong clock makes tokens bad as well."""

    wire_code = "unauthorized"


class SessionUnknownError(StepFailedError):
    """The session was never started, or is over: start a new one."""

    wire_code = "session_unknown"


class SessionExistsError(StepFailedError):
    """The session that a start names has played already."""

    wire_code = "session_exists"


class StaleSeqError(StepFailedError):
    """The step is so old that its reply is no longer kept: two clients play the same session."""

    wire_code = "stale_seq"


class SeqGapError(StepFailedError):
    """The service has not had the step before this one: two clients play the same session."""

    wire_code = "seq_gap"


class SessionLostError(StepFailedError):
    """The replica that held the session is gone and so is the game: start a new one."""

    wire_code = "session_lost"


class BodyTooLargeError(StepFailedError):
    """The body is larger than the service reads."""

    wire_code = "body_too_large"


class BadPayloadError(StepFailedError):
    """The agent cannot read the body."""

    wire_code = "bad_payload"


class ProtocolVersionError(StepFailedError):
    """Client and service speak different versions of the wire contract: update one of them."""

    wire_code = "protocol_version"


class OverloadedError(StepFailedError):
    """The service had no room for as long as the client tried."""

    wire_code = "overloaded"


class AgentError(StepFailedError):
    """The agent's own code failed; the service's log has the cause."""

    wire_code = "agent_error"


class DrainingError(StepFailedError):
    """No replica took the step for as long as the client tried."""

    wire_code = "draining"


class DeadlineExceededError(StepFailedError):
    """The agent had no answer in time; the next tick may."""

    wire_code = "deadline_exceeded"


class UnreadableReplyError(StepFailedError):
    """The reply is not the contract's, or not what the client was told to expect."""

    wire_code = "bad_reply"


_BY_CODE = {error.wire_code: error for error in StepFailedError.__subclasses__()}


def failure_of(code: str, message: str, status: int | None = None) -> StepFailedError:
    """Returns the error that stands for a code, a plain StepFailedError where none does."""
    return _BY_CODE.get(code, StepFailedError)(code, message, status)
