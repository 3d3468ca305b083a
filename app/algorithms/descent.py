"""The optimizer steps of one update, and what is told of them."""

import math
from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from app.algorithms.stepper import Stepper
from app.errors import NonFiniteLossError

ReduceSum = Callable[[Tensor], Tensor]
"""Adds a tensor up over all workers; the identity where there is but one."""

LOSSES: Final = ("total", "policy", "value", "critic", "temperature", "conservative", "anchor")
"""Terms whose metrics are called ``loss_…``; others go by their own name."""


class Descent:
    """Takes the optimizer steps of one update, on all workers alike, and collects their terms."""

    def __init__(self, stepper: Stepper, workers: int, reduce_sum: ReduceSum) -> None:
        """Begins an update.

        Args:
          stepper: Changes the network's parameters.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.
        """
        self._stepper = stepper
        self._workers = workers
        self._reduce_sum = reduce_sum
        self._sums: dict[str, Tensor] = {}
        self._norms: list[float] = []
        self.steps = 0
        """Minibatches so far."""

    def step(self, terms: Mapping[str, Tensor], size: float) -> None:
        """Learns from a minibatch.

        Args:
          terms: Sums over this worker's rows that count; ``total`` is what is minimised.
          size: Rows that count over all workers, above 0.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step was not taken.
        """
        norm = self._stepper.step(terms["total"] * self._workers / size)
        if norm is not None and not math.isfinite(norm):
            raise NonFiniteLossError(_diagnosis(terms, norm))
        for name, part in terms.items():
            self._sums[name] = self._sums.get(name, torch.zeros(())) + part.detach().cpu() / size
        self.steps += 1
        if norm is not None:
            self._norms.append(norm)

    def metrics(self) -> dict[str, float]:
        """Returns the means of all terms over the minibatches and all workers; nothing where no step was taken."""
        if self.steps == 0:
            return {}
        means = (self._reduce_sum(torch.stack(list(self._sums.values()))) / self.steps).tolist()
        return {_metric(name): mean for name, mean in zip(self._sums, means, strict=True)} | {
            "grad_norm": sum(self._norms) / len(self._norms) if self._norms else 0.0,
            "optimizer_steps": float(len(self._norms)),
        }


def _metric(term: str) -> str:
    return f"loss_{term}" if term in LOSSES else term


def _diagnosis(terms: Mapping[str, Tensor], norm: float) -> str:
    sums = ", ".join(f"{name} {value.item():g}" for name, value in terms.items())
    return (
        f"the gradient norm is {norm:g} (sums over the minibatch: {sums}); the weights before this step are good. "
        "Look for rewards or observations without bound, or lower trainers.<name>.optimizer.learning_rate"
    )
