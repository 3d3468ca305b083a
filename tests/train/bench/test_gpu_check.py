"""The check of a GPU; its parts run on the CPU here, the small ones."""

from collections.abc import Callable

import pytest
import torch

from train.bench import gpu_check
from train.bench.gpu_check import LeftOutError, checks, gpu_problem, run_checks

CPU = torch.device("cpu")


def part(name: str) -> Callable[[], str]:
    return dict(checks(CPU, 0.01))[name]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "SIZE_MB", 0.01)
    monkeypatch.setattr(gpu_check, "ROWS", 256)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_training_step_tells_its_rate(precision: str) -> None:
    assert part(f"training step, {precision}")().endswith(" samples/s")


def test_torch_tells_its_rate() -> None:
    assert part("inference, torch")().endswith(" decisions/s")


def test_what_the_machine_cannot_do_is_left_out_with_the_reason() -> None:
    if torch.cuda.device_count() < 2:
        with pytest.raises(LeftOutError, match="it takes 2 GPUs or more"):
            part("local_multi_gpu")()


def test_a_part_that_fails_leaves_the_others_to_be_checked() -> None:
    def broken() -> str:
        raise RuntimeError("no kernel image")

    def absent() -> str:
        raise LeftOutError("not installed")

    rows = run_checks([("a", broken), ("b", absent), ("c", lambda: "5 samples/s")], lambda: 0.0)
    assert [(row.outcome, row.told) for row in rows] == [
        ("failed", "RuntimeError: no kernel image"),
        ("left out", "not installed"),
        ("ok", "5 samples/s"),
    ]


def test_the_whole_stays_under_ten_minutes() -> None:
    now_s = iter([0.0, 10.0, 541.0])
    rows = run_checks([("a", lambda: "1"), ("b", lambda: "2")], lambda: next(now_s))
    assert [row.outcome for row in rows] == ["ok", "left out"]


@pytest.mark.slow
def test_a_learner_and_a_process_that_answers_share_a_device() -> None:
    told = part("learner and inference on one card")()
    assert "samples/s" in told
    assert "decisions/s" in told


@pytest.mark.export
def test_onnx_runtime_tells_its_rate() -> None:
    assert part("inference, ONNX Runtime")().endswith(" decisions/s")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_reason_is_told() -> None:
    problem = gpu_problem()
    assert problem is not None
    assert "torch" in problem
