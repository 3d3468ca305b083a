"""Keys: who may play here, for what, and how much."""

from dataclasses import dataclass, field

from app.types import Purpose
from app.wire.token import sign


@dataclass(frozen=True, slots=True)
class Quota:
    """What one key may use of one replica; None is no limit."""

    max_sessions: int | None = None
    """Sessions open at once."""
    steps_per_s: float | None = None
    """Steps a second, in the long run."""
    burst_steps: int = 1
    """Steps that may come at once after a pause; counts only with ``steps_per_s``."""

    def __post_init__(self) -> None:
        """Refuses limits that nothing could keep to.

        Raises:
          ValueError: A rate is not positive, or a count is below 1.
        """
        rate_per_s, sessions = self.steps_per_s, self.max_sessions
        if (rate_per_s is not None and not rate_per_s > 0) or self.burst_steps < 1 or sessions == 0:
            raise ValueError(f"a quota needs a rate above 0 and counts from 1, got {self}")


@dataclass(frozen=True, slots=True)
class Key:
    """One client, or one team of clients."""

    name: str
    """What logs, metrics and messages call it; never a secret."""
    key: str = field(repr=False)
    """What the client sends; a secret where it is enough alone."""
    secret: str | None = field(repr=False, default=None)
    """What tokens are signed with; None where the key alone is enough."""
    purposes: frozenset[Purpose] = frozenset(Purpose)
    """What its sessions may be played for."""
    require_token: bool = False
    """Whether a step needs a token."""
    static_token: bool = False
    """Whether the token that signs neither time nor session is good, for clients that cannot sign."""
    quota: Quota = Quota()
    admin: bool = False
    """Whether it opens what only administrators see."""

    def __post_init__(self) -> None:
        """Refuses a key that asks for a token that nobody could make.

        Raises:
          ValueError: A token is required, or a static one allowed, and there is no secret.
        """
        if self.secret is None and (self.require_token or self.static_token):
            raise ValueError(f"key {self.name!r} has no secret; allowed is a token only where there is one")

    def token(self, time: str, session: str) -> str:
        """Returns the token of a time and a session; one that means nothing where the key has no secret."""
        return sign(self.secret or "", self.key, time, session)


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to take a step."""

    key: str | None
    """Name of the key that asks; None where nobody needs one."""
