"""The one error tree. Those below ``StepError`` travel to game cores; their code and status are the wire contract."""

from typing import ClassVar


class SparringError(Exception):
    """Base of every error that a user is meant to read: what, where, got, allowed."""


class ConfigError(SparringError):
    """A config file cannot be used as it stands."""


class PluginError(SparringError):
    """A ``package.module:name`` path cannot be imported."""


class PortInUseError(SparringError):
    """Another process already listens on a port that we need."""


class ServiceNotFoundError(SparringError):
    """No running service carries the wanted project and trial."""


class DirectoryIncompleteError(SparringError):
    """A directory that began anew has not heard from all replicas yet, and cannot say who holds a game."""


class ModelMismatchError(SparringError):
    """Two halves of the system were started with different models."""


class VersionRefusedError(SparringError):
    """A registered version of a model cannot be played."""


class ReleaseError(SparringError):
    """There is nothing to promote or to roll back to, or the service follows no registry."""


class SourceError(SparringError):
    """What is to be learned from cannot be read, or is not what the model takes."""


class RecordingError(SourceError):
    """A recording cannot be read, or holds no such game."""


class NonFiniteLossError(SparringError):
    """A loss or gradient became NaN or infinite; the weights before it are still good."""


class CheckError(SparringError):
    """A check that is to stop training has found something."""


class TrainingError(SparringError):
    """Training ended before its time."""


class CheckpointError(SparringError):
    """A checkpoint cannot be written or read."""


class TrackingError(SparringError):
    """The experiment store cannot be reached or does not hold what was asked for."""


class ExportError(SparringError):
    """A network cannot be written as an ONNX graph, or a graph is of no use, or answers otherwise than its network."""


class ReleaseRefusedError(SparringError):
    """An exported model plays too differently from its network to be released."""


class PlanError(SparringError):
    """Machines cannot be planned from these figures, or a plan does not hold."""


class LeagueError(SparringError):
    """A league has no such player, match or state, or what it has written down cannot be read."""


class TreeError(SparringError):
    """A value cannot be written as bytes, or bytes are no such value."""


class BackupError(SparringError):
    """A backup cannot be written, read or put back."""


class SnapshotError(SparringError):
    """A game cannot be written down or restored."""


class StepError(SparringError):
    """An answer to a game core that is not the agent's: carries the wire code and the HTTP status."""

    code: ClassVar[str] = "agent_error"
    status: ClassVar[int] = 500
    retry_after_s: ClassVar[int | None] = None
    """Seconds after which the same request may succeed; None where a retry cannot help."""


class BadRequestError(StepError):
    """The request is not one of the protocol's."""

    code, status = "bad_request", 400


class NotFoundError(BadRequestError):
    """There is nothing at this path."""

    status = 404


class MethodError(BadRequestError):
    """The path is served, but not with this method."""

    status = 405


class ExpectationError(BadRequestError):
    """The request expects what the service does not do."""

    status = 417


class WebSocketOnlyError(BadRequestError):
    """The path is served, but by another protocol."""

    status = 426


class HttpVersionError(BadRequestError):
    """The request is of a version of HTTP that is not served."""

    status = 505


class UnauthorizedError(StepError):
    """Whoever asks has no key, or may not do this with it."""

    code, status = "unauthorized", 401


class SessionUnknownError(StepError):
    """A tick or stop for a session that was never started here."""

    code, status = "session_unknown", 404


class SessionExistsError(StepError):
    """A start for a session whose game is already under way."""

    code, status = "session_exists", 409


class StaleSeqError(StepError):
    """A sequence number whose reply is no longer kept."""

    code, status = "stale_seq", 409


class SeqGapError(StepError):
    """A sequence number beyond the next one."""

    code, status = "seq_gap", 409


class SessionLostError(StepError):
    """The replica that held the session is gone and so is the game."""

    code, status = "session_lost", 410


class BodyTooLargeError(StepError):
    """A body above the configured size."""

    code, status = "body_too_large", 413


class GameElsewhereError(StepError):
    """Another replica holds the game: where is for the service to know, a game core is never told this."""

    code, status, retry_after_s = "draining", 503, 1

    def __init__(self, game: str, owner: str) -> None:
        super().__init__(f"game {game!r} is held by replica {owner}")
        self.game = game
        self.owner = owner


class BadPayloadError(StepError):
    """A body that the agent's codec cannot read."""

    code, status = "bad_payload", 422


class ProtocolVersionError(StepError):
    """Client and service speak different versions of the wire contract."""

    code, status = "protocol_version", 426


class OverloadedError(StepError):
    """The replica holds as many games or waiting requests as it may."""

    code, status, retry_after_s = "overloaded", 429, 1


class AgentError(StepError):
    """The agent's own code failed."""

    code, status = "agent_error", 500


class DrainingError(StepError):
    """The replica is going away and takes no new games."""

    code, status, retry_after_s = "draining", 503, 1


class DeadlineExceededError(StepError):
    """No answer was ready in time."""

    code, status = "deadline_exceeded", 504


def error_codes(base: type[StepError] = StepError) -> set[str]:
    """Returns the codes of the wire contract's errors."""
    return {base.code}.union(*(error_codes(child) for child in base.__subclasses__()))


def first_line(error: object) -> str:
    """Returns what a library's error says in its first line; Ray's go on for many."""
    return str(error).strip().partition("\n")[0]
