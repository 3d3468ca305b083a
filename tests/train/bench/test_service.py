from app.config.active import active
from app.config.slots import slots, total
from train.bench.service import service_config
from train.bench.ticks import Plan


def test_only_what_is_measured_is_served() -> None:
    assert Plan(cells=True, cartpole=False, forwarded=False, memory=False).targets == ["echo"]
    assert Plan(cells=False, cartpole=True, forwarded=False, memory=True).targets == ["echo", "cartpole"]
    assert Plan(cells=False, cartpole=False, forwarded=True, memory=False).targets == ["pair"]


def test_the_service_fits_any_machine_and_learns_nothing() -> None:
    config = active(service_config(["echo", "cartpole", "pair"]))
    assert total(slots(config)).num_cpus == 0
    assert not config.buffers
    assert {name: actor.replicas for name, actor in config.actors.items()} == {"echo": 1, "cartpole": 1, "pair": 2}


def test_a_service_without_a_policy_loads_no_model() -> None:
    assert not service_config(["echo"]).models
