"""Who may play: keys, tokens, purposes and quotas, checked before a step is routed."""

from collections.abc import Callable, Iterable
from typing import Final

from app.errors import OverloadedError, UnauthorizedError
from app.sessions.bindings import Bindings
from app.sessions.holders import Holder, Holders
from app.sessions.identity import Identity
from app.sessions.keys import Grant, Key
from app.sessions.opening import Opening
from app.sessions.refusals import NOBODY, Reason, Refusal, Refusals
from app.types import Purpose, SessionId, StepKind
from app.wire.steps import StepRequest

OPEN: Final = Grant(None)
"""What everybody gets where nobody needs a key."""


class Doors:
    """Admits the steps that reach one replica, and counts the sessions that it holds."""

    def __init__(
        self, keys: Iterable[Key] | None, default_purpose: Purpose, notice: Callable[[Refusal], None] = lambda _: None
    ) -> None:
        """Makes the doors of one replica.

        Args:
          keys: Who may play; none at all refuses everybody. None: nobody needs a key.
          default_purpose: Purpose of a start that names none.
          notice: Told of the first refusal of each key and reason in a minute.

        Raises:
          ValueError: Two keys have one name, or are the same.
        """
        self.guarded = keys is not None
        """Whether a key is needed."""
        self._default_purpose = default_purpose
        self._bindings = Bindings()
        self._refusals = Refusals(notice)
        self._holders = Holders(keys or ())
        self._identity = Identity(self._holders, self._refusals)

    def swap(self, keys: Iterable[Key]) -> None:
        """Puts other keys in place of all; a name that stays keeps its sessions, counts and what is left of its rate.

        Raises:
          ValueError: Two keys have one name, or are the same; then nothing has changed.
        """
        self._holders.swap(keys)
        self._identity.forget()

    def admit(self, request: StepRequest, now_s: float) -> Grant:
        """Returns the leave to take one step that came from outside, and counts it.

        Args:
          request: The step.
          now_s: Unix seconds.

        Raises:
          UnauthorizedError: The key is missing or unknown, its token wrong or old, or it may not do this.
          OverloadedError: The key has used up its steps.
        """
        if not self.guarded:
            return OPEN
        holder = self._identity.holder(request, now_s)
        if request.kind is StepKind.START or request.kind is StepKind.AUTO:
            self._check_purpose(holder, request, now_s)
        self._check_binding(request, holder.name, now_s)
        if holder.bucket is not None and not holder.bucket.take(now_s):
            rate_per_s = holder.key.quota.steps_per_s
            message = f"key {holder.name!r} sends more steps than the {rate_per_s:g} a second that it may"
            self._refusals.refuse(holder.name, Reason.RATE, OverloadedError(message), now_s)
        holder.steps += 1
        return holder.grant

    def forwarded(self, request: StepRequest, key: str | None, now_s: float) -> Grant:
        """Returns the leave of a step that another replica has admitted under the key of this name.

        Who asks is not checked again, nor counted; whether the session is that key's is known only here.

        Raises:
          UnauthorizedError: The session was started under another key.
        """
        if not self.guarded:
            return OPEN
        self._check_binding(request, key or NOBODY, now_s)
        return Grant(key)

    def opening(self, request: StepRequest, grant: Grant, now_s: float) -> Opening:
        """Returns a place for a start that this replica is about to answer, for a ``with`` around it.

        Raises:
          OverloadedError: As many sessions of the key are open, or about to be, as are allowed.
        """
        name = grant.key
        holder = None if name is None else self._holders.by_name.get(name)
        if name is None or holder is None or self._bindings.holder(request.session) == name:
            return Opening(self._bindings, name, None)
        most = holder.key.quota.max_sessions
        held = self._bindings.open_sessions(name) + holder.opening
        if most is not None and held >= most:
            message = f"key {name!r} has {held} sessions open; allowed are {most}"
            self._refusals.refuse(name, Reason.SESSIONS, OverloadedError(message), now_s)
        return Opening(self._bindings, name, holder)

    def adopt(self, session: SessionId, key: str | None) -> None:
        """Binds a session that comes from another replica to the name of the key that started it there."""
        if self.guarded and key is not None:
            self._bindings.bind(session, key)

    def key_of(self, session: SessionId) -> str | None:
        """Returns the name of the key that started an open session; None where it needed none."""
        return self._bindings.holder(session)

    def ended(self, session: SessionId) -> None:
        """Gives back the place of a session that is over, or has gone to another replica."""
        self._bindings.end(session)

    def usage(self) -> dict[str, dict[str, int]]:
        """Returns what each key has done here by its name: steps, open sessions, and refusals by reason."""
        if not self.guarded:
            return {}
        holders = (*self._holders.by_name.values(), self._holders.stranger)
        return {holder.name: self._usage_of(holder) for holder in holders}

    def _usage_of(self, holder: Holder) -> dict[str, int]:
        refused = {f"refused_{reason}": count for reason, count in self._refusals.of(holder.name).items()}
        return {"steps": holder.steps, "sessions": self._bindings.open_sessions(holder.name), **refused}

    def _check_purpose(self, holder: Holder, request: StepRequest, now_s: float) -> None:
        """Refuses a start for what the key may not be used for; a stateless answer is play."""
        starts = request.kind is StepKind.START
        purpose = (request.purpose or self._default_purpose) if starts else Purpose.PLAY
        allowed = holder.key.purposes
        if purpose not in allowed:
            default = ", the service's own where none is given" if starts and request.purpose is None else ""
            names = ", ".join(sorted(allowed))
            message = f"key {holder.name!r} may not be used for the purpose {purpose}{default}; allowed: {names}"
            self._refusals.refuse(holder.name, Reason.PURPOSE, UnauthorizedError(message), now_s)

    def _check_binding(self, request: StepRequest, name: str, now_s: float) -> None:
        session, bindings = request.session, self._bindings
        bound = bindings.holder(session) if request.kind is StepKind.START else bindings.last_holder(session)
        if bound is not None and bound != name:
            message = f"session {session!r} was started under another key; allowed is the one that started it"
            self._refusals.refuse(name, Reason.SESSION, UnauthorizedError(message), now_s)
