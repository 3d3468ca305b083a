"""The network behind what wraps it."""

import torch
from torch import nn

from app.algorithms.normalising import unwrapped
from tests.small_policy import small_policy
from train.strategies.precision import Autocast


class Averaging(nn.Module):
    """Wraps as torch's DistributedDataParallel does."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module


def test_the_network_is_found_behind_every_wrapper() -> None:
    network = small_policy()
    cast = Autocast(network, torch.bfloat16, torch.device("cpu"))
    assert [unwrapped(x) for x in (network, cast, Averaging(network), Averaging(cast))] == [network] * 4


def test_what_wraps_nothing_is_itself() -> None:
    plain = nn.Linear(1, 1)
    assert unwrapped(plain) is plain
