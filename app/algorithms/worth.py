"""What every policy loss learns from."""

from typing import NamedTuple, Protocol

from torch import Tensor


class Worth(NamedTuple):
    """What was done and what it was worth, all [B]; nothing is differentiated through them."""

    behaviour_log_prob: Tensor
    """Log-probability of the action under the policy that took it."""
    advantage: Tensor
    """Advantage of the action taken."""
    target_value: Tensor
    """Return that the value should predict."""
    weight: Tensor
    """1 for rows that count, 0 for masked ones."""


class LossTerms(Protocol):
    """A NamedTuple of sums; its field ``total`` is what is minimised."""

    def _asdict(self) -> dict[str, Tensor]:
        """Returns the sums by name."""


class PolicyLoss(Protocol):
    """A loss of a policy and its value."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> LossTerms:
        """Returns named sums over the rows that count."""


def check_rows(*columns: Tensor) -> None:
    """Does nothing where all columns have one shape [B].

    Raises:
      ValueError: They have not.
    """
    shapes = {tuple(x.shape) for x in columns}
    if len(shapes) != 1 or columns[0].ndim != 1:
        raise ValueError(f"a policy loss needs one shape [B], got {sorted(shapes)}")
