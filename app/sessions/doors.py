"""Who may play: keys, tokens, purposes and quotas, checked before a step is routed."""

from collections.abc import Callable, Iterable
from typing import Final

from app.errors import OverloadedError, UnauthorizedError
from app.sessions.bindings import Bindings
from app.sessions.holders import Holder, Holders
from app.sessions.identity import Identity
from app.sessions.keys import Grant, Key
from app.sessions.refusals import NOBODY, Reason, Refusal, Refusals
from app.types import Purpose, SessionId, StepKind
from app.wire.steps import Credentials, StepRequest

OPEN: Final = Grant(None)
"""What everybody gets where nobody needs a key."""


class Doors:
    """Admits the steps that reach one replica from outside, and keeps the sessions that it holds for their keys."""

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
        if holder.bucket is not None and not holder.bucket.take(now_s):
            rate_per_s = holder.key.quota.steps_per_s
            message = f"key {holder.name!r} sends more steps than the {rate_per_s:g} a second that it may"
            self._refusals.refuse(holder.name, Reason.RATE, OverloadedError(message), now_s)
        holder.steps += 1
        return holder.grant

    def check(self, request: StepRequest, now_s: float) -> None:
        """Does nothing where the session of an admitted step is its key's; asked where the session is held.

        The step may have been admitted here or, if it was forwarded, by another replica: who asks is not checked
        again. A session that was started when nobody needed a key goes on with any.

        Raises:
          UnauthorizedError: The session was started under another key.
          OverloadedError: The key is not known here at this moment.
        """
        if not self.guarded:
            return
        name = self._admitted(request, now_s).name
        session, bindings = request.session, self._bindings
        bound = bindings.holder(session) if request.kind is StepKind.START else bindings.last_holder(session)
        if bound is not None and bound != name:
            message = f"session {session!r} was started under another key; allowed is the one that started it"
            self._refusals.refuse(name, Reason.SESSION, UnauthorizedError(message), now_s)

    def place(self, request: StepRequest, now_s: float) -> str | None:
        """Returns the name of the key that one more session would be bound to; None where nobody needs one.

        Raises:
          OverloadedError: As many sessions of the key are open as are allowed, or it is not known at this moment.
        """
        if not self.guarded:
            return None
        holder = self._admitted(request, now_s)
        most, held = holder.key.quota.max_sessions, self._bindings.open_sessions(holder.name)
        if most is not None and held >= most:
            message = f"key {holder.name!r} has {held} sessions open; allowed are {most}"
            self._refusals.refuse(holder.name, Reason.SESSIONS, OverloadedError(message), now_s)
        return holder.name

    def bind(self, session: SessionId, key: str | None) -> None:
        """Keeps an open session for the key of this name, here or in another replica it was started under."""
        if self.guarded and key is not None:
            self._bindings.bind(session, key)

    def ended(self, session: SessionId) -> None:
        """Gives back the place of a session that is over, or has gone to another replica."""
        self._bindings.end(session)

    def was_of(self, session: SessionId, key: str | None) -> None:
        """Keeps the last reply of a session that is over for the key of this name."""
        if self.guarded and key is not None:
            self._bindings.was_of(session, key)

    def may_see(self, credentials: Credentials | None, now_s: float) -> bool:
        """Returns whether credentials, whose token signs an empty session, open what only administrators see."""
        if not self.guarded:
            return True
        try:
            holder = self._identity.holder(StepRequest("", StepKind.AUTO, b"", credentials=credentials), now_s)
        except UnauthorizedError:
            return False
        return holder.key.admin

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

    def _admitted(self, request: StepRequest, now_s: float) -> Holder:
        """Returns the holder of a key that a door has admitted."""
        given = request.credentials
        if given is None:
            message = "the step was admitted by a replica that asks for no key; send it again with one"
            self._refusals.refuse(NOBODY, Reason.EXCHANGE, UnauthorizedError(message), now_s)
        holder, known = self._holders.find(given.key)
        if not known:
            message = "keys are being exchanged; send the step again"
            self._refusals.refuse(NOBODY, Reason.EXCHANGE, OverloadedError(message), now_s)
        return holder
