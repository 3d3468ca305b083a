"""The order in which a ring starts and gives up."""

import threading

import pytest

from app.config.root import ExperimentConfig
from app.errors import SourceError
from deployments import build
from train.launch.ring import Ring
from train.launch.stopping import Stopper

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
