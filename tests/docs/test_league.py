"""The page about the league says what the config and the command know."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from app.config.league import LeagueConfig, LearnerConfig
from app.config.matchmaking import Matchmaking
from app.league.matches import Reply
from deployments.operate.league_commands import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "league.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """Returns the names in the first column of a table."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


def test_the_config_of_the_page_is_one() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    league = LeagueConfig.model_validate(yaml.safe_load(block)["league"])
    assert league.learners == ("main", "exploiter")


def test_every_matchmaking_is_in_the_table_and_no_other() -> None:
    union, _ = get_args(Matchmaking)
    kinds = {member.model_fields["kind"].default for member in get_args(union)}
    assert first_cells(section("Matchmaking")) - {"kind"} == kinds


def test_every_key_of_a_player_is_in_the_table_and_no_other() -> None:
    assert first_cells(section("Players")) - {"name"} == set(LearnerConfig.model_fields)


def test_every_end_of_a_match_is_in_the_table_and_no_other() -> None:
    assert first_cells(section("Results")) == {str(reply) for reply in Reply}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_export_is_told(kind: str) -> None:
    assert f"`{kind}`" in section("Look at it")


def test_keys_of_the_league_that_the_page_names_exist() -> None:
    for name in re.findall(r"`(keeping|promotion|matches)\.([a-z_]+)`", PAGE):
        part, key = name
        assert key in LeagueConfig.model_fields[part].annotation.model_fields  # type: ignore[union-attr]
