"""The sum that a cluster must place."""

import pytest

from app.config.root import ExperimentConfig
from app.config.slots import Slot, refuse_if_too_big, slots, total
from app.errors import ConfigError


def config(mode: str = "train", **changes: object) -> ExperimentConfig:
    tree = {
        "run": {"project": "game", "trial": "one", "mode": mode},
        "models": {"main": {"factory": "a:b", "placement": "remote", "replicas": 2, "num_cpus": 1.5, "num_gpus": 0.5}},
        "agents": {"player": {"model": "main", "buffer": "rollouts"}},
        "actors": {"lobby": {"agents": ["player"], "replicas": 3, "num_cpus": 0.25, "memory_mb": 100}},
        "buffers": {"rollouts": {"num_cpus": 0.1}},
        "trainers": {"learner": {"model": "main", "inputs": [{"buffer": "rollouts"}], "workers": 2, "num_gpus": 1}},
        "stores": {"num_cpus": 0.2},
        **changes,
    }
    return ExperimentConfig.model_validate(tree)


def test_training_places_every_process_and_the_surge_of_an_update() -> None:
    assert set(slots(config())) == {
        Slot("actors.lobby", 3, 0.25, 0.0, 100),
        Slot("models.main", 2, 1.5, 0.5, 0),
        Slot("stores", 1, 0.2, 0.0, 0),
        Slot("buffers.rollouts", 1, 0.1, 0.0, 0),
        Slot("trainers.learner", 2, 0.5, 1.0, 0),
        Slot("trainers.learner read tasks", 2, 0.01, 0.0, 0),
        Slot("update of models.main", 1, 1.5, 0.5, 0),
    }


def test_the_total_counts_each_process() -> None:
    whole = total(slots(config()))
    assert whole.num_cpus == pytest.approx(3 * 0.25 + 2 * 1.5 + 0.2 + 0.1 + 2 * 0.5 + 2 * 0.01 + 1.5)
    assert whole.num_gpus == pytest.approx(2 * 0.5 + 2 * 1 + 0.5)
    assert whole.memory_mb == 300
    assert whole.processes == 12


def test_a_local_model_has_no_slot_of_its_own() -> None:
    components = [slot.component for slot in slots(config(models={"main": {"factory": "a:b", "num_cpus": 8}}))]
    assert "models.main" not in components
    assert "update of actors.lobby" in components


def test_deployment_places_no_learning_half() -> None:
    components = {slot.component for slot in slots(config(mode="deploy"))}
    assert components == {"actors.lobby", "models.main", "stores", "update of models.main"}


def test_many_small_shares_add_up_without_rounding_errors() -> None:
    assert total([Slot("a", 10, 0.1, 0.0, 0), Slot("b", 3, 0.1, 0.0, 0)]).num_cpus == 1.3


def test_a_config_that_just_fits_is_accepted() -> None:
    refuse_if_too_big(config(), cpus=6.57, gpus=3.5)


def test_too_few_cores_are_refused_with_the_sum_and_the_biggest_contributors() -> None:
    with pytest.raises(ConfigError, match=r"needs 6\.57, available 6\.5; biggest: models\.main 2 × 1\.5") as caught:
        refuse_if_too_big(config(), cpus=6.5)
    assert "GPU" not in str(caught.value).replace("num_gpus", "")


def test_too_few_gpus_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"GPUs: needs 3\.5, available 2; biggest: trainers\.learner 2 × 1,"):
        refuse_if_too_big(config(), cpus=100, gpus=2)


def test_gpus_are_left_out_where_their_number_is_unknown() -> None:
    refuse_if_too_big(config(), cpus=100, gpus=None)


def test_an_actor_that_scales_counts_at_its_most_and_a_gateway_counts() -> None:
    actor = {"agents": ["player"], "autoscaling": {"max_replicas": 7}, "use_gateway": "head"}
    placed = slots(config(actors={"lobby": actor}))
    assert Slot("actors.lobby", 7, 0.25, 0.0, 0) in placed
    assert Slot("gateway of actors.lobby", 1, 0.1, 0.0, 0) in placed
