"""A folder with a model that runs without Python: graph, description, samples and examples in C++ and C#."""

import json
import shutil
import uuid
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.errors import ExportError
from app.models.distributions.distribution import Distribution
from app.models.export.graph import Graph
from app.models.export.precision import Precision
from app.models.export.report import Report
from app.models.export.samples import Samples
from app.models.onnx_names import input_names, output_names
from app.models.onnx_session import OnnxSession
from app.models.spec import ArraySpec, ModelSpec

SCHEMA_VERSION: Final = 1
SAMPLE_ROWS: Final = 5
TOLERANCES: Final[dict[Precision, float]] = {"fp32": 1e-4, "fp16": 1e-2, "int8": 5e-2, "int8-dynamic": 5e-2}
"""Errors that the examples allow beside outputs of size 1: processors add and round 16 and 8 bits differently."""
EXAMPLES: Final = ("example.cpp", "CMakeLists.txt", "onnxruntime", "csharp")


@dataclass(frozen=True, slots=True)
class Release:
    """What is written."""

    proto: bytes
    """The graph."""
    spec: ModelSpec
    report: Report
    asked: Samples
    """Rows whose first few become the samples."""


def write_release(folder: Path, release: Release) -> None:
    """Writes a release: whole, or not at all; one that stands there is replaced.

    Raises:
      ExportError: The folder holds something else, or cannot be written.
    """
    if folder.exists() and not (folder / "spec.json").is_file() and any(folder.iterdir()):
        raise ExportError(f"{folder} holds files that are no release; give an empty or a new folder")
    unfinished = folder.with_name(f".{folder.name}.unfinished-{uuid.uuid4().hex[:8]}")
    try:
        unfinished.mkdir(parents=True)
        _write(unfinished, release)
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.replace(folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def describe(release: Release) -> dict[str, Any]:
    """Returns what ``spec.json`` says: names, shapes, dtypes and bounds of inputs and outputs, and the actions."""
    spec, report = release.spec, release.report
    observed = release.asked if release.asked.recorded else None
    leaves = (*spec.inputs.leaves, *spec.states.leaves)
    arrays = (*release.asked.inputs, *release.asked.states)
    inputs = [
        _port(name, leaf) | {"kind": "observation" if at < len(spec.inputs) else "state"}
        | ({"observed": _range(array)} if observed else {})
        for at, (name, leaf, array) in enumerate(zip(input_names(spec), leaves, arrays, strict=True))
    ]  # fmt: skip
    outputs = [
        _port(name, leaf)
        for name, leaf in zip(output_names(spec), (*spec.answers.leaves, *spec.states.leaves), strict=True)
    ]
    carried = zip(spec.states.columns("next_state"), spec.states.columns("state"), strict=True)
    return {
        "schema_version": SCHEMA_VERSION,
        "model": report.model,
        "version": report.version,
        "precision": report.precision,
        "inputs": inputs,
        "outputs": outputs,
        "actions": [
            _action(path, name, leaf)
            for path, name, leaf in zip(
                spec.actions.paths, spec.actions.columns("dist_inputs"), spec.actions.leaves, strict=True
            )
        ],
        "state": {following: before for following, before in carried},  # noqa: C416  # Reads as what it is.
    }


def _write(folder: Path, release: Release) -> None:
    (folder / "model.onnx").write_bytes(release.proto)
    (folder / "spec.json").write_text(json.dumps(describe(release), indent=2) + "\n")
    (folder / "report.json").write_text(json.dumps(release.report.as_dict(), indent=2) + "\n")
    _write_samples(folder / "samples", release)
    with as_file(files("app.models.export") / "native") as native:
        for name in EXAMPLES:
            source = native / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)


def _write_samples(folder: Path, release: Release) -> None:
    folder.mkdir()
    asked = release.asked.head(SAMPLE_ROWS)
    session = OnnxSession(Graph(release.proto, ()), release.spec)
    outputs, states = session.run(asked.inputs, asked.states)
    tolerance = TOLERANCES[release.report.precision]
    given = zip(input_names(release.spec), (*asked.inputs, *asked.states), strict=True)
    wanted = zip(output_names(release.spec), (*outputs, *states), strict=True)
    listed = {
        "rows": asked.rows,
        "tolerance": tolerance,
        "inputs": [_write_array(folder, f"input_{at}.bin", name, x) for at, (name, x) in enumerate(given)],
        "outputs": [_write_array(folder, f"output_{at}.bin", name, x) for at, (name, x) in enumerate(wanted)],
    }
    (folder / "samples.json").write_text(json.dumps(listed, indent=2) + "\n")
    np.array([tolerance], "<f4").tofile(folder / "tolerance.bin")


def _write_array(folder: Path, file: str, name: str, array: NDArray[np.generic]) -> dict[str, Any]:
    np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tofile(folder / file)
    return {"file": file, "name": name, "shape": list(array.shape), "dtype": array.dtype.name}


def _port(name: str, leaf: ArraySpec) -> dict[str, Any]:
    """Returns a port's description; its shape begins with the free batch axis."""
    return {"name": name, "shape": ["batch", *leaf.shape], "dtype": leaf.dtype} | _bounds(np.dtype(leaf.dtype))


def _bounds(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Returns the bounds of a dtype; null where any finite number may stand."""
    if dtype.kind == "b":
        return {"low": 0, "high": 1}
    if dtype.kind in "iu":
        return {"low": int(np.iinfo(dtype).min), "high": int(np.iinfo(dtype).max)}
    return {"low": None, "high": None}


def _range(array: NDArray[np.generic]) -> dict[str, float]:
    return {"low": float(array.min()), "high": float(array.max())}


def _action(path: str, name: str, leaf: Distribution) -> dict[str, Any]:
    return {
        "name": path,
        "distribution": type(leaf).__name__,
        "inputs": name,
        "shape": list(leaf.shape),
        "dtype": leaf.dtype,
        "choices": leaf.choices,
    }
