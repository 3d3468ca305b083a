from pathlib import Path
from typing import Any

import pytest

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError, PluginError
from app.model_check import build_models, item_problems, model_problems, trained_spec
from app.models.distributions.categorical import Categorical
from app.models.module import spec_of

RL = Path(__file__).parents[1] / "configs" / "rl.yaml"
RECURRENT = {"observation": {"shape": [4]}, "action": {"choices": 2}, "memory": {"kind": "lstm", "units": 8}}


def config(factory: str, kwargs: dict[str, Any], mode: str = "train") -> ExperimentConfig:
    whole = load(RL, [f"run.mode={mode}"])
    model = whole.models["main"].model_copy(update={"factory": factory, "kwargs": kwargs})
    return active(whole.model_copy(update={"models": {"main": model}}))


def described(kwargs: dict[str, Any], mode: str = "train") -> ExperimentConfig:
    return config("app.models.networks.policy:build", kwargs, mode)


def test_a_recurrent_model_is_built_and_trained() -> None:
    recurrent = described(RECURRENT)
    assert list(build_models(recurrent)) == ["main"]
    assert len(trained_spec(recurrent, "main").states) == 2
    assert model_problems(recurrent) == {}


def test_a_recurrent_model_is_built_where_nobody_trains_it() -> None:
    deployed = described(RECURRENT, "deploy")
    assert len(spec_of(build_models(deployed)["main"]).states) == 2
    assert model_problems(deployed) == {}


def test_a_model_without_a_state_is_built_and_trained() -> None:
    plain = described({name: RECURRENT[name] for name in ("observation", "action")})
    assert list(build_models(plain)) == ["main"]
    assert trained_spec(plain, "main").action == Categorical(2)


def test_a_model_that_is_no_policy_is_not_trained() -> None:
    network = config("tests.small_policy:Scorer", {})
    refused = r"trainers\.main\.model: ppo cannot train models\.main: it is no policy"
    with pytest.raises(ConfigError, match=refused):
        build_models(network)
    with pytest.raises(ConfigError, match=refused):
        trained_spec(network, "main")
    assert list(model_problems(network)) == ["trainers.main.model"]


def test_a_model_that_is_no_policy_is_not_evolved() -> None:
    whole = load(RL.parent / "es.yaml")
    assert model_problems(whole) == {}
    model = whole.models["main"].model_copy(update={"factory": "tests.small_policy:Scorer", "kwargs": {}})
    problems = model_problems(whole.model_copy(update={"models": {"main": model}}))
    assert problems == {
        "evolution.model": "models.main cannot be evolved: it is no policy: its spec has outputs and no action"
    }


def test_a_factory_that_fails_is_named_with_what_it_raised() -> None:
    broken = config("tests.small_policy:small_policy", {"inputs": "x"})
    (problem,) = model_problems(broken).items()
    assert problem[0] == "models.main"
    assert problem[1].startswith("TypeError: ")
    with pytest.raises(PluginError, match="attribute spec"):
        build_models(config("tests.small_policy:broken_factory", {}))


VALUES = {**{name: RECURRENT[name] for name in ("observation", "action")}, "q": {}}
CRITICISED = {**{name: RECURRENT[name] for name in ("observation", "action")}, "critics": {}}
TABLE = {"capacity_items": 5000, "limiter": {"kind": "min_size", "min_size_items": 1024}}


def trained_by(kind: str, kwargs: dict[str, Any], *changes: str) -> ExperimentConfig:
    one = f"{{buffer: rollouts, batch_rows: 1024, algorithm: {{kind: {kind}}}}}"
    whole = load(RL, [f"trainers.main.inputs=[{one}]", *changes])
    model = whole.models["main"].model_copy(update={"factory": "app.models.networks.policy:build", "kwargs": kwargs})
    return active(whole.model_copy(update={"models": {"main": model}}))


@pytest.mark.parametrize(
    ("kind", "kwargs", "problem"),
    [
        ("dqn", CRITICISED, "its action is Categorical; allowed is one EpsilonGreedy, as a network with a part q has"),
        ("sac", VALUES, "its action is EpsilonGreedy; allowed is one choice, or bounded real numbers"),
        ("td3", CRITICISED, "its action is Categorical; allowed is bounded real numbers"),
        ("iql", {name: RECURRENT[name] for name in ("observation", "action")}, "Policy has no critics; describe them"),
    ],
)
def test_an_algorithm_is_refused_a_model_of_another_kind(kind: str, kwargs: dict[str, Any], problem: str) -> None:
    found = model_problems(trained_by(kind, kwargs, f"buffers.rollouts.table={TABLE}"))
    assert found["trainers.main.model"].startswith(f"{kind} cannot train models.main: {problem}")


def test_an_algorithm_is_refused_a_buffer_that_hands_out_something_else() -> None:
    place = "trainers.main.inputs.0.buffer"
    found = model_problems(trained_by("dqn", VALUES))
    assert found[place].startswith("got dqn with trajectories, allowed is a buffer with a table of transitions")
    found = model_problems(trained_by("ppo", RECURRENT, f"buffers.rollouts.table={TABLE}"))
    assert found[place].startswith("got ppo with transitions, allowed is a buffer without a table")
    assert model_problems(trained_by("dqn", VALUES, f"buffers.rollouts.table={TABLE}")) == {}


