"""``sparring bench inference``: what a decision costs, next to the engine called directly in the same run."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnxruntime
import torch
import uvloop
from torch import nn

from app.errors import SparringError
from app.models.module import build_module, spec_of
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.types import Arrays, Version
from train.bench.asking import Asked, ask, ask_batches, call, observations_of
from train.bench.cells import WINDOWS_MIN
from train.bench.machine import on_this_machine
from train.bench.remote_model import remote_windows
from train.bench.statistics import Figure, figure
from train.launch.stopping import Stopper

SESSIONS: Final = 32
MLP: Final = "train.bench.networks:mlp"
CNN: Final = "train.bench.networks:cnn"
CPU_US_MAX: Final = 60.0
"""Target: CPU microseconds of one decision of the small network, in the actor's process."""
HANDLE_PER_S_MIN: Final = 4_500.0
"""Target: observations a second over Serve's handle."""
DIRECT_PER_S_MIN: Final = 12_000.0
"""Target: observations a second over the model's own connections."""
SHARE_MIN: Final = 0.9
"""Target: share of the bare engine in the time of a large network's decisions."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    windows: int = 5
    seconds: float = 1.0
    """Length of a window."""
    local: bool = True
    remote: bool = True


def inference(plan: Plan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what decisions cost.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: The service cannot be started.
      InterruptedLaunchError: The user has asked to stop.
    """
    torch.set_num_threads(1)
    return on_this_machine("inference", lambda: _measure(plan, stopper, say))


