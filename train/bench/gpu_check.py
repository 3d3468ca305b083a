"""``sparring gpu-check``: whether a machine's GPU does what the product asks of it, in under ten minutes."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Final, Literal

import torch

from app.config.training import TrainerConfig
from train.bench.gpu_inference import onnx_rate, torch_rate
from train.bench.learner_steps import EPOCHS, product, trainer
from train.strategies.strategy import Place

TOTAL_S: Final = 540.0
"""Parts that would begin later are left out: the whole stays under ten minutes."""
ROWS: Final = 4096
"""Rows of a batch."""
SIZE_MB: Final = 16.0
"""Weights: enough for the card to matter."""
SHARE_TIMEOUT_S: Final = 120.0
"""Longest run of the process that answers while another learns."""

Outcome = Literal["ok", "failed", "left out"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One row of the table."""

    name: str
    outcome: Outcome
    told: str
    """A figure, or why there is none."""


class LeftOutError(Exception):
    """A part cannot be checked here; the message says why."""


def gpu_problem() -> str | None:
    """Returns why there is nothing to check; None where there is a GPU."""
    if torch.cuda.is_available() and torch.cuda.device_count():
        return None
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    return "torch sees no GPU"


def checks(device: torch.device, seconds: float) -> list[tuple[str, Callable[[], str]]]:
    """Returns what is checked, in order, each a function that returns a figure.

    Args:
      device: The card.
      seconds: Length of each measurement.
    """
    gpus = 1 if device.type == "cuda" else 0
    learn = partial(learning, device=device, seconds=seconds)
    parts: list[tuple[str, Callable[[], str]]] = [
        ("training step, fp32", lambda: learn(_config({}, gpus))),
        ("training step, bf16", lambda: learn(_config({}, gpus, "bf16"))),
        ("training step, fp16", lambda: learn(_config({}, gpus, "fp16"))),
    ]
    for stage, offload in ((2, False), (3, False), (3, True)):
        name = f"deepspeed, stage {stage}" + (", offload" if offload else "")
        strategy = {"kind": "deepspeed", "stage": stage, "offload": offload}
        parts.append((name, partial(_deepspeed, strategy, gpus, learn)))
    return [
        *parts,
        ("local_multi_gpu", lambda: _local(learn)),
        ("inference, torch", lambda: _told("decisions", torch_rate(SIZE_MB, device, seconds))),
        ("inference, ONNX Runtime", lambda: _onnx(device, seconds)),
        ("learner and inference on one card", lambda: sharing(device, seconds)),
    ]


def run_checks(parts: Sequence[tuple[str, Callable[[], str]]], clock_s: Callable[[], float]) -> list[Checked]:
    """Returns a row for each part; one that fails does not keep the others from being checked."""
    began_s, rows = clock_s(), []
    for name, part in parts:
        if clock_s() - began_s > TOTAL_S:
            rows.append(Checked(name, "left out", "the time is up"))
            continue
        try:
            rows.append(Checked(name, "ok", part()))
        except LeftOutError as error:
            rows.append(Checked(name, "left out", str(error)))
        except Exception as error:  # noqa: BLE001  # Whatever a driver raises is what is asked for.
            rows.append(Checked(name, "failed", f"{type(error).__name__}: {error}"))
    return rows


def learning(config: TrainerConfig, device: torch.device, seconds: float) -> str:
    """Returns how many samples a second a trainer learns from; a sample is a row in one pass."""
    return _told("samples", _learning_rate(config, device, seconds))


def sharing(device: torch.device, seconds: float) -> str:
    """Returns the rates of a learner here and of a process that answers, at once and on the same device."""
    command = [sys.executable, "-m", "train.bench.gpu_inference", str(device), str(SIZE_MB), str(seconds)]
    alone = torch_rate(SIZE_MB, device, seconds)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:  # noqa: S603
        try:
            if other.stdout is None or other.stdout.readline().strip() != "ready":
                raise RuntimeError("the process that answers has not started")
            _begin(other)
            learned = _learning_rate(_config({}, 1 if device.type == "cuda" else 0), device, seconds)
            answered = float(other.communicate(timeout=SHARE_TIMEOUT_S)[0])
        finally:
            other.kill()
    return f"{_told('samples', learned)}, {_told('decisions', answered)} ({answered / alone:.0%} of alone)"


def _begin(other: "subprocess.Popen[str]") -> None:
    if other.stdin is not None:
        other.stdin.write("begin\n")
        other.stdin.flush()


def _learning_rate(config: TrainerConfig, device: torch.device, seconds: float) -> float:
    update = product(config, SIZE_MB, Place(device=device))
    update()
    began_s, updates = time.perf_counter(), 0
    while time.perf_counter() - began_s < seconds:
        update()  # Its metrics wait for the device.
        updates += 1
    return updates * config.inputs[0].batch_rows * EPOCHS / (time.perf_counter() - began_s)


def _config(strategy: dict[str, object], gpus: int, precision: str = "fp32") -> TrainerConfig:
    fields = trainer(strategy, 1, ROWS, gpus).model_dump()
    return TrainerConfig.model_validate(fields | {"precision": precision})


def _deepspeed(strategy: dict[str, object], gpus: int, learn: Callable[[TrainerConfig], str]) -> str:
    if find_spec("deepspeed") is None:
        raise LeftOutError("DeepSpeed is not installed: pip install 'sparring[deepspeed]'")
    return learn(_config(strategy, gpus))


def _local(learn: Callable[[TrainerConfig], str]) -> str:
    seen = torch.cuda.device_count()
    if seen < 2:  # noqa: PLR2004
        raise LeftOutError(f"it takes 2 GPUs or more, there are {seen}")
    return learn(_config({"kind": "local_multi_gpu"}, seen))


def _onnx(device: torch.device, seconds: float) -> str:
    provider = "CUDAExecutionProvider" if device.type == "cuda" else "CPUExecutionProvider"
    rate = onnx_rate(SIZE_MB, provider, seconds)
    if rate is None:
        raise LeftOutError(f"this ONNX Runtime has no {provider}: install onnxruntime-gpu; torch answers on the GPU")
    return _told("decisions", rate)


def _told(what: str, rate: float) -> str:
    return f"{rate:,.0f} {what}/s"
