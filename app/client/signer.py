"""Who asks: the headers that a service with keys wants to see."""

import time
from collections.abc import Callable

from app.wire.token import sign


class Signer:
    """Makes the headers ``key``, ``time`` and ``token`` of a request."""

    def __init__(self, key: str, secret: str | None, clock: Callable[[], float] = time.time) -> None:
        """Makes the signer of one key.

        Args:
          key: Names the client.
          secret: What it shares with the service; None where the key alone is enough.
          clock: Returns Unix seconds.
        """
        self._key, self._secret, self._clock = key, secret, clock

    def headers(self, session: str) -> dict[str, str]:
        """Returns the headers of a request now; ``session`` as it stands in the request's own header."""
        if self._secret is None:
            return {"key": self._key}
        now = str(int(self._clock()))
        return {"key": self._key, "time": now, "token": sign(self._secret, self._key, now, session)}
