"""One kept connection to a model replica: answers come in any order, and cost no task."""

import asyncio
from functools import partial
from typing import ClassVar

from app.client.kept import opened
from app.models.engine import Answer
from app.models.question import Leaves
from app.models.waiting import Within
from app.types import Version
from deployments.framed_link import FramedLink, Numbered
from deployments.model_wire import ModelCall, ModelReply, ModelReplyReader, ModelWire


class ModelLink(FramedLink[Answer]):
    """A link to the port of one model replica."""

    things: ClassVar[str] = "questions"

    def __init__(self, wire: ModelWire, peer: str) -> None:
        super().__init__(peer, wire.greeting(), ModelReplyReader(wire))
        self._wire = wire
        self._waiting_rows = 0
        self._asked_rows = 0
        self.calls = 0
        """Calls that it has carried."""

    @classmethod
    async def open(cls, host: str, port: int, wire: ModelWire, *, timeout_s: float) -> "ModelLink":
        """Returns a new link to the model's port ``host:port``.

        Raises:
          ConnectionLostError: Nobody accepts connections there within ``timeout_s``.
        """
        return await opened(partial(cls, wire), host, port, timeout_s)

    @property
    def load_rows(self) -> int:
        """Returns the observations that its replica still has to answer, as far as is known here."""
        return self._asked_rows + self._waiting_rows

    def retire(self) -> None:
        """Takes no more questions; those under way are answered."""
        self._usable = False

    def ask(
        self, inputs: Leaves, states: Leaves, version: Version | None, within: Within, timeout_s: float
    ) -> asyncio.Future[Answer]:
        """Returns the answer to come; its waiter may be cancelled.

        Its exception is the replica's own, or a ``ConnectionLostError`` where the link ended first or ``timeout_s``
        passed.

        Raises:
          BodyTooLargeError: No frame holds the question.
          ConnectionLostError: The link is closed; nothing was sent.
          OverloadedError: Too much is under way already; nothing was sent.
        """
        answer = self._send(
            lambda number: self._wire.call(ModelCall(number, inputs, states, version, within)), timeout_s
        )
        rows = len(inputs[0])
        self.calls += 1
        self._asked_rows += rows
        answer.add_done_callback(lambda _: self._settled(rows))
        return answer

    def _settled(self, rows: int) -> None:
        self._asked_rows -= rows

    def _take(self, reply: Numbered[Answer]) -> None:
        if isinstance(reply, ModelReply):
            self._waiting_rows = reply.waiting_rows
        super()._take(reply)
