"""docs/porting-rllib.md and docs/porting-tleague.md: the example plays, and what is named here exists."""

import os
import re
import subprocess
import sys

import pytest

from tests.client.background import service_in_thread

from .readme import ROOT, shows

RLLIB = (ROOT / "docs" / "porting-rllib.md").read_text(encoding="utf-8")
TLEAGUE = (ROOT / "docs" / "porting-tleague.md").read_text(encoding="utf-8")
SCHEMA = (ROOT / "configs" / "schema.json").read_text(encoding="utf-8")


def test_the_example_plays_a_game() -> None:
    ((program, documented),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", RLLIB, re.DOTALL)
    with service_in_thread() as service:
        program = program.replace("http://127.0.0.1:36390", service.url)
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert shows(done.stdout, documented)
    (session,) = service.sessions.values()
    assert session.stopped


def test_keys_and_matchmakers_are_those_of_the_schema() -> None:
    keys = "clip_epsilon gae_lambda entropy_coef minibatch_rows batch_rows max_games learning_rate workers placement"
    league = "matchmaking hyperparameters copying freeze_every_updates freeze_winrate initial_models"
    for key, page in [*((key, RLLIB + TLEAGUE) for key in keys.split()), *((key, TLEAGUE) for key in league.split())]:
        assert f'"{key}"' in SCHEMA
        assert key in page
    for kind in ("self_play", "uniform", "pfsp", "elo", "main_agent", "vs_main", "league_exploiter"):
        assert f'"{kind}"' in SCHEMA
        assert f"`{kind}`" in TLEAGUE


@pytest.mark.parametrize("page", ["porting-rllib", "porting-tleague", "porting-sb3"])
def test_links_lead_to_pages(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", text)
    assert links
    assert all((ROOT / "docs" / link).is_file() for link in links)
