from pathlib import Path
from typing import Any

import pytest

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError, PluginError
from app.model_check import build_models, model_problems, trained_spec
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


def test_a_factory_that_fails_is_named_with_what_it_raised() -> None:
    broken = config("tests.small_policy:small_policy", {"inputs": "x"})
    (problem,) = model_problems(broken).items()
    assert problem[0] == "models.main"
    assert problem[1].startswith("TypeError: ")
    with pytest.raises(PluginError, match="attribute spec"):
        build_models(config("tests.small_policy:broken_factory", {}))
