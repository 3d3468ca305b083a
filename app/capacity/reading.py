"""Reads what ``sparring bench`` printed into typed figures."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.capacity.measured import DecisionFigures, LearnerRate, Measured, PublishTime, RemoteFigures, RowCase, TickCell
from app.errors import PlanError

_MIB: Final = 2**20

_USED: Final = frozenset(
    ("cpu_us", "limit_engine_cpu_us", "limit_engine_one_by_one_cpu_us", "observations_per_s", "caller_cpu_us",
     "samples_per_s", "rows_per_s", "cpu_us_per_row", "whole_ms")
)  # fmt: skip
"""Figures that a plan is made of."""

Line = Mapping[str, Any]
"""One JSON line of a benchmark."""


def read_measured(paths: Sequence[Path]) -> Measured:
    """Returns the figures of all files, each with a JSON line of ``sparring bench NAME --json`` a line.

    Where two lines hold the same figure, the later one counts.

    Raises:
      PlanError: A file cannot be read, a line is not what a benchmark prints, or the machines differ.
    """
    return measured_of([line for path in paths for line in _lines(path)])


def measured_of(lines: Sequence[Line]) -> Measured:
    """Returns the figures of the lines.

    Raises:
      PlanError: The lines were measured on different machines, or lack what their benchmark prints.
    """
    machines = sorted({str(line.get("machine", "unknown")) for line in lines})
    if len(machines) > 1:
        raise PlanError(
            f"the figures were measured on machines with {' and '.join(machines)}: they cannot be added; allowed are "
            "lines of one machine"
        )
    by_name: dict[str, list[Line]] = {}
    for line in lines:
        by_name.setdefault(str(line["bench"]), []).append(line)
    try:
        return _measured(by_name, machines)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(f"a line of sparring bench lacks what it should hold: {error!r}") from error


def _measured(by_name: Mapping[str, Sequence[Line]], machines: Sequence[str]) -> Measured:
    ticks, asked = by_name.get("ticks", ()), _merged(by_name.get("inference", ()))
    stream, learner = _merged(by_name.get("buffer", ())), _merged(by_name.get("learner", ()))
    rest = _merged(ticks)
    return Measured(
        machine=machines[0] if machines else "",
        cells=tuple(_cell(cell) for line in ticks for cell in line.get("cells", ()) if "cpu_us" in cell),
        cartpole=tuple(_cell({"body_bytes": 0, **cell}) for cell in rest.get("cartpole", ()) if "cpu_us" in cell),
        forwarded_us=_forwarded(rest.get("forwarded")),
        session_kib=None if "memory" not in rest else float(rest["memory"]["kib_per_idle_session"]),
        decisions={name: _decision(asked[f"local_{name}"]) for name in ("mlp", "cnn") if f"local_{name}" in asked},
        remote=None if "remote_mlp" not in asked else _remote(asked["remote_mlp"]["direct"]),
        learners=tuple(_learners(learner)),
        learner_mb=None if "mb" not in learner else float(learner["mb"]),
        rows=tuple(_rows(case) for case in stream.get("rows", ())),
        push_us=None if "push" not in stream else _median(stream["push"]["cpu_us_per_row"]),
        publishes=tuple(
            PublishTime(float(size["mb"]), _median(size["reach_ms"]), _median(size["whole_ms"]))
            for size in _merged(by_name.get("publish", ())).get("sizes", ())
        ),
        unsteady=tuple(sorted(set(_unsteady([(name, line) for name, lines in by_name.items() for line in lines])))),
    )


def _lines(path: Path) -> Iterator[Line]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or "bench" not in found:
            raise PlanError(
                f"{path}:{number}: got {line[:60]!r}, allowed is a line that sparring bench NAME --json printed"
            )
        yield found


def _merged(lines: Iterable[Line]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for line in lines:
        merged.update(line)
    return merged


def _median(figure: Mapping[str, Any]) -> float:
    return float(figure["median"])


def _cell(cell: Line) -> TickCell:
    return TickCell(str(cell["transport"]), int(cell["connections"]), int(cell["body_bytes"]), _median(cell["cpu_us"]))


def _forwarded(found: Line | None) -> float | None:
    if found is None or "cpu_us" not in found["forwarded"]:
        return None
    return max(0.0, _median(found["forwarded"]["cpu_us"]) - _median(found["direct"]["cpu_us"]))


def _decision(found: Line) -> DecisionFigures:
    one = found.get("limit_engine_one_by_one_cpu_us")
    return DecisionFigures(
        full_us=_median(found["cpu_us"]),
        batched_us=_median(found["limit_engine_cpu_us"]),
        alone_us=None if one is None else _median(one),
    )


def _remote(found: Line) -> RemoteFigures:
    return RemoteFigures(_median(found["observations_per_s"]), _median(found["caller_cpu_us"]))


def _learners(found: Line) -> Iterator[LearnerRate]:
    for group in found.get("workers", ()):
        for each in group["strategies"]:
            yield LearnerRate(str(each["strategy"]), int(group["workers"]), _median(each["samples_per_s"]))


def _rows(case: Line) -> RowCase:
    rate = _median(case["rows_per_s"])
    return RowCase(float(case["mb_per_s"]) * _MIB / rate, rate, _median(case["cpu_us_per_row"]))


def _unsteady(found: Sequence[tuple[str, object]]) -> Iterator[str]:
    """Yields the names of used figures whose spread was too large, as ``bench.key.key``."""
    for name, value in found:
        if isinstance(value, Mapping):
            if value.get("measured") is False and name.rpartition(".")[2] in _USED:
                yield name
            yield from _unsteady([(f"{name}.{key}", part) for key, part in value.items()])
        elif isinstance(value, list):
            yield from _unsteady([(name, part) for part in value])
