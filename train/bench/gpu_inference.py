"""How fast a device answers: ``python -m train.bench.gpu_inference DEVICE SIZE_MB SECONDS`` does so beside another."""

import sys
import time
from collections.abc import Callable
from typing import Final

import numpy as np
import onnxruntime
import torch

from app.models.export.graph import export_graph
from app.models.module import build_module, spec_of, to_arrays
from app.models.onnx_session import OnnxSession
from train.bench.learner_steps import POLICY

BATCH_ROWS: Final = 64
"""Observations of one question."""


def torch_rate(size_mb: float, device: torch.device, seconds: float) -> float:
    """Returns the decisions a second of torch; observations come from the CPU, and logits go back to it."""
    module = build_module(POLICY, {"mb": size_mb}, seed=1).to(device).eval()
    observation = torch.randn(BATCH_ROWS, 4)

    @torch.inference_mode()
    def ask() -> None:
        module(observation.to(device)).dist_inputs.cpu()

    return _rate(ask, seconds)


def onnx_rate(size_mb: float, provider: str, seconds: float) -> float | None:
    """Returns the decisions a second of ONNX Runtime; None where it has no such provider."""
    if provider not in onnxruntime.get_available_providers():
        return None
    module = build_module(POLICY, {"mb": size_mb}, seed=1)
    session = OnnxSession(export_graph(module), spec_of(module), to_arrays(module), provider)
    observation = np.random.default_rng(1).standard_normal((BATCH_ROWS, 4), np.float32)
    return _rate(lambda: session.run([observation], []), seconds)


def _rate(ask: Callable[[], object], seconds: float) -> float:
    ask()
    began_s, asked = time.perf_counter(), 0
    while time.perf_counter() - began_s < seconds:
        ask()
        asked += 1
    return asked * BATCH_ROWS / (time.perf_counter() - began_s)


def main(device: str, size_mb: float, seconds: float) -> None:
    """Says when it is ready, waits for a line, and then measures."""
    torch_rate(size_mb, torch.device(device), 0.0)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(f"{torch_rate(size_mb, torch.device(device), seconds)}\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
