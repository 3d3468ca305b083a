"""What a session keeps so that its game core may send differences instead of whole states."""

import orjson
from google.protobuf.message import Message

from app.errors import BadPayloadError
from app.wire.payload import Codec, Payload
from app.words import StepKind


class DeltaState:
    """The last whole payload of one session's answered ticks.

    A step that fails leaves it alone, so that a repeated step means the same as the first time::

        whole = state.whole(codec.decode(request.body, kind), kind, request.delta)
        answer = await agent.on_tick(whole)
        state.keep(whole)
    """

    __slots__ = ("_base", "_codec", "used")

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._base: Payload = None
        self.used = False
        """Whether a difference has come: only then is it worth writing the kept payload down."""

    def whole(self, payload: Payload, kind: StepKind, delta: bool) -> Payload:
        """Returns the whole payload: the one that came, or what a difference makes of the kept one.

        The kept payload is not changed, but parts of it may be shared with the result.

        Raises:
          BadPayloadError: A difference has nothing to differ from, or does not fit it.
        """
        if not delta:
            return payload
        if kind not in (StepKind.TICK, StepKind.STOP):
            raise BadPayloadError(f"a {kind} carries a difference; allowed for a tick or a stop, after a whole tick")
        self.used = True
        if self._base is None:
            raise BadPayloadError("the body is a difference, but the session has answered no whole tick; send it whole")
        return self._codec.merge(self._base, payload)

    def keep(self, whole: Payload) -> None:
        """Makes the payload of a tick that was answered the one that the next difference differs from."""
        self._base = None if isinstance(whole, bytes) else whole

    def save(self) -> bytes | None:
        """Returns the kept payload for a snapshot; None where there is none or it is nested too deep to be written."""
        if isinstance(self._base, Message):
            return self._base.SerializeToString()
        try:
            return None if self._base is None else orjson.dumps(self._base)
        except TypeError:  # More levels than orjson writes, though it reads them: the next tick must come whole.
            return None

    def load(self, saved: bytes | None) -> None:
        """Takes up what ``save`` returned."""
        self.used = saved is not None
        self._base = None if saved is None else self._codec.decode(saved, StepKind.TICK)
