"""Demonstrations of CartPole, and what shows which of them a worker has seen."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def write_demos(folder: Path, shards: int, episodes: int = 8, steps: int = 20) -> None:
    """Writes episodes whose action follows from the observation: 1 where the pole leans to the right."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    for shard in range(shards):
        rows = episodes * steps * (shard + 1)  # Shards are not equally long.
        observation = rng.normal(size=(rows, 4)).astype(np.float32)
        ends = np.arange(rows) % steps == steps - 1
        np.savez(
            folder / f"{shard}.npz",
            observation=observation,
            action=(observation[:, 2] > 0).astype(np.int64),
            reward=np.ones(rows, np.float32),
            terminated=ends,
        )


def halved(columns: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Preprocesses observations that are stored doubled and as float64, with two numbers too many."""
    return {**columns, "observation": columns["observation"][:, :4] / 2}
