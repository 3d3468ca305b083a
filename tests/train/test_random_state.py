"""The random generators of a process."""

import random
from pathlib import Path

import numpy as np
import torch

from train.random_state import random_state, seed_generators, set_random_state


def drawn() -> tuple[float, float, float, float]:
    return torch.rand(1).item(), np.random.rand(), np.random.randn(), random.gauss()  # noqa: NPY002


def test_generators_go_on_where_they_stood_after_a_file(tmp_path: Path) -> None:
    seed_generators(2**40 + 3)
    drawn()  # Numpy and Python now keep the second of two normal numbers.
    torch.save(random_state(), tmp_path / "random.pt")
    expected = drawn()
    seed_generators(1)
    set_random_state(torch.load(tmp_path / "random.pt", weights_only=True))
    assert drawn() == expected


def test_equal_seeds_draw_equally() -> None:
    seed_generators(5)
    expected = drawn()
    seed_generators(5)
    assert drawn() == expected
