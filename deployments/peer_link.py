"""One kept connection to another replica, which carries steps: replies come in any order, and cost no task."""

import asyncio
from typing import ClassVar

from app.client.kept import opened
from app.wire.steps import StepReply, StepRequest
from deployments.framed_link import FramedLink
from deployments.peer_wire import PeerReplyReader, greeting_frame, request_frame


class PeerLink(FramedLink[StepReply]):
    """A link to the peer port of one replica."""

    things: ClassVar[str] = "steps"

    def __init__(self, peer: str, secret: str) -> None:
        super().__init__(peer, greeting_frame(secret), PeerReplyReader())

    @classmethod
    async def open(cls, host: str, port: int, secret: str, *, timeout_s: float) -> "PeerLink":
        """Returns a new link to the peer port ``host:port``.

        Raises:
          ConnectionLostError: Nobody accepts connections there within ``timeout_s``.
        """
        return await opened(lambda peer: cls(peer, secret), host, port, timeout_s)

    def send(self, step: StepRequest, timeout_s: float, *, via_gateway: bool = False) -> asyncio.Future[StepReply]:
        """Returns the reply that will come; its waiter may be cancelled, and the reply is then dropped.

        Its exception is the owner's ``StepError``, or a ``ConnectionLostError`` where the link ended first or
        ``timeout_s`` passed; a late reply holds up no other.

        Raises:
          ConnectionLostError: The link is closed; nothing was sent.
          OverloadedError: Too much is under way already; nothing was sent.
          StepError: The step cannot be forwarded.
        """
        return self._send(lambda number: request_frame(number, step, via_gateway=via_gateway), timeout_s)
