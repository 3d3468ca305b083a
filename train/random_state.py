"""The global random generators of one process."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

NUMPY_SEEDS = 2**32
"""Numpy's global generator takes seeds below this."""


def seed_generators(seed: int) -> None:
    """Seeds the generators of torch, numpy and Python."""
    torch.manual_seed(seed)
    np.random.seed(seed % NUMPY_SEEDS)  # noqa: NPY002  # The global one, which user code may draw from.
    random.seed(seed)


def random_state() -> dict[str, Any]:
    """Returns where the generators stand: tensors, numbers and tuples alone."""
    _, key, place, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": (torch.from_numpy(np.asarray(key).astype(np.int64)), int(place), int(has_gauss), float(gauss)),
        "python": random.getstate(),
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Puts the generators where they stood; those of GPUs only where there are as many."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    key, place, has_gauss, gauss = state["numpy"]
    np.random.set_state(("MT19937", key.numpy().astype(np.uint32), place, has_gauss, gauss))  # noqa: NPY002
    version, words, python_gauss = state["python"]
    random.setstate((version, tuple(words), python_gauss))
