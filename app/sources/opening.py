"""From the config of a source to its reader."""

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from app.config.root import ExperimentConfig
from app.config.sources import FactorySource, FileSource, Source
from app.errors import SourceError
from app.models.spec import ModelSpec
from app.sources.fitting import fields_of
from app.sources.formats.factory import factory_shards
from app.sources.formats.jsonl import JsonlShard
from app.sources.formats.minari import MinariShard
from app.sources.formats.npz import NpzShard
from app.sources.formats.parquet import ParquetShard
from app.sources.formats.recordings import RecordingShard
from app.sources.formats.rllib import RllibShard
from app.sources.position import Past
from app.sources.preprocess import Preprocess
from app.sources.reader import Order, Reader
from app.sources.stored import Shard

FORMATS: Final[Mapping[str, tuple[Callable[[Path, Mapping[str, str]], Shard], tuple[str, ...]]]] = {
    "parquet": (ParquetShard, ("parquet",)),
    "recordings": (RecordingShard, ("parquet",)),
    "jsonl": (JsonlShard, ("jsonl",)),
    "npz": (NpzShard, ("npz",)),
    "rllib": (RllibShard, ("json", "parquet")),
    "minari": (MinariShard, ("hdf5", "h5")),
}
"""How the files of each kind are read, and the endings by which they are found in folders."""


def open_reader(
    config: ExperimentConfig, name: str, spec: ModelSpec, *, rank: int = 0, ranks: int = 1, past: Past = ()
) -> Reader:
    """Returns what one of ``ranks`` workers trains on.

    Args:
      config: With the source.
      name: Of the source.
      spec: Of the model.
      rank: Of the worker.
      ranks: How many there are.
      past: Where workers of another number have stopped.

    Raises:
      SourceError: There is no such file, or the factory gives nothing.
      PluginError: The factory cannot be imported.
    """
    return _reader(config, name, spec, Order(config.sources[name].epochs, rank=rank, ranks=ranks, past=past))


class SetAside(NamedTuple):
    """What a source is evaluated on."""

    reader: Reader
    """Reads it once, from start to end."""
    preprocess: Preprocess | None
    """Turns its batches as stored into those of the model; None where they are."""


def open_held_out(config: ExperimentConfig, name: str, spec: ModelSpec) -> SetAside | None:
    """Returns what a source is evaluated on; None where nothing is set aside.

    Another source that it names is read and preprocessed as that one's config says.

    Raises:
      SourceError: There is no such file, or the factory gives nothing.
      PluginError: A factory or function cannot be imported.
    """
    source = config.sources[name]
    if source.held_out_source is not None:
        other = source.held_out_source
        return SetAside(_reader(config, other, spec, Order()), open_preprocess(config, other, spec))
    if not source.held_out_share:
        return None
    return SetAside(_reader(config, name, spec, Order(part="held_out")), open_preprocess(config, name, spec))


def open_preprocess(config: ExperimentConfig, name: str, spec: ModelSpec) -> Preprocess | None:
    """Returns what turns a source's batches as stored into those of the model; None where they are.

    Raises:
      PluginError: There is no such function.
    """
    path = config.sources[name].preprocess
    return None if path is None else Preprocess(name, path, fields_of(spec))


def located(config: ExperimentConfig, folder: Path) -> ExperimentConfig:
    """Returns a config whose sources are found from any folder.

    Args:
      config: Config.
      folder: Where relative paths begin.
    """
    return config.model_copy(update={"sources": {name: absolute(one, folder) for name, one in config.sources.items()}})


def absolute(source: Source, folder: Path) -> Source:
    """Returns a source whose files are found from any folder.

    Args:
      source: Its config.
      folder: Where relative paths begin.
    """
    if not isinstance(source, FileSource):
        return source
    paths = (source.path,) if isinstance(source.path, str) else source.path
    return source.model_copy(update={"path": tuple(str(folder / Path(path).expanduser()) for path in paths)})


def shards_of(name: str, source: Source) -> Sequence[Shard]:
    """Returns the shards of a source, files in the order of their names.

    Raises:
      SourceError: There is no such file, or the factory gives nothing.
      PluginError: The factory cannot be imported.
    """
    if isinstance(source, FactorySource):
        return factory_shards(source.factory, source.kwargs, source.fields)
    make, endings = FORMATS[source.kind]
    patterns = (source.path,) if isinstance(source.path, str) else source.path
    return [make(path, source.fields) for pattern in patterns for path in _files(name, pattern, endings)]


def _reader(config: ExperimentConfig, name: str, spec: ModelSpec, order: Order) -> Reader:
    source = config.sources[name]
    shuffle = source.shuffle if order.part == "train" else None
    arranged = replace(
        order,
        window=None if shuffle is None else shuffle.window,
        seed=config.run.seed if shuffle is None or shuffle.seed is None else shuffle.seed,
        held_out_share=source.held_out_share,
    )
    fields = None if source.preprocess else fields_of(spec)
    return Reader(name, shards_of(name, source), fields, arranged)


def _files(name: str, pattern: str, endings: tuple[str, ...]) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        found = [file for ending in endings for file in path.rglob(f"*.{ending}")]
        looked_for = f"{path}/**/*.{{{','.join(endings)}}}"
    else:
        found = [Path(file) for file in glob.glob(str(path), recursive=True)]  # Patterns may be absolute.
        looked_for = str(path.absolute())
    if not found:
        raise SourceError(f"sources.{name}.path: there is no file {looked_for}; allowed are files, folders, patterns")
    return sorted(found)
