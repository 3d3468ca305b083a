"""Whose key a step carries, and whether its token is good."""

from typing import Final, NoReturn

from app.errors import UnauthorizedError
from app.sessions.holders import Holder, Holders
from app.sessions.refusals import NOBODY, Reason, Refusals
from app.sessions.tokens import ALWAYS, CLOCK_SKEW_S, SESSION_AGE_S, Scope, Span, Tokens, holds
from app.types import StepKind
from app.wire.steps import Credentials, StepRequest


class Identity:
    """Tells whose key a step carries; what was good is kept, so that a client that repeats it pays no HMAC."""

    def __init__(self, holders: Holders, refusals: Refusals) -> None:
        self._holders = holders
        self._refusals = refusals
        self._tokens = Tokens()
        self._seen: tuple[Credentials | None, Holder, Span] = (None, holders.stranger, ALWAYS)
        """The last credentials that were good for any session, and when: a batch shares one object."""

    def forget(self) -> None:
        """Keeps nothing, for keys may have changed."""
        self._seen = (None, self._holders.stranger, ALWAYS)
        self._tokens.forget()

    def holder(self, request: StepRequest, now_s: float) -> Holder:
        """Returns the holder of the step's key.

        Raises:
          UnauthorizedError: There is none, or the token is wrong or old. Whether the key exists is not told.
        """
        given = request.credentials
        if given is None:
            self._refusals.refuse(NOBODY, Reason.NO_KEY, UnauthorizedError(_NO_KEY), now_s)
        seen, holder, (from_s, to_s) = self._seen
        if given is seen and from_s <= now_s <= to_s:
            return holder
        holder, known = self._holders.find(given.key)
        span = ALWAYS
        if holder.key.require_token:
            scope = self._tokens.scope(holder.key, given, request.session, known=known)
            if scope is None:
                self._refuse_wrong(holder.name, given, now_s)
            span = self._checked_span(holder.name, given, scope, request.kind, now_s)
            if scope is Scope.SESSION:
                return holder
        self._seen = (given, holder, span)
        return holder

    def _checked_span(self, name: str, given: Credentials, scope: Scope, kind: StepKind, now_s: float) -> Span:
        span = holds(scope, given.time, opens=kind in _OPENS)
        if span is None or not span[0] <= now_s <= span[1]:
            message = f"time is {given.time[:20]!r} and the service's clock {now_s:.0f}; {_TIMES}"
            self._refusals.refuse(name, Reason.TIME, UnauthorizedError(message), now_s)
        return span

    def _refuse_wrong(self, name: str, given: Credentials, now_s: float) -> NoReturn:
        message = f"{_WRONG}, got a key of {len(given.key)} characters and a token of {len(given.token)}; {_RIGHT}"
        self._refusals.refuse(name, Reason.CREDENTIALS, UnauthorizedError(message), now_s)


_OPENS: Final = (StepKind.START, StepKind.AUTO)
"""Kinds that begin something."""
_NO_KEY: Final = "no key was sent; this service takes one in the field key"
_WRONG: Final = "the key is unknown here, or its token is wrong"
_RIGHT: Final = (
    "allowed is a key of this service and, where it needs one, "
    "token = hex HMAC-SHA256 of key, time and session, joined by newlines, under its secret"
)
_TIMES: Final = (
    f"allowed are Unix seconds at most {CLOCK_SKEW_S:.0f} s from it, "
    f"and at most {SESSION_AGE_S:.0f} s behind it for a later step whose token signs its session"
)
