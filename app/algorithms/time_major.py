"""What all estimators of returns share: arrays [T, B] in time order, and the rows at which a trajectory ends."""

import torch
from torch import Tensor


def check_shapes(what: str, *arrays: Tensor) -> None:
    """Does nothing where all arrays have one shape [T, B].

    Raises:
      ValueError: They have not.
    """
    shapes = {tuple(x.shape) for x in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 2:  # noqa: PLR2004  # Time and batch.
        raise ValueError(f"{what} needs one shape [T, B], got {sorted(shapes)}")


def next_rows(x_t: Tensor) -> Tensor:
    """Returns each row's successor, and zeros behind the last, [T, B]."""
    return torch.cat([x_t[1:], torch.zeros_like(x_t[:1])])


def goes_on(cut_t: Tensor) -> Tensor:
    """Returns 1 where the next row belongs to the same trajectory, and 0 where none follows, [T, B]."""
    return torch.cat([1 - cut_t[:-1], torch.zeros_like(cut_t[:1])])


def discounted_sums(x_t: Tensor, decay_t: Tensor) -> Tensor:
    """Returns y with y[t] = x[t] + decay[t] · y[t + 1], and y[T] = 0 behind the end, [T, B]."""
    if x_t.shape[1] == 1:  # Plain floats: a loop over array elements costs ten times as much.
        total, sums = 0.0, [0.0] * len(x_t)
        for t, (x, decay) in reversed(list(enumerate(zip(x_t[:, 0].tolist(), decay_t[:, 0].tolist(), strict=True)))):
            sums[t] = total = x + decay * total
        return torch.tensor(sums, dtype=x_t.dtype, device=x_t.device)[:, None]
    running, found = torch.zeros_like(x_t[0]), torch.empty_like(x_t)
    for t in reversed(range(len(x_t))):
        running = x_t[t] + decay_t[t] * running
        found[t] = running
    return found
