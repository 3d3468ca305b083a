"""Asks the Serve replicas of a model: over kept connections, and by Serve's handle where there is none."""

from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final, cast

from ray.exceptions import RayTaskError
from ray.serve.exceptions import DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle

from app.models.engine import Answer
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.models.waiting import Within
from app.types import Version
from deployments.model_channels import Endpoint, ModelChannels, NoChannelError

FIND_TIMEOUT_S: Final = 4.0
"""Longest wait for the replicas to say where they listen."""


class ModelCalls:
    """The replicas of one model, as an actor replica reaches them."""

    def __init__(
        self, handle: DeploymentHandle[Any], spec: ModelSpec, secret: str, counts: Counter[str], *, direct: bool
    ) -> None:
        """Makes no connection yet.

        Args:
          handle: Serve's.
          spec: The model's shapes.
          secret: The cluster's.
          counts: Where calls are counted by the way that they went.
          direct: Whether connections are kept.
        """
        self._handle = handle
        self._counts = counts
        self._channels = ModelChannels(self.find, spec, secret, counts) if direct else None

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as replicas are asked."""
        return [] if self._channels is None else [self._channels.run()]

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        """Returns the answer to a batch, given and taken by leaves, that is wanted within so many seconds."""
        if self._channels is not None:
            try:
                answer = await self._channels.forward(inputs, states, version, within)
            except NoChannelError:
                pass  # The replicas have just started, or a firewall stands between.
            else:
                self._counts["model_calls_direct"] += 1
                return answer
        self._counts["model_calls_handle"] += 1
        try:
            return cast("Answer", await self._handle.forward.remote(inputs, states, version, within))
        except RayTaskError as error:
            raise error.cause from None

    async def find(self) -> list[Endpoint]:
        """Returns where the replicas listen; an empty list where there is none at the moment.

        Raises:
          ray.exceptions.RayError: Serve does not answer.
          TimeoutError: Nor does it within ``FIND_TIMEOUT_S``.
        """
        asked = self._handle.broadcast("endpoint")
        try:
            found = await asked.results_async(timeout_s=FIND_TIMEOUT_S, return_exceptions=True)
        except DeploymentUnavailableError:  # The last one has ended, and the next one is not there yet.
            return []
        return [endpoint for endpoint in found if isinstance(endpoint, Endpoint)]
