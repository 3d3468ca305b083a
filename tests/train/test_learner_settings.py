"""From the config of an algorithm to its estimator and loss."""

import pytest
from pydantic import TypeAdapter

from app.algorithms.combined_estimators import OwnValueTargets, Upgoing
from app.algorithms.estimators import Estimator, Gae, VTrace
from app.algorithms.value_heads import Head, PerHead
from app.algorithms.vtrace import Clips
from app.config.algorithms import TrajectoryAlgorithm
from app.config.training import TrainInput
from train.learner_settings import policy_settings, reward_settings


@pytest.mark.parametrize(
    ("algorithm", "estimator"),
    [
        ({"kind": "ppo"}, Gae(0.99, 0.95)),
        ({"kind": "a2c", "value_lambda": 0.8}, OwnValueTargets(Gae(0.99, 1.0), 0.99, 0.8)),
        ({"kind": "appo", "gamma": 0.9, "upgo_coef": 0.5}, Upgoing(VTrace(0.9, 1.0, Clips()), 0.9, 0.5)),
        (
            {"kind": "impala", "value_lambda": 0.8, "upgo_coef": 1.0},
            OwnValueTargets(Upgoing(VTrace(0.99, 1.0, Clips()), 0.99, 1.0), 0.99, 0.8),
        ),
    ],
)
def test_an_algorithm_has_the_estimator_that_its_config_names(
    algorithm: dict[str, object], estimator: Estimator
) -> None:
    read = TypeAdapter[TrajectoryAlgorithm](TrajectoryAlgorithm).validate_python(algorithm)
    assert policy_settings(read, 1).estimator == estimator


def test_each_named_reward_has_the_estimator_of_its_head_in_the_models_order() -> None:
    heads = {"health": {"weight": 0.3, "gamma": 0.9}, "win": {"advantage_lambda": 0.5}}
    for kind, first, second in (
        ("ppo", Gae(0.99, 0.5), Gae(0.9, 0.95)),
        ("impala", VTrace(0.99, 0.5, Clips()), VTrace(0.9, 1.0, Clips())),
    ):
        read = TypeAdapter[TrajectoryAlgorithm](TrajectoryAlgorithm).validate_python({"kind": kind, "heads": heads})
        settings = policy_settings(read, 1, ("win", "health"))
        assert settings.estimator == PerHead((first, second))
        assert settings.heads == (Head("win", 1.0), Head("health", 0.3))


def test_the_scale_of_a_named_reward_has_the_discount_of_its_head() -> None:
    algorithm = {"kind": "ppo", "gamma": 0.95, "heads": {"win": {}, "health": {"gamma": 0.9}}}
    wanted = TypeAdapter(TrainInput).validate_python({"buffer": "b", "algorithm": algorithm})
    settings = reward_settings(wanted, ("win", "health"))
    assert settings is not None
    assert settings.gammas == (0.95, 0.9)
    assert reward_settings(wanted) is None
