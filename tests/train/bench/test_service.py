from dataclasses import replace

import pytest

from app.config.active import active
from app.config.slots import slots, total
from train.bench.service import TIMED, Target, service_config
from train.bench.ticks import Plan


def test_only_what_is_measured_is_served() -> None:
    nothing = Plan(cells=False, cartpole=False, forwarded=False, recorded=False, memory=False)
    assert replace(nothing, cells=True).targets == ["echo"]
    assert replace(nothing, cartpole=True, memory=True).targets == ["echo", "cartpole"]
    assert replace(nothing, forwarded=True).targets == ["pair"]
    assert replace(nothing, recorded=True).targets == ["recorded"]


def test_the_same_policy_plays_with_a_recorder_and_without() -> None:
    config = active(service_config(["recorded"]))
    agents = config.actors["recorded"].agents
    assert agents == ("plain", "control", "recorded", "kept")
    assert {config.agents[name].model for name in agents} == {"main"}
    plain, control, recorded, kept = (config.agents[name].record for name in agents)
    assert plain is None
    assert control is None
    assert recorded is not None
    assert recorded.every == 100
    assert kept is not None
    assert (kept.every, kept.keep_ticks) == (None, 200)


@pytest.mark.parametrize("target", TIMED)
def test_of_the_agents_of_one_replica_the_last_is_timed(target: Target) -> None:
    config = active(service_config([target]))
    agents = config.actors[target].agents
    assert [config.metrics.timed(name) for name in agents] == [False, False, True]
    assert {config.agents[name].factory for name in agents} == {config.agents[agents[0]].factory}
    models = [config.agents[name].model for name in agents]
    assert models == ([None] * 3 if target == "timed_echo" else list(agents)), "a model's batches are timed by its name"


def test_the_service_fits_any_machine_and_learns_nothing() -> None:
    config = active(service_config(["echo", "cartpole", "pair"]))
    assert total(slots(config)).num_cpus == 0
    assert not config.buffers
    assert {name: actor.replicas for name, actor in config.actors.items()} == {"echo": 1, "cartpole": 1, "pair": 2}


def test_a_service_without_a_policy_loads_no_model() -> None:
    assert not service_config(["echo"]).models
