"""Observations of recorded games, to compare a graph with its network on."""

from pathlib import Path
from typing import Final

import numpy as np

from app.errors import ExportError, SourceError
from app.models.export.samples import Samples
from app.models.spec import ModelSpec
from app.recordings.files import SUFFIX
from app.recordings.index import recording_files
from app.sources.fitting import fields_of
from app.sources.formats.recordings import RecordingShard
from app.sources.reader import Order, Reader
from app.types import RowKind, Rows

ROWS_MAX: Final = 8192
"""Rows that are taken, of the newest files."""


def is_recording(path: Path) -> bool:
    """Returns whether a path is a recording or a folder of such, and no file of arrays."""
    return path.is_dir() or path.suffix == SUFFIX


def recorded_samples(path: Path, spec: ModelSpec) -> Samples:
    """Returns the steps of recorded games, with their masks and recurrent states.

    Args:
      path: A recording, or a folder of which the newest files are taken.
      spec: Of the network.

    Raises:
      ExportError: There is no step, or it does not fit the network.
    """
    shards = [RecordingShard(file, {}) for file in recording_files(path)]
    if not shards:
        raise ExportError(f"{path} holds no recordings; allowed are .npz, .safetensors, and recorded games")
    found: list[Rows] = []
    missing = ROWS_MAX
    try:
        for _, rows in Reader("recordings", shards, fields_of(spec), Order()).trajectories():
            steps = np.flatnonzero(rows["kind"] == RowKind.STEP)[:missing]
            found.append({name: column[steps] for name, column in rows.items()})
            missing -= len(steps)
            if not missing:
                break
    except SourceError as error:
        raise ExportError(f"{path} cannot be compared on: {error}") from error
    whole = {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
    masks = [
        whole[name].astype(bool) if leaf.choices else None
        for name, leaf in zip(spec.actions.columns("action_mask"), spec.actions.leaves, strict=True)
    ]
    return Samples(
        [whole[name] for name in spec.inputs.columns("observation")],
        [whole[name] for name in spec.states.columns("state")],
        masks,
        recorded=True,
    )
