"""Names of other components, the modes in which those exist, and what is left in one mode."""

import pytest

from app.config.active import active
from app.config.references import reference_problems
from app.config.root import ExperimentConfig


def tree(**changes: object) -> dict[str, object]:
    return {
        "run": {"project": "game", "trial": "one"},
        "models": {"main": {"factory": "a:b"}},
        "agents": {"player": {"model": "main", "buffer": "rollouts"}},
        "actors": {"lobby": {"agents": ["player"]}},
        "buffers": {"rollouts": {}},
        "trainers": {"learner": {"model": "main", "inputs": [{"buffer": "rollouts"}]}},
        **changes,
    }


def config(mode: str = "train", **changes: object) -> ExperimentConfig:
    return ExperimentConfig.model_validate(
        tree(run={"project": "game", "trial": "one", "mode": mode}, **changes),
    )


def test_names_that_exist_are_no_problem() -> None:
    assert reference_problems(tree()) == {}
    assert reference_problems(tree(metrics={"latencies": ["player", "main"], "series_max": 100})) == {}


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"agents": {"player": {"model": "mian"}}}, "agents.player.model", "no model named 'mian'; there are: main"),
        ({"agents": {"player": {"buffer": "x"}}}, "agents.player.buffer", "no buffer named 'x'; there are: rollouts"),
        ({"actors": {"lobby": {"agents": ["player", "x"]}}}, "actors.lobby.agents.1", "no agent named 'x'"),
        ({"trainers": {"t": {"model": "x"}}}, "trainers.t.model", "no model named 'x'"),
        ({"trainers": {"t": {"inputs": [{"buffer": "x"}]}}}, "trainers.t.inputs.0.buffer", "no buffer named 'x'"),
        ({"launch": {"simulator": {"seats": [{"p": "x"}]}}}, "launch.simulator.seats.0.p", "no agent named 'x'"),
        ({"launch": {"simulator": {"scored": ["x"]}}}, "launch.simulator.scored.0", "no agent named 'x'"),
        (
            {"metrics": {"latencies": ["player", "main", "x"]}},
            "metrics.latencies.2",
            "no agent or model named 'x'; there are: main, player",
        ),
        (
            {"launch": {"goal": {"evaluation_seats": [{"p": "x"}]}}},
            "launch.goal.evaluation_seats.0.p",
            "no agent named",
        ),
    ],
)
def test_a_dangling_name_tells_which_there_are(changes: dict[str, object], path: str, message: str) -> None:
    problems = reference_problems(tree(**changes))
    assert list(problems) == [path]
    assert problems[path].startswith(message)


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    assert (
        "did you mean 'main'?" in reference_problems(tree(agents={"player": {"model": "mian"}}))["agents.player.model"]
    )


def test_without_any_component_there_are_none() -> None:
    problems = reference_problems({"agents": {"player": {"model": "main"}}})
    assert problems == {"agents.player.model": "no model named 'main'; there are: none"}


@pytest.mark.parametrize("broken", [None, 3, "main", [], {"player": None}, {"player": {"model": ["main"]}}])
def test_parts_that_are_otherwise_wrong_are_passed_over(broken: object) -> None:
    assert reference_problems(tree(agents=broken, actors={})) == {}


def test_a_section_that_is_no_mapping_makes_no_name_dangle() -> None:
    assert reference_problems(tree(models=None)) == {}


@pytest.mark.parametrize(
    ("changes", "path", "mode"),
    [
        ({"models": {"main": {"enable": "train"}}}, "agents.player.model", "deploy"),
        ({"models": {"main": {"enable": "deploy"}}}, "trainers.learner.model", "train"),
        ({"agents": {"player": {"enable": "train"}}}, "actors.lobby.agents.0", "deploy"),
        ({"buffers": {"rollouts": {"enable": "deploy"}}}, "agents.player.buffer", "train"),
        ({"buffers": {"rollouts": {"enable": "deploy"}}}, "trainers.learner.inputs.0.buffer", "train"),
    ],
)
def test_a_component_needs_those_it_names_in_each_of_its_modes(
    changes: dict[str, object], path: str, mode: str
) -> None:
    assert f"exists in mode {mode}, where" in reference_problems(tree(**changes))[path]


def test_an_agent_needs_no_buffer_in_deploy_mode() -> None:
    agents = {"player": {"model": "main", "buffer": "rollouts", "enable": "both"}}
    assert reference_problems(tree(agents=agents, buffers={"rollouts": {"enable": "train"}})) == {}


def test_components_of_one_mode_may_use_each_other() -> None:
    changes = {
        "models": {"main": {"enable": "train"}},
        "agents": {"player": {"model": "main", "enable": "train"}},
        "actors": {"lobby": {"agents": ["player"], "enable": "train"}},
    }
    assert reference_problems(tree(**changes)) == {}


def test_training_keeps_what_exists_in_it() -> None:
    whole = config(agents={"player": {"model": "main", "buffer": "rollouts"}, "bot": {"enable": "deploy"}})
    part = active(whole)
    assert list(part.agents) == ["player"]
    assert part.agents["player"].buffer == "rollouts"
    assert part.trainers == whole.trainers


def test_deployment_has_no_learning_half_and_records_nothing() -> None:
    part = active(config(mode="deploy"))
    assert (part.buffers, part.trainers) == ({}, {})
    assert part.agents["player"].buffer is None
    assert part.agents["player"].model == "main"


def test_a_buffer_of_both_modes_records_nothing_when_deployed() -> None:
    part = active(config(mode="deploy", buffers={"rollouts": {"enable": "both"}}))
    assert list(part.buffers) == ["rollouts"]
    assert part.agents["player"].buffer is None


def test_the_config_itself_stays_as_it_was() -> None:
    whole = config(mode="deploy")
    active(whole)
    assert whole.agents["player"].buffer == "rollouts"
