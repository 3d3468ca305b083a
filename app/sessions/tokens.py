"""Whether a token shows that its sender knows the key's secret, and for what it is good."""

import hmac
from collections import OrderedDict
from enum import Enum
from typing import Final

from app.sessions.keys import Key
from app.types import SessionId
from app.wire.step_fields import DIGITS_MAX
from app.wire.steps import Credentials

CLOCK_SKEW_S: Final = 300.0
"""How far a token's time may be from our clock: what machines without a time service drift, and no longer than needed,
since a start that was overheard can be repeated for as long."""
SESSION_AGE_S: Final = 86_400.0
"""How old the token of a session may become behind its start: longer than any game, so a client signs once a game."""
TOKENS_KEPT: Final = 20_000
"""Good tokens that are not computed again: two for each session that a replica holds by default."""

Span = tuple[float, float]
"""Unix seconds from and to which something holds."""

ALWAYS: Final[Span] = (float("-inf"), float("inf"))


class Scope(Enum):
    """What a token is good for."""

    SESSION = "session"
    """It signs the session of the request: good for that one."""
    KEY = "key"
    """It signs an empty session: good for all sessions of its key, but not for long."""
    STATIC = "static"
    """It signs neither session nor time: good while the key allows it."""


class Tokens:
    """Checks tokens; those that were good once are kept, so that a repeated one costs no HMAC."""

    def __init__(self, kept: int = TOKENS_KEPT) -> None:
        self._kept = kept
        self._good: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()

    def forget(self) -> None:
        """Forgets all good tokens, for keys may have changed."""
        self._good.clear()

    def scope(self, key: Key, given: Credentials, session: SessionId, *, known: bool) -> Scope | None:
        """Returns what the token is good for; None where it is wrong.

        A key that nobody has (``known`` is false) takes as long, and its tokens are never good.
        """
        token = given.token.lower().encode("utf-8", "surrogatepass")
        forms = _forms(given.time, session)
        for scope, time, signed in forms:
            expected = self._good.get((key.name, time, signed))
            if expected is not None and hmac.compare_digest(expected, token):
                self._good.move_to_end((key.name, time, signed))
                return _allowed(scope, key, given.time)
        for scope, time, signed in forms:
            expected = _token(key, time, signed)
            if hmac.compare_digest(expected, token) and known:
                self._keep((key.name, time, signed), expected)
                return _allowed(scope, key, given.time)
        return None

    def _keep(self, signed: tuple[str, str, str], token: bytes) -> None:
        self._good[signed] = token
        if len(self._good) > self._kept:
            self._good.popitem(last=False)


def holds(scope: Scope, time: str, *, opens: bool) -> Span | None:
    """Returns when a good token may be used; None where its time is no time.

    Args:
      scope: What it is good for.
      time: Unix seconds as they were signed.
      opens: Whether the step begins something, a session or a stateless answer.
    """
    if scope is Scope.STATIC:
        return ALWAYS
    if not (time.isascii() and time.isdecimal() and len(time) <= DIGITS_MAX):
        return None
    signed_s = float(time)
    lasts_s = SESSION_AGE_S if scope is Scope.SESSION and not opens else CLOCK_SKEW_S
    return signed_s - CLOCK_SKEW_S, signed_s + lasts_s


def _forms(time: str, session: SessionId) -> tuple[tuple[Scope, str, str], ...]:
    """Returns what a token may sign: its scope, time and session."""
    whole_key = (Scope.KEY, time, ""), (Scope.STATIC, "", "")
    return ((Scope.SESSION, time, session), *whole_key) if session else whole_key


def _allowed(scope: Scope, key: Key, time: str) -> Scope | None:
    if scope is Scope.STATIC:
        return scope if key.static_token else None
    return Scope.STATIC if scope is Scope.KEY and not time and key.static_token else scope


def _token(key: Key, time: str, session: SessionId) -> bytes:
    try:
        return key.token(time, session).encode()
    except UnicodeEncodeError:  # No client can sign text that is no Unicode; a shorter token is never equal.
        return b"-"