def test_shipped_configs_of_transitions_have_fitting_models_and_buffers() -> None:
    for name in ("dqn", "sac_discrete"):
        assert model_problems(active(load(RL.with_name(f"{name}.yaml"), []))) == {}


def test_a_table_that_is_too_large_to_be_saved_is_refused_with_its_size() -> None:
    """An item takes 84 bytes (two observations of 16) and 32 to be kept: 100,000 of them 11.1 MiB."""
    config = load(RL.with_name("dqn.yaml"), ["buffers.rollouts.table.save.max_mb=8"])
    problems = model_problems(active(config))
    assert "got 8, and a full table of 100000 items takes 11;" in problems["buffers.rollouts.table.save.max_mb"]
    with pytest.raises(ConfigError, match=r"save\.max_mb"):
        build_models(active(config))
    assert not model_problems(active(load(RL.with_name("dqn.yaml"), ["buffers.rollouts.table.save={}"])))


def own(learns_from: str, *changes: str) -> ExperimentConfig:
    algorithm = f"{{kind: custom, factory: 'tests.algorithms.test_custom:Idle', learns_from: {learns_from}}}"
    return active(load(RL, [f"trainers.main.inputs=[{{buffer: rollouts, algorithm: {algorithm}}}]", *changes]))


def test_an_algorithm_of_ones_own_gets_what_it_says_that_it_learns_from() -> None:
    assert model_problems(own("trajectories")) == {}
    (problem,) = model_problems(own("transitions")).values()
    assert "custom with trajectories, allowed is a buffer with a table of transitions" in problem
    table = f"buffers.rollouts.table={TABLE | {'item': {'kind': 'transition'}}}"
    assert model_problems(own("transitions", table)) == {}
    assert list(model_problems(own("trajectories", table))) == ["trainers.main.inputs.0.buffer"]


def test_an_algorithm_of_ones_own_that_cannot_be_made_is_told_before_anything_starts() -> None:
    broken = "{kind: custom, factory: 'tests.algorithms.test_custom:Idle', kwargs: {patience: -1}}"
    (problem,) = model_problems(
        active(load(RL, [f"trainers.main.inputs=[{{buffer: rollouts, algorithm: {broken}}}]"]))
    ).values()
    assert problem == "custom cannot train models.main: patience is -1; allowed is at least 0"


SCALED = {**{name: RECURRENT[name] for name in ("observation", "action")}, "popart": 0.01}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["trainers.main.strategy={kind: fsdp}"], "strategy fsdp splits or keeps a copy of; allowed are ddp and local"),
        (["trainers.main.optimizer.ema_decay=0.9"], "got optimizer.ema_decay 0.9, allowed is null"),
    ],
)
def test_a_value_with_a_scale_needs_its_head_whole_and_as_it_is(changes: list[str], problem: str) -> None:
    assert model_problems(trained_by("ppo", SCALED)) == {}
    assert problem in model_problems(trained_by("ppo", SCALED, *changes))["trainers.main.model"]


@pytest.mark.parametrize("more", ["first_policy_coef: 0.1", "teacher: {checkpoint: clones/x}"])
def test_a_recurrent_policy_is_kept_near_no_other(more: str) -> None:
    own = f"trainers.main.inputs=[{{buffer: rollouts, algorithm: {{kind: ppo, {more}}}}}]"
    assert "it carries a state" in model_problems(trained_by("ppo", RECURRENT, own))["trainers.main.model"]


def rewarded(rewards: str, *changes: str) -> ExperimentConfig:
    return active(load(RL, [f"trainers.main.inputs.0.rewards={rewards}", *changes]))


def test_a_hook_of_rewards_is_made_before_anything_starts() -> None:
    hook = "{factory: 'app.algorithms.shaping:Potential', kwargs: {potential: '%s', gamma: 0.98}}"
    assert model_problems(rewarded(f"{{shaping: {hook % 'tests.algorithms.test_shaping:height'}}}")) == {}
    problem = model_problems(rewarded(f"{{shaping: {hook % 'tests.algorithms.test_shaping:depth'}}}"))
    assert (
        "its rewards cannot be shaped: 'tests.algorithms.test_shaping' has no 'depth'" in problem["trainers.main.model"]
    )


def test_rewards_of_transitions_are_summed_up_already() -> None:
    table = f"buffers.rollouts.table={TABLE | {'item': {'kind': 'transition'}}}"
    one = "trainers.main.inputs=[{buffer: rollouts, algorithm: {kind: dqn}, rewards: {largest: 1.0}}]"
    (problem,) = item_problems(active(load(RL, [table, one]))).values()
    assert problem == "buffers.rollouts hands out transitions, whose rewards are summed up already; allowed is null"


def test_retrace_learns_from_trajectories() -> None:
    one = "trainers.main.inputs=[{buffer: rollouts, algorithm: {kind: sac, retrace_lambda: 0.9}}]"
    assert model_problems(trained_by("sac", CRITICISED, one)) == {}
    (problem,) = model_problems(trained_by("sac", CRITICISED, f"buffers.rollouts.table={TABLE}", one)).values()
    assert problem.startswith("got sac with transitions, allowed is a buffer without a table, or with one of sequences")
