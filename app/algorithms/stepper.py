"""The seam between a loss and the optimizer: how one minibatch changes the parameters."""

from typing import Protocol

from torch import Tensor, nn
from torch.optim import Optimizer


class Stepper(Protocol):
    """Turns the loss of one minibatch into a change of the parameters, the same one on all workers."""

    def step(self, loss: Tensor) -> float | None:
        """Backpropagates, and takes an optimizer step where one is due.

        Args:
          loss: Mean over the minibatch of all workers once it is averaged over them; a scalar with a gradient.

        Returns:
          The gradients' norm before they were clipped; None while they are only accumulated. Where it is not finite,
          nothing was changed.
        """


class PlainStepper:
    """One optimizer step a minibatch; the module itself averages gradients where there are several workers."""

    def __init__(self, module: nn.Module, optimizer: Optimizer, max_grad_norm: float) -> None:
        """Makes a stepper.

        Args:
          module: Its parameters are changed.
          optimizer: Of the module's parameters.
          max_grad_norm: Gradients are scaled down to this norm.
        """
        self._parameters = list(module.parameters())
        self._optimizer = optimizer
        self._max_grad_norm = max_grad_norm

    def step(self, loss: Tensor) -> float:
        """Takes one step; see ``Stepper``."""
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
        if norm.isfinite():
            self._optimizer.step()
        return float(norm)
