"""What a recording's file looks like: a Parquet table with a line for each step of a session.

The lines of one session follow each other. A further row to learn from of the same step (the bootstrap row of a
trajectory that ends in the middle of a session, say) has a line of its own, whose event is ``row``.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from app.models.distributions.distribution import Distribution
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Structure

SCHEMA_VERSION: Final = "2"
PREFIX: Final = "sparring."
"""How the keys of a file's metadata begin."""
VERSION_KEY: Final = b"sparring.schema_version"
SPEC_KEY: Final = b"sparring.spec"
"""Where a file keeps the shapes of its model, as JSON; ``null`` where the agent asks none."""
DIST_INPUTS: Final = "dist_inputs"
"""How the columns begin that hold what actions were drawn from; NaN where nobody told."""
IS_ROW: Final = "is_row"
"""Whether the columns of a line are a row to learn from."""
HAS_DECISION: Final = "has_decision"
"""Whether observation, action, value, log-probability and version of a line were played; zeros stand there else."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
STEP_COLUMNS: Final[dict[str, pa.DataType]] = {
    "recording": pa.int32(),  # Number of the game's session in the file.
    "session": _TEXT,
    "game": _TEXT,
    "purpose": _TEXT,
    "why": _TEXT,  # What it was recorded for.
    "seed": pa.uint64(),  # Of the session's random numbers.
    "event": _TEXT,  # start, tick, stop, end or row.
    "seq": pa.int32(),
    "at_s": pa.float64(),  # Since 1970.
    "draws": pa.int64(),  # Random numbers drawn before.
    "input": pa.binary(),
    "output": pa.binary(),
    "error": pa.string(),
    "cause": _TEXT,  # Why the episode is over.
    "policy_version": _TEXT,
    "agent_ms": pa.float32(),
    "model_ms": pa.float32(),
    IS_ROW: pa.bool_(),
    HAS_DECISION: pa.bool_(),
}
"""Columns of each file, before those of ``app.replay.rows``."""


def dist_columns(spec: ModelSpec) -> dict[str, int]:
    """Returns how many numbers each column of ``dist_inputs`` has."""
    leaves = zip(spec.actions.columns(DIST_INPUTS), spec.actions.leaves, strict=True)
    return {column: leaf.inputs for column, leaf in leaves}


def spec_document(spec: ModelSpec) -> dict[str, object]:
    """Returns the shapes of a model as JSON: what a reader needs who has no model."""
    return {
        "observation": _arrays(spec.inputs),
        "state": _arrays(spec.states),
        "action": {
            path: {
                "kind": type(leaf).__name__,
                "shape": list(leaf.shape),
                "dtype": np.dtype(leaf.dtype).name,
                "choices": leaf.choices,
                "inputs": leaf.inputs,
            }
            for path, leaf in _leaves(spec.actions)
        },
        "rewards": list(spec.rewards),
    }


def _leaves(part: Structure[Distribution]) -> list[tuple[str, Distribution]]:
    return list(zip(part.paths, part.leaves, strict=True))


def _arrays(part: Structure[ArraySpec]) -> dict[str, object]:
    leaves = zip(part.paths, part.leaves, strict=True)
    return {path: {"shape": list(leaf.shape), "dtype": leaf.dtype} for path, leaf in leaves}
