"""Connections of actor replicas that ask a model."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from app.models.engine import Answer
from deployments.answering import Answering
from deployments.listener.linked import LinkedConnection
from deployments.listener.port import Connections
from deployments.model_wire import ModelCall, ModelCallReader, ModelReply, ModelWire


class ModelConnection(LinkedConnection[ModelCall | None]):
    """Hands questions to the model as they come, and sends each answer as soon as it is there."""

    __slots__ = ("_answering", "_outcomes", "_wire")

    what = "a connection to a model"

    def __init__(self, wire: ModelWire, answering: Answering, port: Connections) -> None:
        """Makes one connection.

        Args:
          wire: The model's format.
          answering: Who answers.
          port: What all connections of the port share.
        """
        super().__init__(port, ModelCallReader(wire))
        self._wire = wire
        self._answering = answering
        self._outcomes: dict[int, asyncio.Future[Answer]] = {}

    def connection_lost(self, exc: Exception | None) -> None:
        """Lets go what nobody waits for any more."""
        for outcome in list(self._outcomes.values()):
            outcome.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:
        """Closes: who asks reads answers to the end."""
        return False

    def tasks(self) -> Iterable[asyncio.Future[Any]]:
        """Returns the answers to come."""
        return list(self._outcomes.values())

    def _begin(self, call: ModelCall | None) -> None:
        if call is None:
            return
        try:
            outcome = self._answering.ask(call.inputs, call.states, call.version, call.within)
        except Exception as error:  # noqa: BLE001  # The caller is told, whatever it is.
            self._send(call.number, error)
            return
        taken = self._taken
        self._outcomes[taken] = outcome
        outcome.add_done_callback(partial(self._answered, taken, call.number))

    def _answered(self, taken: int, number: int, outcome: asyncio.Future[Answer]) -> None:
        del self._outcomes[taken]
        if outcome.cancelled():
            self._forget_if_done()
            return
        error = outcome.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        if self._transport is None:
            self._forget_if_done()
            return
        self._send(number, outcome.result() if error is None else error)
        self._replied()

    def _send(self, number: int, answer: Answer | Exception) -> None:
        if self._closing_s is None and self._writer is not None:
            self._writer.write(self._wire.reply(ModelReply(number, answer, self._answering.queue.waiting_rows)))

    def _under_way(self) -> int:
        return len(self._outcomes)


def speaks_model(wire: ModelWire, answering: Answering) -> Callable[[Connections], ModelConnection]:
    """Returns what makes the connections of a model's port."""
    return partial(ModelConnection, wire, answering)
