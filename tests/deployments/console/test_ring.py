"""What the console draws: the parts of a trial and how they are joined."""

from pathlib import Path
from typing import Any

import pytest

from app.config.active import active
from app.config.load import load
from deployments.console.ring import ring_of

CONFIGS = Path(__file__).parents[3] / "configs"
SHIPPED = [path for path in sorted(CONFIGS.glob("*.yaml")) if "actors" in path.read_text(encoding="utf-8")]


def drawn(name: str, *overrides: str) -> dict[str, Any]:
    return ring_of(active(load(CONFIGS / name, list(overrides))))


def links(ring: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(link["source"], link["target"], link["meaning"]) for link in ring["links"]}


def test_the_ring_of_one_model_goes_round() -> None:
    ring = drawn("rl.yaml")
    assert (ring["project"], ring["trial"], ring["mode"]) == ("cartpole", "rl", "train")
    assert [part["id"] for part in ring["parts"]] == [
        "cores", "actor:main", "agent:player", "model:main", "buffer:rollouts", "trainer:main", "weights",
    ]  # fmt: skip
    assert links(ring) == {
        ("cores", "actor:main", "steps"),
        ("actor:main", "agent:player", "ticks"),
        ("agent:player", "model:main", "asks"),
        ("agent:player", "buffer:rollouts", "rows"),
        ("buffer:rollouts", "trainer:main", "batches"),
        ("trainer:main", "weights", "publishes"),
        ("weights", "model:main", "weights"),
    }


def test_a_league_says_who_plays_whom_and_gets_what_is_frozen() -> None:
    found = links(drawn("league.yaml"))
    assert ("league", "actor:main", "matches") in found
    assert ("trainer:main", "league", "freezes") in found
    assert ("trainer:exploiter", "league", "freezes") in found


def test_a_deployed_service_has_no_learning_half_and_takes_its_model_from_the_registry() -> None:
    ring = drawn("deploy.yaml")
    kinds = {part["kind"] for part in ring["parts"]}
    assert kinds == {"cores", "actor", "agent", "model", "registry"}
    assert ("registry", "model:main", "versions") in links(ring)


def test_the_facts_of_a_part_are_those_of_its_config() -> None:
    parts = {part["id"]: part["facts"] for part in drawn("rl.yaml", "actors.main.port=0")["parts"]}
    assert parts["actor:main"] == {"replicas": "1", "port": "a free one"}
    assert parts["trainer:main"] == {"model": "main", "algorithm": "ppo", "batch": "1024 rows", "workers": "1"}
    assert parts["buffer:rollouts"] == {"kind": "each row once", "shards": "1", "when full": "drop oldest"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_link_of_a_shipped_config_joins_two_parts(path: Path) -> None:
    ring = drawn(path.name)
    ids = [part["id"] for part in ring["parts"]]
    assert len(set(ids)) == len(ids)
    for link in ring["links"]:
        assert {link["source"], link["target"]} <= set(ids), link
