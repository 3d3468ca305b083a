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
    value_before: Tensor | None = None
    """Value that the network gave before the update; None where no loss asks for it."""

    def at(self, rows: Tensor) -> "Worth":
        """Returns these rows alone."""
        before = None if self.value_before is None else self.value_before[rows]
        return Worth(
            self.behaviour_log_prob[rows], self.advantage[rows], self.target_value[rows], self.weight[rows], before
        )


class LossTerms(Protocol):
    """A NamedTuple of sums; its field ``total`` is what is minimised."""

    def _asdict(self) -> dict[str, Tensor]:
        """Returns the sums by name."""


class PolicyLoss(Protocol):
    """A loss of a policy and its value."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> LossTerms:
        """Returns named sums over the rows that count."""


def check_rows(*columns: Tensor | None) -> None:
    """Does nothing where all columns that are there have one shape [B].

    Raises:
      ValueError: They have not.
    """
    shapes = {tuple(x.shape) for x in columns if x is not None}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError(f"a policy loss needs one shape [B], got {sorted(shapes)}")
