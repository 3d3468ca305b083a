"""What one task does, in this process."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.algorithms.evolution import noise
from app.errors import TrainingError
from app.models.depending import acting_parameters
from app.models.module import build_module, to_arrays
from train.evolution.play import PRESENT, Candidate, Job, Share, play

from .small import LEVEL, NO_NUMBER, THREE_NUMBERS

FACTORY, KWARGS = "app.games.cartpole.model:build", {"hidden": 4}
JOB = Job(FACTORY, KWARGS, to_arrays(build_module(FACTORY, KWARGS, 0)), "CartPole-v1", 30)


def test_the_same_share_returns_the_same_games() -> None:
    share = Share((Candidate(1, 0.5), Candidate(1, -0.5), PRESENT), (10, 11))
    played = play(JOB, share)
    assert played == play(JOB, share)
    assert [len(returns) for returns in played.returns] == [2, 2, 2]
    assert played.ticks == sum(map(sum, played.returns))  # CartPole pays 1 a tick.


def test_what_a_candidate_returns_does_not_depend_on_those_beside_it() -> None:
    candidates, games = (Candidate(1, 0.5), Candidate(2, -0.5), PRESENT), (10, 11)
    together = play(JOB, Share(candidates, games)).returns
    alone = tuple(play(JOB, Share((candidate,), games)).returns[0] for candidate in reversed(candidates))
    assert together == tuple(reversed(alone))


def test_a_candidate_is_the_present_weights_and_its_noise() -> None:
    module = build_module(FACTORY, KWARGS, 0)
    parameters = acting_parameters(module)
    weights = torch.nn.utils.parameters_to_vector(parameters).detach()
    moved = weights - 0.5 * torch.from_numpy(noise(7, weights.numel()))
    torch.nn.utils.vector_to_parameters(moved, parameters)
    wanted = play(replace(JOB, arrays=to_arrays(module)), Share((PRESENT,), (1, 2, 3, 4)))
    assert play(JOB, Share((Candidate(7, -0.5),), (1, 2, 3, 4))) == wanted


def test_parameters_that_no_action_depends_on_have_no_noise() -> None:
    module = build_module(FACTORY, KWARGS, 0)
    acting = {id(parameter) for parameter in acting_parameters(module)}
    names = {name.partition(".")[0] for name, parameter in module.named_parameters() if id(parameter) in acting}
    assert names == {"policy"}


def test_a_recurrent_policy_of_real_actions_plays() -> None:
    kwargs = {
        "observation": {"shape": [3]},
        "action": {"shape": [1], "low": -2.0, "high": 2.0},
        "memory": {"kind": "gru", "units": 4},
    }
    factory = "app.models.networks.policy:build"
    job = Job(factory, kwargs, to_arrays(build_module(factory, kwargs, 0)), "Pendulum-v1", 5)
    (returns,) = play(job, Share((Candidate(3, 0.1),), (0,))).returns
    assert np.isfinite(returns).all()


def test_a_game_without_an_end_is_cut() -> None:
    assert play(replace(JOB, env=LEVEL, episode_ticks=9), Share((PRESENT,), (0,))).ticks == 9


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("NoSuchGame-v0", "evolution.env is NoSuchGame-v0, which cannot be made"),
        (
            THREE_NUMBERS,
            r"SparringThreeNumbers-v0 observes arrays of the shapes \[\(3,\)\]; the network takes \[\(4,\)\]",
        ),
        (NO_NUMBER, "a game of SparringNoNumber-v0 with seed 5 returned nan; allowed are finite rewards"),
    ],
)
def test_an_environment_that_does_not_do_is_named(env: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        play(replace(JOB, env=env), Share((PRESENT,), (5,)))
