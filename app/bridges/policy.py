"""What the policies for loops of one's own have in common."""

import contextlib
from collections.abc import Callable, Hashable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from app.bridges.players import Players
from app.client.errors import ClientError
from app.client.sync import Client

K = TypeVar("K", bound=Hashable)


class ServicePolicy(Generic[K]):
    """The service as a policy: it keeps a session for each game under way; leaving the ``with`` block ends them."""

    def __init__(
        self, client: Client, options: Mapping[str, object] | None = None, name: Callable[[K], str] | None = None
    ) -> None:
        """Makes a policy; nothing is sent yet.

        Args:
          client: The service, and why is played.
          options: Body of each start, the agent's, such as ``{"greedy": True}``.
          name: Returns the id of a player's next session; None draws it.
        """
        self._client = client
        self._players = Players[K](client.inner, options, name)

    @property
    def policy_version(self) -> str | None:
        """Returns the version of the weights behind the newest action; None where the service names none."""
        return self._players.policy_version

    @property
    def lost_sessions(self) -> int:
        """Returns how many sessions the service lost; the game went on in a new one each time."""
        return self._players.lost

    def close(self) -> None:
        """Ends the games under way as truncated; it never fails."""
        with contextlib.suppress(ClientError):
            self._client.wait_for(self._players.close())

    def _play(self) -> dict[K, Any]:
        return self._client.wait_for(self._players.play())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
