"""A league in the ring: who sits where plays what the league says, and every match counts once."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import ray

from app.config.active import active
from app.config.load import load
from app.errors import LeagueError
from app.league.match_log import MatchRecord
from app.league.players import Weights
from app.league.report import LeagueReport
from app.models.lineage import Clone
from app.stores.league_client import LeagueClient
from app.stores.model_sources import ModelSources
from app.stores.names import LEAGUE
from app.types import Version
from deployments.port import free_port
from tests.soak.faults import children
from train.checkpoint import Checkpoints
from train.league.keeper import LeagueKeeper
from train.league.trained_player import TrainedPlayer
from train.promote import Told, clone_version
from train.run import TrainingRun

from .learner import Learner
from .service import Cluster, Service, playing, step, wait_until
from .training import START_S, wait_for_end

pytestmark = pytest.mark.ray

CONFIG = Path(__file__).parents[2] / "configs" / "league.yaml"
PONG = "pettingzoo:app.games.pong.environment:Pong"
SMALL = (
    "actors.main.port=0",
    "actors.main.unroll_ticks=8",
    "actors.main.push_rows=32",
    *(f"trainers.{name}.inputs.0.batch_rows=128" for name in ("main", "exploiter")),
    *(f"trainers.{name}.inputs.0.algorithm.minibatch_rows=64" for name in ("main", "exploiter")),
)


READY_S = 180.0
"""Longest time from the death of all parts until all learn again: 16 to 20 s on a busy machine of two cores."""
DUELS = ("league.evaluation_share=0", "league.min_games=0")


class League(Service):
    """A service of the shipped config."""

    def __init__(self, cluster: Cluster, trial: str, *overrides: str) -> None:
        super().__init__(cluster, trial)
        self.config = load(CONFIG, [*SMALL, f"run.trial={trial}", *overrides])

    @property
    def league(self) -> LeagueClient:
        return self.trial.league()

    @property
    def sources(self) -> ModelSources:
        return ModelSources(active(self.config), self.home)

    def clone(self, version: Version) -> Clone:
        told = Told(version, 0, None)
        return clone_version(active(self.config), "main", self.trial, told, self.sources, frozen=True)

    def freeze(self, version: Version) -> Clone:
        """Freezes the main player as a version of its trainer."""
        clone = self.clone(version)
        period = self.league.at_now("main").period
        self.league.freeze_now("main", period, Weights(f"clones/{clone.id}", clone.hash))
        return clone

    def restart_league(self) -> None:
        """Kills its process; Ray starts it anew."""
        ray.kill(ray.get_actor(LEAGUE, namespace=self.trial.namespace), no_restart=False)

    def finished(self) -> Sequence[MatchRecord]:
        """Returns the newest finished matches; none while the league restarts."""
        try:
            return self.standing().matches
        except LeagueError:
            return []

    def players(self) -> set[str]:
        return {standing.player for standing in self.league.show_now().standings}

    def standing(self) -> LeagueReport:
        return self.league.show_now(1000)


@contextmanager
def pong(service: League, agent: str = "player", **changes: Any) -> Iterator[Any]:
    with playing(service.url, 8, env=PONG, seats=({"*": agent},), **changes) as result:
        yield result


def seats(service: League, game: str) -> list[dict[str, Any]]:
    """Starts both sessions of a game, and returns what each was told."""
    told = [step(service.http, f"{game}-agent-player.{seat}", "start").json() for seat in (0, 1)]
    assert [one["match"] for one in told] == [told[0]["match"]] * 2
    return told


def tick(service: League, game: str, seat: int) -> str:
    """Plays a tick, and returns the version that has answered; empty of who has none, such as a script."""
    reply = step(service.http, f"{game}-agent-player.{seat}", "tick", {"observation": [0.0] * 6})
    assert reply.status_code == 200, reply.text
    return reply.headers.get("policy_version", "")


def stop(service: League, game: str, seat: int, reward: float) -> None:
    end = {"observation": [0.0] * 6, "reward": reward, "terminated": True}
    assert step(service.http, f"{game}-agent-player.{seat}", "stop", end).status_code == 200


def against(service: League, opponent: str) -> tuple[str, list[dict[str, Any]]]:
    """Returns a game of the main player against an opponent; others are begun, and left to their time-out."""
    for number in range(200):
        told = seats(service, f"g{number}")
        if set(told[0]["players"]) == {"main", opponent}:
            return f"g{number}", told
    raise AssertionError(f"no match against {opponent} in 200")


def test_every_game_is_a_match_that_counts_once_and_only_who_learns_sends_rows(cluster: Cluster) -> None:
    with League(cluster, "matches") as service:
        frozen = service.freeze(service.publish(1))
        version = service.publish(2)
        learner = Learner(service.trial.buffer("rollouts"), "all")
        rows = []
        with pong(service) as result:
            while sum(map(len, (found["generation"] for found in rows))) < 2000:
                rows.append(learner.next())
        learner.close()
        played = result.result()
        assert (played.lost_games, played.errors) == (0, 0)
        assert {int(g) for found in rows for g in np.unique(found["generation"][found["weight"] > 0])} == {
            version.generation
        }
        wait_until(lambda: service.standing().counts["matches_finished"] >= played.episodes, "all matches are counted")
        report = service.standing()
        assert report.counts.get("results_duplicate", 0) == report.counts.get("results_unknown", 0) == 0
        met = {player for match in report.matches for player in match.players}
        assert {"main", "main:1", "script"} <= met
        assert service.sources.pool.find(frozen.id).hash == frozen.hash


def test_a_frozen_opponent_answers_with_its_own_weights_whatever_is_published(cluster: Cluster) -> None:
    with League(cluster, "opponents", *DUELS) as service:
        frozen = service.freeze(service.publish(1))
        before = service.publish(2)
        game, told = against(service, "main:1")
        place = {told[seat]["players"][told[seat]["side"]]: seat for seat in (0, 1)}
        assert tick(service, game, place["main:1"]) == str(frozen.version)
        assert tick(service, game, place["main"]) == str(before)
        after = service.publish(3)
        assert tick(service, game, place["main:1"]) == str(frozen.version)
        assert tick(service, game, place["main"]) == str(after)
        stop(service, game, place["main"], 1.0)
        stop(service, game, place["main:1"], -1.0)
        wait_until(lambda: service.standing().matches, "the match is counted")
        report = service.standing()
        players = [standing.player for standing in report.standings]
        at = [players.index(player) for player in ("main", "main:1")]
        assert report.win_rates[at[0]][at[1]] == 1.0


def test_a_match_goes_on_in_another_replica_and_over_the_death_of_the_league(cluster: Cluster) -> None:
    with League(cluster, "moved", *DUELS) as service:
        frozen = service.freeze(service.publish(1))
        service.publish(2)
        game, told = against(service, "main:1")
        place = {told[seat]["players"][told[seat]["side"]]: seat for seat in (0, 1)}
        for seat in (0, 1):
            tick(service, game, seat)
        service.deploy()  # Replaces the replica.
        assert tick(service, game, place["main:1"]) == str(frozen.version)
        tick(service, game, place["main"])
        service.restart_league()
        stop(service, game, place["main"], 1.0)
        stop(service, game, place["main:1"], -1.0)
        wait_until(lambda: [match.id for match in service.finished()] == [told[0]["match"]], "it is counted", 60)
        assert service.players() == {"main", "exploiter", "script", "main:1"}
        seats(service, "next")


def test_one_session_may_play_all_seats_of_a_match(cluster: Cluster) -> None:
    with League(cluster, "whole", *DUELS, "league.sessions=match") as service:
        service.freeze(service.publish(1))
        service.publish(2)
        see = {"observation": [0.0] * 6}
        for game in range(20):
            told = step(service.http, f"whole{game}", "start").json()
            answer = step(service.http, f"whole{game}", "tick", {"seats": {"0": see, "1": see}})
            assert answer.json()["seats"].keys() == {"0", "1"}
            over = {seat: see | {"reward": float(seat), "terminated": True} for seat in ("0", "1")}
            assert step(service.http, f"whole{game}", "stop", {"seats": over}).status_code == 200
            if told["players"] != ["main", "main"]:
                assert answer.headers["policy_version"] == str(service.trial.weights("main").newest())
        wait_until(lambda: len(service.standing().matches) == 20, "all are counted")
        met = {player for match in service.standing().matches for player in match.players}
        assert {"main", "main:1"} <= met


def test_a_deployed_service_serves_the_frozen_players_of_a_league_that_was_trained(cluster: Cluster) -> None:
    both = [
        f"{section}.enable=both"
        for section in ("league", "trainers.main", "trainers.exploiter", "buffers.rollouts", "buffers.exploits")
    ]
    with League(cluster, "live", *DUELS, *both) as service:
        frozen = service.freeze(service.publish(1))
    with League(cluster, "live", *DUELS, *both, "run.mode=deploy") as service:
        found = service.http.get("/league/opponent", params={"level": 1.0}).json()
        assert (found["player"], found["agent"]) == ("main:1", "player")
        start = {"model_version": found["model_version"]}
        assert step(service.http, "human-agent-player", "start", start, purpose="play").status_code == 200
        answer = step(service.http, "human-agent-player", "tick", {"observation": [0.0] * 6})
        assert answer.headers["policy_version"] == str(frozen.version)
        assert service.standing().open_matches == 0  # Live games are no matches.


@contextmanager
def trained(service: League, home: Path, agents: tuple[str, ...], trainers: tuple[str, ...]) -> Iterator[None]:
    """Plays, trains and keeps the league for as long as the block runs."""
    config = active(service.config)
    runs = [TrainingRun(config, name, service.trial, home) for name in trainers]

    def player(run: TrainingRun) -> TrainedPlayer:
        def clone(version: Version) -> Clone:
            return clone_version(config, run.model, service.trial, Told(version, 0, None), service.sources, frozen=True)

        return TrainedPlayer(service.trial.metrics, service.trial.weights(run.model), run.name, clone)

    keeper = LeagueKeeper(service.league, {run.name: player(run) for run in runs})
    with playing(service.url, 8, env=PONG, seats=tuple({"*": agent} for agent in agents)):
        for run in runs:
            run.start()
        keeper.start()
        try:
            yield
        finally:
            keeper.close(10)
            for run in runs:
                run.stop()
        assert all(wait_for_end(run) for run in runs)


def generation(service: League, model: str) -> int:
    newest = service.trial.weights(model).newest()
    assert newest is not None
    return newest.generation


@pytest.mark.long
def test_trainers_follow_the_leagues_periods_and_an_exploiter_begins_anew(cluster: Cluster, tmp_path: Path) -> None:
    periods = (
        "league.players.main.freeze_every_updates=4",
        "league.players.main.hyperparameters={entropy_coef: {initial: 0.02}}",
        "league.players.exploiter.freeze_every_updates=3",
        "league.players.exploiter.reset_probability=1.0",
    )
    with League(cluster, "periods", *periods) as service:
        with trained(service, tmp_path, ("player", "exploiter"), ("main", "exploiter")):
            wait_until(lambda: {"main:2", "exploiter:2"} <= service.players(), "both froze", START_S)
            wait_until(lambda: service.league.at_now("exploiter").weights is None, "it is taken over", START_S)
        assert generation(service, "main") == 1  # It goes on with what it has learned.
        assert generation(service, "exploiter") >= 3  # Each life has one of its own.
        assert service.league.at_now("main").hyperparameters == {"entropy_coef": 0.02}


def test_players_of_one_trainer_take_turns_and_go_on_with_what_they_were(cluster: Cluster, tmp_path: Path) -> None:
    turns = ("league.players.exploiter={trainer: main, role: main}", "league.slice_updates=3")
    with League(cluster, "turns", *turns) as service:
        seen: list[str] = []

        def came_round() -> bool:
            player = service.league.at_now("main")
            if player.weights is None and seen[-1:] != [player.id]:
                seen.append(player.id)
            return len(seen) >= 3

        with trained(service, tmp_path, ("player",), ("main",)):
            wait_until(came_round, "the trainer has gone from one player to the other and back", START_S)
        assert seen[:3] == ["main", "exploiter", "main"]
        assert generation(service, "main") >= 3
        counts = service.standing().counts
        assert counts["matches_finished"] > 0


def trainer_pid() -> int:
    """Returns the process of one of the trainers."""
    return children("ray::RayTrainWorker")[0].pid


@pytest.mark.long
def test_all_parts_may_die_at_once_and_the_league_learns_on(cluster: Cluster, tmp_path: Path) -> None:
    trainers = ("main", "exploiter")
    often = [f"trainers.{name}.checkpoints.every_s=1" for name in trainers]
    with League(cluster, "deaths", f"actors.main.port={free_port()}", *often) as service:
        folders = [Checkpoints(tmp_path / "deaths" / "checkpoints" / name) for name in trainers]
        with trained(service, tmp_path, ("player", "exploiter"), trainers):
            for folder in folders:
                wait_until(partial(goes_on, service, folder, 0.0), "a trainer learns", START_S)
            os.kill(trainer_pid(), signal.SIGKILL)
            os.kill(service.status()["pid"], signal.SIGKILL)
            service.restart_league()
            killed_s = time.time()
            for folder in folders:
                wait_until(partial(goes_on, service, folder, killed_s), "a trainer learns again", READY_S)


def goes_on(service: League, checkpoints: Checkpoints, since_s: float) -> bool:
    """Whether a match has ended since then, and a trainer has saved what it has learned."""
    newest = checkpoints.newest()
    saved_s = 0.0 if newest is None else newest.stat().st_mtime
    return saved_s > since_s and any(match.ended_s > since_s for match in service.finished())


@pytest.mark.long
def test_hundreds_of_changes_of_opponents_leave_memory_as_it_is(cluster: Cluster) -> None:
    settings = (
        *DUELS,
        "league.players.main.matchmaking={kind: uniform, self_play: 0.0}",
        "models.main.weights.cache_versions=4",
    )
    with League(cluster, "changes", *settings) as service:
        for seed in range(12):
            service.freeze(service.publish(seed))
        replica = psutil.Process(service.status()["pid"])
        slow, sizes = [], []
        for number in range(500):
            seats(service, f"g{number}")
            for seat in (0, 1):
                began_s = time.monotonic()
                tick(service, f"g{number}", seat)
                slow.append(time.monotonic() - began_s)
                stop(service, f"g{number}", seat, float(seat))
            if number in (99, 499):
                sizes.append(replica.memory_info().rss)
        assert np.quantile(slow, 0.99) < 0.1
        assert sizes[1] - sizes[0] < 64 * 2**20
        met = {player for match in service.standing().matches for player in match.players}
        assert len(met) == 14  # All twelve, the script and the player itself.
