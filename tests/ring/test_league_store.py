"""The league is ready whatever is started first, and outlives its process."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest
import ray

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import LeagueError, ServiceNotFoundError
from app.league.matches import Match, Reply, Result
from app.league.players import Weights
from app.stores.names import LEAGUE, namespace_of
from app.stores.trial import Trial, open_league, open_stores
from deployments.operate import league_commands

from .service import Cluster

pytestmark = pytest.mark.ray

READY_S = 30.0
WIN = Result((1.0, 0.0))
BOT = {"clones/x": Weights("clones/x", "hash")}
PLAYERS = "league.players={main: {trainer: main}, second: {trainer: main, role: main_exploiter}}"


def config_of(trial: str, *overrides: str) -> ExperimentConfig:
    return load(Path("configs/rl.yaml"), [f"run.trial={trial}", PLAYERS, *overrides])


def opened(config: ExperimentConfig, home: Path, weights: Mapping[str, Weights] = MappingProxyType({})) -> Trial:
    trial = open_stores(config, home)
    if config.league is not None:
        open_league(config, config.league, home, weights)
    return trial


@contextmanager
def stores(config: ExperimentConfig, home: Path) -> Iterator[Trial]:
    trial = opened(config, home)
    try:
        yield trial
    finally:
        trial.close()


def next_match(trial: Trial, player: str = "second") -> Match:
    return asyncio.run(_next_match(trial, player))


async def _next_match(trial: Trial, player: str) -> Match:
    return await trial.league(READY_S).next_match(player)


def player_of(trial: Trial, trainer: str) -> str:
    return trial.league(READY_S).at_now(trainer).id


def report(trial: Trial, match: Match) -> Reply:
    return asyncio.run(_report(trial, match))


async def _report(trial: Trial, match: Match) -> Reply:
    return await trial.league(READY_S).report(match.id, WIN)


def test_who_asks_before_the_league_is_there_is_answered_when_it_comes(cluster: Cluster, tmp_path: Path) -> None:
    config = config_of("first_asked")
    with stores(config.model_copy(update={"league": None}), tmp_path) as trial, ThreadPoolExecutor() as pool:
        actor, trainer = pool.submit(next_match, trial), pool.submit(player_of, trial, "main")
        assert not actor.done()
        opened(config, tmp_path)
        assert actor.result(READY_S).sides[0].player == "second"
        assert trainer.result(READY_S) == "main"


def test_without_a_league_there_is_one_clear_message(cluster: Cluster, tmp_path: Path) -> None:
    config = config_of("without").model_copy(update={"league": None})
    with (
        stores(config, tmp_path) as trial,
        pytest.raises(ServiceNotFoundError, match=r"has no league, waited for 0\.5 s; allowed is a service"),
    ):
        trial.league(0.5)


def test_a_league_that_is_killed_goes_on(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = config_of("killed")
    with stores(config, tmp_path) as trial:
        league = trial.league()
        frozen = league.freeze_now("main", 1, Weights("clones/a", "hash"))
        counted, pending = next_match(trial), next_match(trial)
        assert report(trial, counted) is Reply.COUNTED
        before = league.show_now(10).as_dict()
        ray.kill(ray.get_actor(LEAGUE, namespace=trial.namespace), no_restart=False)
        assert league.show_now(10).as_dict() == before
        assert league.freeze_now("main", 1, Weights("clones/b")).frozen == frozen.frozen
        assert report(trial, counted) is Reply.DUPLICATE
        assert report(trial, pending) is Reply.COUNTED
        with pytest.raises(LeagueError, match="'main' is in period 2"):
            league.freeze_now("main", 7, Weights("clones/c"))
        league_commands.show(namespace_of(config.run).removeprefix("sparring."))
        assert "main:1" in capsys.readouterr().out
    league_commands.export("matches_csv", str(tmp_path / "killed"))
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_second_start_takes_a_changed_config_up(cluster: Cluster, tmp_path: Path) -> None:
    with stores(config_of("changed"), tmp_path) as trial:
        opened(config_of("changed", "league.opponents.bot={weights: clones/x}"), tmp_path, BOT)
        ray.kill(ray.get_actor(LEAGUE, namespace=trial.namespace), no_restart=False)
        assert asyncio.run(trial.league().side("bot")).weights == BOT["clones/x"]
        with pytest.raises(LeagueError, match="rated by openskill"):
            opened(config_of("changed", "league.rating=elo"), tmp_path)
