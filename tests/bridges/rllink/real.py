"""RLlib's own external client, of the Ray that is installed."""

import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np

from tests.bridges.running import Running

NAMES = {
    "encoder.actor_encoder.net.mlp.0.weight": "policy.0.weight",
    "encoder.actor_encoder.net.mlp.0.bias": "policy.0.bias",
    "encoder.actor_encoder.net.mlp.2.weight": "policy.2.weight",
    "encoder.actor_encoder.net.mlp.2.bias": "policy.2.bias",
    "pi.log_std_clip_param_const": 20.0,
    "pi.net.mlp.0.weight": "policy.4.weight",
    "pi.net.mlp.0.bias": "policy.4.bias",
}
"""Parameters of RLlib's default module for the policy of CartPole."""
CLIENT = """
import sys
from ray.rllib.examples.envs.classes.utils.dummy_external_client import _dummy_external_client
_dummy_external_client(int(sys.argv[1]))
"""
PLAYED_S = 150.0


def rllib_config() -> bytes:
    """Returns what clients build their module from."""
    from ray.rllib.algorithms.ppo import PPOConfig  # noqa: PLC0415  # Takes seconds.
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: PLC0415

    config = PPOConfig().environment(
        observation_space=gym.spaces.Box(-np.inf, np.inf, (4,), np.float32), action_space=gym.spaces.Discrete(2)
    )
    config = config.env_runners(rollout_fragment_length=64)
    model = DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False)
    return pickle.dumps(config.rl_module(model_config=model))


def external_client(bridge: Running) -> str:
    """Plays RLlib's example client, CartPole without an end, until the bridge is over; returns what it printed."""
    command = [sys.executable, "-u", "-c", CLIENT, str(bridge.port)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        bridge.thread.join(PLAYED_S)
    finally:
        client.kill()
        output, _ = client.communicate(timeout=30)
    assert not bridge.thread.is_alive(), f"the client did not play: {output[-3000:]}"
    return output
