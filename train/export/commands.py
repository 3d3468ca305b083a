"""``sparring export`` and ``sparring verify``."""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from torch import nn

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError, ExportError
from app.home import state_root
from app.models.export.graph import export_graph
from app.models.export.precision import PRECISIONS, Precision, released
from app.models.export.release import Release, write_release
from app.models.export.report import Report, refuse_if_below
from app.models.export.report import verify as verify_graph
from app.models.export.samples import Samples, random_samples, read_samples
from app.models.module import build_module, spec_of, to_arrays
from app.models.onnx_file import OnnxFile
from app.stages import Stages
from app.stores.mlflow_reports import note_export
from app.stores.mlflow_store import tracking_uri
from train.export.recorded import is_recording, recorded_samples
from train.export.weights import Found, load_weights

RANDOM_ROWS: Final = 1024
"""Rows that a release is compared on where no observations are given."""

ConfigFile = Annotated[Path, typer.Option("--config", help="Config file.")]
Model = Annotated[str, typer.Option(help="Model of the config.")]
Version = Annotated[
    str | None, typer.Option(help="Number or alias of the registered model, such as 3 or champion; default: none.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(help="MLflow URI, clone, checkpoint or folder of a model, or: untrained; default: the config's."),
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replaces a config value; may be repeated.")
]
Calibration = Annotated[
    Path | None,
    typer.Option(help="Recorded games or their folder, .npz or .safetensors; default: random observations."),
]
Gate = Annotated[float, typer.Option(help="Smallest share of equal actions that is released.", min=0, max=1)]
Json = Annotated[bool, typer.Option("--json", help="Prints the report as JSON.")]


def export(
    config: ConfigFile,
    model: Model,
    out: Annotated[Path, typer.Option(help="Folder of the release; an older release there is replaced.")],
    version: Version = None,
    checkpoint: Checkpoint = None,
    precision: Annotated[str, typer.Option(help="fp32, fp16, int8 or int8-dynamic.")] = "fp32",
    calibration: Calibration = None,
    gate: Gate = 0.99,
    overrides: Overrides = None,
    json_: Json = False,
) -> None:
    """Writes a model as a folder that runs without Python, if it plays like its network.

    Raises:
      SparringError: The weights cannot be had, the network cannot be written, or the release is below the gate.
    """
    wanted = _precision(precision)
    with Stages() as stages:
        stages.tell(f"loading {model}")
        source = _source(config, model, version, checkpoint, overrides)
        asked = _asked(source.module, calibration)
        stages.tell(f"writing the graph, in {precision}")
        graph = source.module.graph if isinstance(source.module, OnnxFile) else export_graph(source.module)
        recorded = asked if asked.recorded else None
        proto = released(graph, to_arrays(source.module), spec_of(source.module), wanted, recorded)
        stages.tell("comparing it with the network")
        report = source.report(proto, asked, wanted, gate)
        _note(source, report)
    refuse_if_below(report)
    write_release(out, Release(proto, spec_of(source.module), report, asked))
    _tell(report, f"wrote {out}", json_=json_)


def verify(
    config: ConfigFile,
    model: Model,
    release: Annotated[Path, typer.Option(help="Folder that sparring export wrote.")],
    version: Version = None,
    checkpoint: Checkpoint = None,
    calibration: Calibration = None,
    gate: Gate = 0.99,
    overrides: Overrides = None,
    json_: Json = False,
) -> None:
    """Compares a release with its network, on other observations or against another gate.

    Raises:
      SparringError: The weights or the release cannot be had, or the release is below the gate.
    """
    with Stages() as stages:
        report = _verified(stages, config, model, release, version, checkpoint, calibration, gate, overrides)
    refuse_if_below(report)
    _tell(report, f"{release} plays like its network", json_=json_)


def _verified(
    stages: Stages,
    config: Path,
    model: str,
    release: Path,
    version: str | None,
    checkpoint: str | None,
    calibration: Path | None,
    gate: float,
    overrides: list[str] | None,
) -> Report:
    stages.tell(f"loading {model}")
    source = _source(config, model, version, checkpoint, overrides)
    try:
        proto = (release / "model.onnx").read_bytes()
        precision = _precision(str(json.loads((release / "report.json").read_text())["precision"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExportError(f"{release} is no release: {error}") from error
    stages.tell("comparing the release with the network")
    report = source.report(proto, _asked(source.module, calibration), precision, gate)
    _note(source, report)
    return report


@dataclass(frozen=True, slots=True)
class _Source:
    """The network that is exported, with its weights."""

    config: ExperimentConfig
    name: str
    module: nn.Module
    found: Found

    def report(self, proto: bytes, asked: Samples, precision: Precision, gate: float) -> Report:
        name = f"{self.config.run.project}.{self.name}"
        return verify_graph(self.module, proto, asked, precision, self.found.version, gate, name)


def _source(path: Path, name: str, version: str | None, checkpoint: str | None, overrides: list[str] | None) -> _Source:
    if version is not None and checkpoint is not None:
        raise ConfigError(f"--version is {version} and --checkpoint {checkpoint}; allowed is one of them")
    config = load(path, overrides or [])
    if name not in config.models:
        raise ConfigError(f"{path} has no model {name!r}; it has {', '.join(config.models) or 'none'}")
    own = config.models[name]
    module = build_module(own.factory, own.kwargs, config.run.seed).eval()
    if isinstance(module, OnnxFile):
        return _Source(config, name, module, Found("file", None))
    return _Source(config, name, module, load_weights(config, name, module, version, checkpoint))


def _asked(module: nn.Module, calibration: Path | None) -> Samples:
    spec = spec_of(module)
    if calibration is None:
        return random_samples(spec, RANDOM_ROWS, seed=0)
    return recorded_samples(calibration, spec) if is_recording(calibration) else read_samples(calibration, spec)


def _precision(text: str) -> Precision:
    for precision in PRECISIONS:
        if text == precision:
            return precision
    raise ConfigError(f"the precision is {text!r}; allowed are {', '.join(PRECISIONS)}")


def _note(source: _Source, report: Report) -> None:
    """Notes the report at the registered version, where the weights are one."""
    if source.found.registered is None:
        return
    root = state_root(source.config.run.project)
    uri = tracking_uri(source.config.tracking.mlflow_uri, root)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")
        note_export(uri, source.found.registered, report.precision, file, report.metrics(), passed=report.passed)


def _tell(report: Report, done: str, *, json_: bool) -> None:
    if json_:
        sys.stdout.write(json.dumps(report.as_dict()) + "\n")
        return
    sys.stdout.write(
        f"{done}: {report.model} {report.version} in {report.precision}, {report.bytes} bytes; equal actions on "
        f"{report.agreement:.2%} of {report.rows} {report.observations} observations, largest error "
        f"{report.max_abs_error:.3g}, of the value {report.value_error:.3g}\n"
    )
