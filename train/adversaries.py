"""The experts that the algorithms of a trainer imitate, and what tells their moves from the policy's."""

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from app.algorithms.adversarial import Adversary, Expert, make_discriminator
from app.algorithms.batch_columns import BatchColumns
from app.algorithms.normalising import observe
from app.config.algorithms import Gail
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig
from app.errors import SourceError
from app.models.spec import ModelSpec
from app.seeding import derive
from app.sources.batches import batches
from app.sources.opening import open_preprocess, open_reader
from app.types import RowKind, Rows

READ_ROWS: Final = 1024
"""Rows of a source that are read and preprocessed at a time."""


def check_adversaries(config: ExperimentConfig, trainer: TrainerConfig, spec: ModelSpec) -> None:
    """Does nothing where the first rows of each expert of a trainer can be learned from; the driver asks.

    Raises:
      SourceError: They cannot be read, or do not fit the model.
      PluginError: User code that a source names cannot be imported.
    """
    for wanted in _imitating(trainer).values():
        _expert(config, wanted.expert, spec, most_rows=1)


def load_adversaries(config: ExperimentConfig, trainer: TrainerConfig, spec: ModelSpec) -> dict[int, Adversary]:
    """Returns the experts of a trainer, and untrained discriminators, by the places of their inputs.

    All workers get the same.

    Args:
      config: With the components of its mode; paths of sources hold in this folder.
      trainer: Its config.
      spec: Shapes of the model that is trained.

    Raises:
      SourceError: Rows cannot be read, or do not fit the model.
      PluginError: User code that the config names cannot be imported.
    """
    found = {}
    for at, wanted in _imitating(trainer).items():
        expert = _expert(config, wanted.expert, spec, wanted.expert_rows)
        own = wanted.discriminator
        network = make_discriminator(own.factory, own.kwargs, spec, derive(config.run.seed, "discriminator", at))
        observe(network, expert.observation, torch.ones(len(expert.action[0])), lambda x: x)
        found[at] = Adversary(network, expert)
    return found


def _imitating(trainer: TrainerConfig) -> dict[int, Gail]:
    return {at: one.algorithm for at, one in enumerate(trainer.inputs) if isinstance(one.algorithm, Gail)}


def _expert(config: ExperimentConfig, source: str, spec: ModelSpec, most_rows: int) -> Expert:
    """Returns the first moves of a source, at most so many."""
    columns, parts, missing = BatchColumns(spec), [], most_rows
    for rows in _rows(config, source, spec):
        tensors = {name: torch.from_numpy(column) for name, column in rows.items()}
        counted = torch.nonzero((tensors["kind"] == RowKind.STEP) & (tensors["weight"] > 0)).squeeze(1)[:missing]
        parts.append(
            Expert(*([leaf[counted] for leaf in columns.leaves(tensors, part)] for part in ("observation", "action")))
        )
        missing -= len(counted)
        if not missing:
            break
    if missing == most_rows:
        raise SourceError(f"sources.{source} has no step that an expert did; allowed is at least one")
    return Expert(*(_joined([part[at] for part in parts]) for at in range(2)))


def _rows(config: ExperimentConfig, name: str, spec: ModelSpec) -> Iterator[Rows]:
    """Yields the rows of one epoch of a source."""
    once = config.sources[name].model_copy(update={"epochs": 1})
    config = config.model_copy(update={"sources": {**config.sources, name: once}})
    preprocess = open_preprocess(config, name, spec)
    for rows, _ in batches(open_reader(config, name, spec), READ_ROWS):
        yield rows if preprocess is None else preprocess(rows)


def _joined(parts: list[list[Tensor]]) -> list[Tensor]:
    return [torch.cat(leaves) for leaves in zip(*parts, strict=True)]
