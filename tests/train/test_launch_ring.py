"""The order in which a ring starts and gives up."""

import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray import serve
from ray.exceptions import GetTimeoutError

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import PortInUseError, SourceError, SparringError
from deployments import build
from train.launch.ring import Ring
from train.launch.stopping import Stopper

CONFIGS = Path(__file__).parents[2] / "configs"
SERVE_S = 0.3
"""How long Serve takes to start here."""


def test_an_error_of_the_trainer_is_told_once_serve_no_longer_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, failed = threading.Event(), threading.Event()

    def starts(ring: Ring) -> None:
        failed.wait(10)
        threading.Event().wait(SERVE_S)
        ended.set()

    def fails(config: ExperimentConfig) -> None:
        failed.set()
        raise SourceError("there is no file")

    monkeypatch.setattr(Ring, "_start_serve", starts)
    monkeypatch.setattr(build, "prepare", fails)
    config = ExperimentConfig.model_validate({"run": {"project": "game", "trial": "one"}})
    with pytest.raises(SourceError, match="there is no file"):
        Ring(config, 1, 20.0, Stopper()).start()
    assert ended.is_set()


def test_a_serve_that_cannot_start_is_told_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise GetTimeoutError("the proxy is not ready")

    monkeypatch.setattr(serve, "start", fails)
    monkeypatch.setattr(build, "prepare", lambda _: SimpleNamespace(trial=None))
    monkeypatch.setattr(Ring, "_start_trainer", lambda *_: None)
    config = ExperimentConfig.model_validate({"run": {"project": "game", "trial": "one"}})
    with pytest.raises(SparringError, match="Ray Serve could not start its proxy on port 8123"):
        Ring(config, 8123, 20.0, Stopper()).start()


def test_a_port_that_is_taken_is_told_with_the_option_that_names_another() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"port {port} .* give Ray Serve another: --serve-port N"):
            Ring(load(CONFIGS / "rl.yaml", ["actors.main.port=0"]), port, 1.0, Stopper()).probe()
        with pytest.raises(PortInUseError, match=f"port {port} .* choose another with --set actors"):
            Ring(load(CONFIGS / "rl.yaml", [f"actors.main.port={port}"]), 8000, 1.0, Stopper()).probe()
