"""What RLlib's offline writers leave: JSON lines of SampleBatches, and Parquet tables of steps or of episodes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np

from app.errors import SourceError
from app.sources.episodes import episodes
from app.sources.formats.jsonl import lines
from app.sources.formats.parquet import columns, record_batches
from app.sources.stored import Columns, FileShard, Stored, as_array, flat, renamed

FIELDS: Final = {
    "observation": "obs",
    "next_observation": "new_obs",
    "action": "actions",
    "reward": "rewards",
    "terminated": "terminateds",
    "truncated": "truncateds",
    "log_prob": "action_logp",
    "value": "vf_preds",
    "episode": "eps_id",
}
PACKED: Final = "item"
"""Column that holds whole episodes as msgpack."""


@dataclass(frozen=True, slots=True)
class RllibShard(FileShard):
    """One file; its name tells JSON from Parquet."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the episodes of the file; parts of one that are not neighbours are trajectories of their own."""
        names = {**FIELDS, **self.fields}
        if self.path.suffix == ".json":
            return episodes(_sample_batches(self.path, names), str(self.path))
        return _tables(self.path, names)


def _tables(path: Path, names: Mapping[str, str]) -> Iterator[Stored]:
    batches = record_batches(path)
    first = next(batches, None)
    if first is None:
        return
    if PACKED in first.schema.names:
        yield from _packed_episodes(path, names, (first, *batches))
        return
    tables = (columns(batch, names, str(path)) for batch in _again(first, batches))
    yield from episodes(tables, str(path))


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _sample_batches(path: Path, names: Mapping[str, str]) -> Iterator[Columns]:
    for where, line in lines(path):
        batch = line
        if isinstance(line, dict) and line.get("type") == "MultiAgentBatch":
            policies = line["policy_batches"]
            if len(policies) != 1:
                raise SourceError(
                    f"{where}: got batches of {', '.join(sorted(policies))}; allowed is one policy a file"
                )
            batch = next(iter(policies.values()))
        if not isinstance(batch, dict) or "rewards" not in batch:
            raise SourceError(f"{where}: got no SampleBatch; allowed is what RLlib's JsonWriter writes")
        wanted = {stored.partition("/")[0] for stored in names.values()}
        given = {name: value for name, value in batch.items() if name in wanted}
        packed = [name for name, value in given.items() if isinstance(value, str)]
        if packed:
            raise SourceError(
                f"{where}: {', '.join(packed)} are compressed, which needs pickle; allowed is "
                "config.offline_data(output_compress_columns=[])"
            )
        arrays = {name: as_array(value, where, name) for name, value in flat(given).items()}
        yield renamed(arrays, names)


def _packed_episodes(path: Path, names: Mapping[str, str], batches: Any) -> Iterator[Stored]:
    number = 0
    for batch in batches:
        for item in batch.column(batch.schema.get_field_index(PACKED)).to_pylist():
            where = f"{path}, episode {number}"
            state = _unpacked(item, where)
            outputs = state.get("extra_model_outputs") or {}
            given = {
                "obs": _values(state["observations"]),
                "actions": _values(state["actions"]),
                "rewards": _values(state["rewards"]),
                **{name: _values(outputs[name]) for name in ("action_logp", "vf_preds") if outputs.get(name)},
            }
            arrays = {name: as_array(value, where, name) for name, value in flat(given).items()}
            ends = {"terminateds": [state["is_terminated"]], "truncateds": [state["is_truncated"]]}
            yield Stored(renamed(arrays | {k: np.array(v) for k, v in ends.items()}, names), where)
            number += 1


def _unpacked(item: object, where: str) -> dict[str, Any]:
    try:
        state = msgpack.unpackb(item, object_hook=_array, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise SourceError(f"{where}: {error}; allowed is the state of a SingleAgentEpisode as msgpack") from error
    if not isinstance(state, dict) or not {"observations", "actions", "rewards"} <= state.keys():
        raise SourceError(f"{where}: got no state of a SingleAgentEpisode")
    return state


def _array(value: dict[Any, Any]) -> Any:
    """Returns what msgpack-numpy made a mapping of; arrays of objects are pickled, and not read."""
    is_array = value.get(b"nd", value.get("nd"))
    if is_array is None:
        return value
    parts = {name: value.get(name.encode(), value.get(name)) for name in ("kind", "type", "shape", "data")}
    if parts["kind"] in (b"O", "O"):
        return None
    array = np.frombuffer(parts["data"] or b"", np.dtype(parts["type"]))
    return array.reshape(parts["shape"]) if is_array else array[0]


def _values(buffer: dict[str, Any]) -> Any:
    """Returns what an InfiniteLookbackBuffer holds without what came before the episode."""
    data, before = buffer["data"], int(buffer["lookback"])
    if isinstance(data, dict):
        return {name: column[before:] for name, column in flat(data).items()}
    rows = data[before:]
    if len(rows) and isinstance(rows[0], dict):
        parts = [flat(row) for row in rows]
        return {name: [part[name] for part in parts] for name in parts[0]}
    return rows
