"""CartPole-v1 is learned in this process by the shipped configs; docs/proofs.md has the curves."""

import pytest

from .conftest import Tell
from .learning import Learning

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]
SOLVED = 475
STALE = "trainers.main.publish_every_updates=4"
"""Games are played by weights that are up to four updates old, so that correcting for them matters."""
PPO_OF_BASELINES_STEPS = 61_000
"""Environment steps that the tuned PPO of Stable-Baselines3 took."""
DQN_OF_BASELINES_STEPS = 50_000
"""Environment steps of the tuned DQN of Stable-Baselines3 (rl-baselines3-zoo)."""


@pytest.mark.fast_proof
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ppo_solves_cartpole(told: Tell, seed: int) -> None:
    proof = told(Learning("rl.yaml", seed).run(100_000, promising=400))
    assert proof.mean_return >= SOLVED, proof.line()


@pytest.mark.fast_proof
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ppo_with_games_that_wait_takes_no_more_steps_than_its_peer(told: Tell, seed: int) -> None:
    proof = told(Learning("ppo_wait.yaml", seed).run(PPO_OF_BASELINES_STEPS, promising=350))
    assert proof.mean_return >= SOLVED, proof.line()
    assert proof.env_steps <= PPO_OF_BASELINES_STEPS


@pytest.mark.fast_proof
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trpo_solves_cartpole(told: Tell, seed: int) -> None:
    proof = told(Learning("trpo.yaml", seed).run(100_000, promising=400))
    assert proof.mean_return >= SOLVED, proof.line()


def test_a2c_solves_cartpole(told: Tell) -> None:
    proof = told(Learning("a2c.yaml", 0).run(150_000, promising=400))
    assert proof.mean_return >= SOLVED, proof.line()


@pytest.mark.fast_proof
@pytest.mark.parametrize("config", ["impala.yaml", "appo.yaml"])
def test_algorithms_that_correct_for_older_weights_solve_cartpole(told: Tell, config: str) -> None:
    proof = told(Learning(config, 0, changes=[STALE]).run(150_000, promising=400))
    assert proof.mean_return >= SOLVED, proof.line()


def test_dqn_takes_no_more_steps_than_its_peer(told: Tell) -> None:
    proof = told(Learning("dqn.yaml", 0).run(DQN_OF_BASELINES_STEPS, promising=400))
    assert proof.mean_return >= SOLVED, proof.line()
    assert proof.env_steps <= DQN_OF_BASELINES_STEPS


def test_discrete_soft_actor_critic_solves_cartpole(told: Tell) -> None:
    proof = told(Learning("sac_discrete.yaml", 0).run(150_000, promising=300))
    assert proof.mean_return >= SOLVED, proof.line()
