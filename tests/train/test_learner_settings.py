"""From the config of an algorithm to its estimator and loss."""

import pytest
from pydantic import TypeAdapter

from app.algorithms.combined_estimators import OwnValueTargets, Upgoing
from app.algorithms.estimators import Estimator, Gae, VTrace
from app.algorithms.vtrace import Clips
from app.config.algorithms import TrajectoryAlgorithm
from train.learner_settings import policy_settings


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