def _measure(plan: Plan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    result: dict[str, object] = {"sessions": SESSIONS, "windows": plan.windows, "window_s": plan.seconds}
    if plan.local:
        say("the small network in this process")
        result["local_mlp"] = _local_mlp(plan, stopper)
        say("the large network in this process")
        result["local_cnn"] = _local_cnn(plan, stopper)
    if plan.remote:
        say("starting a service with a remote model")
        result["remote_mlp"] = _remote_mlp(plan, stopper, say)
    return result


def _local_mlp(plan: Plan, stopper: Stopper) -> dict[str, object]:
    module = build_module(MLP, {}, 0)
    model = LocalModel(TorchEngine(module), _nothing_kept)
    (batch,) = observations_of(model.spec, SESSIONS)
    bare, session = _bare_torch(module, batch), _ort(module)
    paths: dict[str, Callable[[], Asked]] = {
        "full_path": lambda: uvloop.run(ask(model, SESSIONS, plan.seconds)),
        "engine": lambda: call(lambda: model.engine.forward([batch], [], None), SESSIONS, plan.seconds),
        "engine_one_by_one": lambda: call(lambda: model.engine.forward([batch[:1]], [], None), 1, plan.seconds),
        "torch_micro_batched": lambda: call(bare, SESSIONS, plan.seconds),
        "ort_one_by_one": lambda: call(lambda: session.run(None, {"observation": batch[:1]}), 1, plan.seconds),
        "ort_micro_batched": lambda: call(lambda: session.run(None, {"observation": batch}), SESSIONS, plan.seconds),
    }
    figures = {name: figure(values) for name, values in _windows(paths, plan, stopper).items()}
    full = figures["full_path"]
    return {
        "cpu_us": full.as_dict(),
        "target_cpu_us": CPU_US_MAX,
        "reached": _measured([full], plan) and full.median <= CPU_US_MAX,
        **{f"limit_{name}_cpu_us": found.as_dict() for name, found in figures.items() if name != "full_path"},
        "ratio": round(full.median / figures["engine"].median, 2),
    }


def _local_cnn(plan: Plan, stopper: Stopper) -> dict[str, object]:
    model = LocalModel(TorchEngine(build_module(CNN, {}, 0)), _nothing_kept)
    batch = observations_of(model.spec, SESSIONS)
    paths: dict[str, Callable[[], Asked]] = {
        "full_path": lambda: uvloop.run(ask(model, SESSIONS, plan.seconds)),
        "batch": lambda: uvloop.run(ask_batches(model, SESSIONS, plan.seconds)),
        "engine": lambda: call(lambda: model.engine.forward(batch, [], None), SESSIONS, plan.seconds),
        "one_by_one": lambda: call(
            lambda: model.engine.forward([leaf[:1] for leaf in batch], [], None), 1, plan.seconds
        ),
    }
    found = _windows(paths, plan, stopper)
    full, whole_batches, engine = found["full_path"], found["batch"], found["engine"]
    share = figure([bare / whole for bare, whole in zip(engine, full, strict=True)])
    share_of_batches = figure([bare / whole for bare, whole in zip(engine, whole_batches, strict=True)])
    return {
        "cpu_us": figure(full).as_dict(),
        "batch_cpu_us": figure(whole_batches).as_dict(),
        "limit_engine_cpu_us": figure(engine).as_dict(),
        "limit_engine_one_by_one_cpu_us": figure(found["one_by_one"]).as_dict(),
        "share_of_engine": share.as_dict(),
        "batch_share_of_engine": share_of_batches.as_dict(),
        "target_share": SHARE_MIN,
        "reached": _measured([share], plan) and share.median >= SHARE_MIN,
        "batch_reached": _measured([share_of_batches], plan) and share_of_batches.median >= SHARE_MIN,
    }


def _remote_mlp(plan: Plan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    windows = remote_windows(MLP, SESSIONS, plan.windows, plan.seconds, stopper, say)
    targets = {"handle": HANDLE_PER_S_MIN, "direct": DIRECT_PER_S_MIN}
    result: dict[str, object] = {}
    for channel, found in windows.items():
        rate = figure([one.per_s for one in found])
        latencies = np.concatenate([np.array(one.latencies_s) for one in found])
        result[channel] = {
            "observations_per_s": rate.as_dict(),
            "target_per_s": targets[channel],
            "reached": _measured([rate], plan) and rate.median >= targets[channel],
            "caller_cpu_us": figure([one.cpu_us for one in found]).as_dict(),
            "p50_ms": round(1e3 * float(np.percentile(latencies, 50)), 3),
            "p99_ms": round(1e3 * float(np.percentile(latencies, 99)), 3),
        }
    medians = [figure([one.per_s for one in windows[channel]]).median for channel in ("direct", "handle")]
    return result | {"ratio": round(medians[0] / medians[1], 2)}


def _windows(paths: dict[str, Callable[[], Asked]], plan: Plan, stopper: Stopper) -> dict[str, list[float]]:
    """Returns the CPU time of one observation on each path, measured by turns."""
    found: dict[str, list[float]] = {name: [] for name in paths}
    for path in paths.values():
        path()  # The first calls of a network plan and allocate.
    for _ in range(plan.windows):
        for name, path in paths.items():
            stopper.check()
            found[name].append(path().cpu_us)
    return found


def _measured(figures: Sequence[Figure], plan: Plan) -> bool:
    return plan.windows >= WINDOWS_MIN and all(found.measured for found in figures)


def _bare_torch(module: nn.Module, batch: "np.typing.NDArray[np.generic]") -> Callable[[], object]:
    def forward() -> object:
        with torch.inference_mode():
            output = module(torch.from_numpy(batch))
            return output.dist_inputs.numpy(), output.value.numpy()

    return forward


def _ort(module: nn.Module) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    exported: Any = io.BytesIO()  # The older exporter takes it, whatever its annotation says.
    example = torch.zeros(2, *spec_of(module).inputs.leaves[0].shape)
    torch.onnx.export(
        module, (example,), exported, dynamo=False,
        input_names=["observation"], output_names=["logits", "value"],
        dynamic_axes={name: {0: "batch"} for name in ("observation", "logits", "value")},
    )  # fmt: skip
    return onnxruntime.InferenceSession(exported.getvalue(), options, providers=["CPUExecutionProvider"])


async def _nothing_kept(version: Version) -> Arrays:
    raise SparringError(f"a benchmark keeps no older weights, asked for {version}")
