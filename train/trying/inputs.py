"""What a tried agent is asked: recorded bodies, or made-up ones."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from app.errors import ConfigError
from app.models.spec import ModelSpec
from app.recordings.reading import read_episodes
from app.seeding import derive
from train.trying.synthetic import payload

BYTES = 16
"""Of a made-up body that nobody can read."""


def made_up(kind: Any, spec: ModelSpec | None, games: int, ticks: int, seed: int) -> list[Iterator[bytes]]:
    """Returns the ticks of some sessions, as an agent's codec and a model's shapes suggest.

    Args:
      kind: Class of the agent.
      spec: Of the model whose observations are made up; None makes up none.
      games: Sessions.
      ticks: Of each.
      seed: Draws all of it.

    Raises:
      ConfigError: The agent reads JSON, and there is no model to tell of what shape.
    """
    codec = getattr(kind, "codec", "json")
    if codec == "proto":
        return [repeat(kind.tick_input().SerializeToString(), ticks) for _ in range(games)]
    rngs = [np.random.default_rng(derive(seed, "try", game)) for game in range(games)]
    if codec == "bytes":
        return [(rng.bytes(BYTES) for _ in range(ticks)) for rng in rngs]
    if spec is None:
        raise ConfigError("nobody knows what to ask it; allowed is --model for made-up observations, or --input")
    return [(orjson.dumps(payload(spec, rng)) for _ in range(ticks)) for rng in rngs]


def recorded(path: Path) -> Sequence[Iterator[bytes]]:
    """Returns the ticks of the sessions of a file.

    Args:
      path: A recording, or lines of which each is the body of a tick: one session.

    Raises:
      ConfigError: It cannot be read, or holds no tick.
      RecordingError: It is no recording.
    """
    if path.suffix == ".parquet":
        found = [[step.input or b"" for step in episode.ticks] for episode in read_episodes(path)]
    else:
        try:
            found = [[line for line in path.read_bytes().splitlines() if line.strip()]]
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if not any(found):
        raise ConfigError(f"{path} holds no tick; allowed is a recording, or lines with the body of a tick each")
    return [iter(ticks) for ticks in found]
