"""An agent alone: answers, errors, speed, and whether its state can move."""

from pathlib import Path
from typing import Any

import pytest

from app.agents.agent import Agent
from app.agents.blocking import BlockingAgent
from app.config.models import ModelConfig
from app.config.root import ExperimentConfig, Run
from app.config.serving import AgentConfig
from app.errors import ConfigError
from train.trying.agents import try_agent

HERE = "tests.train.trying.test_agents"
CONFIG = ExperimentConfig(
    run=Run(project="a", trial="b"),
    models={"main": ModelConfig(factory="tests.small_policy:SmallPolicy")},
    agents={"player": AgentConfig(model="main")},
)


class Counts(Agent):
    """Answers how many of its ticks asked for more."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.asked = 0

    async def on_tick(self, payload: Any) -> dict[str, int]:
        self.asked += payload["more"]
        return {"action": self.asked}


class Sees(Agent):
    """Answers how many numbers it sees."""

    async def on_tick(self, payload: Any) -> dict[str, int]:
        return {"action": len(payload["observation"])}


class Stubborn(Agent):
    """Holds what cannot be sent to another replica."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.handle = object()

    async def on_tick(self, payload: Any) -> dict[str, int]:
        return {"action": 0}


class Slow(BlockingAgent):
    """Answers from a thread."""

    def on_tick(self, payload: Any) -> dict[str, int]:
        return {"action": 1}


def test_a_policy_plays_made_up_games() -> None:
    report = try_agent(CONFIG, "player", games=2, ticks=5)
    assert report.problems == ()
    assert (report.facts["sessions"], report.facts["ticks"], report.facts["decisions"]) == (2, 10, 10)
    assert str(report.facts["first_answer"]).startswith('{"action":')


def test_an_agent_without_a_model_sees_what_fits_the_only_one() -> None:
    config = CONFIG.model_copy(update={"agents": {"fixed": AgentConfig(factory=f"{HERE}:Sees")}})
    report = try_agent(config, "fixed", games=1, ticks=3)
    assert (report.problems, report.facts["first_answer"], report.facts["decisions"]) == ((), '{"action":2}', 0)


def test_lines_of_a_file_are_played_in_place_of_made_up_ones(tmp_path: Path) -> None:
    (tmp_path / "ticks.jsonl").write_text('{"more": 2}\n{"more": 3}\n')
    report = try_agent(CONFIG, f"{HERE}:Counts", source=tmp_path / "ticks.jsonl")
    assert report.problems == ()
    assert (report.facts["sessions"], report.facts["ticks"], report.facts["first_answer"]) == (1, 2, '{"action":2}')


def test_what_an_agent_raises_is_a_problem() -> None:
    report = try_agent(CONFIG, f"{HERE}:Counts", model="main", games=1, ticks=2)
    assert any("KeyError" in problem and problem.startswith("2 times") for problem in report.problems)
    assert "no tick was answered" in report.problems


def test_a_state_that_cannot_move_is_a_problem() -> None:
    (problem,) = try_agent(CONFIG, f"{HERE}:Stubborn", model="main", games=1, ticks=1).problems
    assert "state_dict: TreeError: agent.attributes.handle is a object" in problem


def test_an_agent_that_blocks_runs_in_threads() -> None:
    slow = AgentConfig(factory=f"{HERE}:Slow", blocking=True)
    config = CONFIG.model_copy(update={"agents": {"slow": slow}})
    assert try_agent(config, "slow", games=1, ticks=2).problems == ()


def test_one_that_blocks_and_does_not_say_so_is_a_problem() -> None:
    (problem,) = try_agent(CONFIG, f"{HERE}:Slow", model="main").problems
    assert "allowed is blocking: true" in problem


def test_nobody_knows_what_to_ask_without_a_model_or_input() -> None:
    empty = ExperimentConfig(run=Run(project="a", trial="b"))
    (problem,) = try_agent(empty, f"{HERE}:Counts").problems
    assert "--model for made-up observations, or --input" in problem


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="no agent named 'nobody'; there are: player"):
        try_agent(CONFIG, "nobody")
