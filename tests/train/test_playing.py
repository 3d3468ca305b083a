"""Games that are played while a trainer learns: real game cores against a small service."""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from app.config.evaluating import EvaluationConfig, PlayedGames
from app.config.launching import SimulatorConfig
from app.errors import TrackingError
from app.types import Version
from tests.client.background import service_in_thread
from train.playing import PlayedEvaluations

if TYPE_CHECKING:
    from train.launch.cores import Evaluated

GAMES = PlayedGames(simulator=SimulatorConfig(env="CartPole-v1"), count=3)
WAIT_S = 60.0


class Trainer:
    """Where a trainer is, as the evaluations see it."""

    def __init__(self) -> None:
        self.updates = 0
        self.pinned: list[Version] = []
        self.told: queue.Queue[tuple[int, Version, Evaluated]] = queue.Queue()

    def pin(self) -> Version | None:
        version = Version(1, self.updates)
        self.pinned.append(version)
        return version

    def evaluations(self, url: Callable[[], str]) -> PlayedEvaluations:
        return PlayedEvaluations(
            EvaluationConfig(every_updates=10, games=GAMES),
            GAMES,
            url,
            lambda: self.updates,
            self.pin,
            self.pinned.remove,
            lambda *found: self.told.put(found),
        )


def test_every_so_many_updates_all_games_of_the_newest_version_are_played() -> None:
    trainer = Trainer()
    with service_in_thread() as service:
        evaluations = trainer.evaluations(lambda: service.url)
        evaluations.start()
        try:
            trainer.updates = 9
            with pytest.raises(queue.Empty):
                trainer.told.get(timeout=0.5)
            trainer.updates = 12
            updates, version, evaluated = trainer.told.get(timeout=WAIT_S)
            assert (updates, version, evaluated.episodes) == (12, Version(1, 12), 3)
            assert 8 <= evaluated.mean_return <= 11  # It always pushes to the same side.
            trainer.updates = 20
            assert trainer.told.get(timeout=WAIT_S)[0] == 20
        finally:
            evaluations.close(WAIT_S)
    assert trainer.pinned == []
    assert not any(thread.name == "evaluation" for thread in threading.enumerate())


def test_an_evaluation_that_fails_is_logged_and_the_next_one_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    trainer = Trainer()
    with service_in_thread() as service:
        addresses = iter([TrackingError("there is no port"), service.url])

        def url() -> str:
            address = next(addresses)
            if isinstance(address, Exception):
                trainer.updates = 20  # The next one is due.
                raise address
            return address

        evaluations = trainer.evaluations(url)
        evaluations.start()
        try:
            trainer.updates = 10
            assert trainer.told.get(timeout=WAIT_S)[0] == 20
        finally:
            evaluations.close(WAIT_S)
    assert "looking after evaluations failed, and is tried again: there is no port" in caplog.text
    assert trainer.pinned == []
