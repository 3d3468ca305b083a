"""Whole rings that learn until evaluated games, played over HTTP, reach what their config asks for."""

import json
from typing import Any

import pytest

from app.models.pool import CLONES, ModelPool

from .commands import BIN, ROOT, Place

pytestmark = [pytest.mark.proof, pytest.mark.alone, pytest.mark.timeout(3600)]


def launched(place: Place, config: str, *overrides: str) -> dict[str, Any]:
    """Returns the result of a launch, which has ended well."""
    settings = [f"actors.main.port={place.game_port}", "launch.deploy_config=null", *overrides]
    words = [f"--set={setting}" for setting in settings]
    ended = place.run(
        str(BIN / "sparring"), "launch", f"--config={ROOT / 'configs' / config}", f"--serve-port={place.serve_port}",
        *words, timeout_s=3500,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize(
    ("config", "least", "most_steps"),
    [
        ("connect_four.yaml", 0.9, 600_000),  # 95 of 100 games against chance, as first and as second.
        ("arena_rl.yaml", 0.8, 300_000),
        ("allocation.yaml", -0.75, 400_000),
        ("breakout.yaml", 1.0, 400_000),  # Chance gets 0.17 of a life, with a standard error of 0.07.
    ],
)
def test_a_game_is_learned_over_the_ring(place: Place, config: str, least: float, most_steps: int) -> None:
    result = launched(place, config)
    assert result["solved"]
    assert result["eval_mean"] >= least
    assert result["env_steps"] <= most_steps


def test_a_league_of_two_trainers_is_learned_over_the_ring(place: Place) -> None:
    result = launched(place, "league.yaml")
    assert result["solved"]
    assert result["eval_mean"] >= 0.6  # 80 of 100 games against a script that no trainer is told of.
    folder = place.folder / "sparring" / "pong" / "league"
    shown = place.run(str(BIN / "sparring"), "league", "show", str(folder), "--json")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    league = json.loads(shown.stdout)
    found = {standing["player"]: standing for standing in league["standings"]}
    assert {"main", "exploiter", "script", "main:1", "main:2"} <= found.keys()
    assert all(found[player]["games"] > 100 for player in ("main", "exploiter"))
    players = league["payoff"]["players"]
    at = {player: players.index(player) for player in players}
    assert league["payoff"]["win_rates"][at["main"]][at["main:1"]] > 0.5
    for clone in ModelPool(folder / CLONES).lineage():  # What was frozen is what it was: reading compares hashes.
        assert ModelPool(folder / CLONES).read(clone.id).saved.arrays
