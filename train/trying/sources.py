"""``sparring try source``: some batches of a source are read, fitted to a model and looked at."""

import time
from itertools import islice

import numpy as np

from app.config.root import ExperimentConfig
from app.config.sources import FactorySource
from app.errors import SparringError
from app.models.module import build_module, spec_of
from app.sources.batches import batches
from app.sources.opening import open_preprocess, open_reader
from app.types import RowKind, Rows
from train.trying.report import Report, told
from train.trying.wanted import TRIED, found, is_path, with_model


def try_source(
    config: ExperimentConfig, name: str, model: str | None = None, rows: int = 1024, count: int = 4
) -> Report:
    """Returns columns, returns, lengths and speed of the first batches.

    Args:
      config: With the source.
      name: Of it, or an import path of a factory.
      model: Whose shapes its rows must have, or an import path; None: who is trained on it, or the only one.
      rows: Of a batch.
      count: How many batches.

    Raises:
      ConfigError: There is no such source or model.
    """
    key = name
    if is_path(name):
        key = TRIED
        config = config.model_copy(update={"sources": {**config.sources, key: FactorySource(factory=name)}})
    found("source", config.sources, key)
    config, used = with_model(config, model or _trained_on(config, key))
    began_s = time.perf_counter()
    try:
        spec = spec_of(build_module(config.models[used].factory, config.models[used].kwargs, config.run.seed))
        preprocess = open_preprocess(config, key, spec)
        read = [batch.rows for batch in islice(batches(open_reader(config, key, spec), rows), count)]
        read = read if preprocess is None else [preprocess(batch) for batch in read]
    except Exception as error:  # noqa: BLE001  # The user's factory may raise anything.
        return Report(f"source {name}", {}, (str(error) if isinstance(error, SparringError) else told(error),))
    whole = {column: np.concatenate([batch[column] for batch in read]) for column in read[0]}
    seconds = time.perf_counter() - began_s
    facts = {**_facts(whole), "rows_per_s": round(len(whole["kind"]) / seconds, 1)}
    return Report(f"source {name}", facts, tuple(_problems(whole)))


def _trained_on(config: ExperimentConfig, source: str) -> str | None:
    models = [one.model for one in config.trainers.values() if any(part.source == source for part in one.inputs)]
    return models[0] if models else None


def _facts(rows: Rows) -> dict[str, object]:
    steps, ends = rows["kind"] == RowKind.STEP, rows["kind"] == RowKind.TERMINATED
    return {
        "columns": {name: f"{column.dtype} {list(column.shape[1:])}" for name, column in rows.items()},
        "rows": len(rows["kind"]),
        "steps": int(steps.sum()),
        "terminated": int(ends.sum()),
        "reward_mean": round(float(rows["reward"][steps].mean()), 4) if steps.any() else None,
        **{f"{name}_values": _values(rows[name][steps]) for name in rows if name.split("/")[0] == "action"},
    }


def _values(column: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> object:
    """Returns how often each choice was taken, or the range of numbers."""
    if column.dtype.kind in "iu" and column.ndim == 1:
        values, counts = np.unique(column, return_counts=True)
        return {str(value): int(count) for value, count in zip(values, counts, strict=True)}
    return [round(float(column.min()), 4), round(float(column.max()), 4)] if column.size else None


def _problems(rows: Rows) -> list[str]:
    bad = [name for name, column in rows.items() if column.dtype.kind == "f" and not np.isfinite(column).all()]
    problems = [f"column {name} holds NaN or infinity" for name in bad]
    return problems if rows["weight"].any() else [*problems, "no row has a weight: nothing can be learned"]
