"""What all estimators of returns share: arrays [T, B] in time order, and the rows at which a trajectory ends."""

from torch import Tensor


def check_shapes(what: str, *arrays: Tensor) -> None:
    """Does nothing where all arrays have one shape [T, B].

    Raises:
      ValueError: They have not.
    """
    shapes = {tuple(x.shape) for x in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 2:  # noqa: PLR2004  # Time and batch.
        raise ValueError(f"{what} needs one shape [T, B], got {sorted(shapes)}")
