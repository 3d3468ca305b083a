"""Runs where stable-baselines3 is: saves a model of each kind, and what it answers. ``python real.py FOLDER``."""

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

OUT = Path(sys.argv[1])
ROWS = 5


class Game(gym.Env):
    """Has any spaces."""

    def __init__(self, seen: gym.Space, done: gym.Space) -> None:
        self.observation_space, self.action_space = seen, done

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 1.0, False, bool(self.np_random.integers(4) == 0), {}


def box(*shape: int) -> gym.spaces.Box:
    return gym.spaces.Box(-3, 3, shape)


def pixels(*shape: int) -> gym.spaces.Box:
    return gym.spaces.Box(0, 255, shape, np.uint8)


def parts() -> gym.spaces.Dict:
    return gym.spaces.Dict({"z": box(3), "camera": pixels(1, 40, 40), "a": gym.spaces.Discrete(3)})


BOUNDS = gym.spaces.Box(np.array([-2, 0], np.float32), np.array([2, 0.3], np.float32))
CHOICE = gym.spaces.Discrete(3)
SMALL = {"buffer_size": 10}
MODELS: dict[str, tuple[Any, str, gym.Space, gym.Space, dict[str, Any]]] = {
    "ppo": (PPO, "MlpPolicy", box(4), CHOICE, {"policy_kwargs": {"net_arch": {"pi": [16], "vf": [8, 8]}}}),
    "ppo_linear": (PPO, "MlpPolicy", box(4), CHOICE, {"policy_kwargs": {"net_arch": []}}),
    "ppo_numbers": (PPO, "MlpPolicy", box(4), BOUNDS, {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}),
    "ppo_choices": (PPO, "MlpPolicy", box(2, 2), gym.spaces.MultiDiscrete([3, 2]), {}),
    "ppo_flat_pixels": (PPO, "MlpPolicy", pixels(1, 6, 6), CHOICE, {}),
    "ppo_one_hot": (PPO, "MlpPolicy", CHOICE, CHOICE, {}),
    "ppo_pixels": (PPO, "CnnPolicy", pixels(40, 40, 1), CHOICE, {}),
    "ppo_pixels_layers": (PPO, "CnnPolicy", pixels(40, 40, 1), CHOICE, {"policy_kwargs": {"net_arch": [8]}}),
    "a2c_own_pixels": (
        A2C, "CnnPolicy", pixels(1, 40, 40), CHOICE, {"policy_kwargs": {"share_features_extractor": False}},
    ),
    "a2c_parts": (A2C, "MultiInputPolicy", parts(), gym.spaces.MultiBinary(3), {}),
    "dqn": (DQN, "MlpPolicy", box(4), CHOICE, SMALL),
    "dqn_pixels": (DQN, "CnnPolicy", pixels(1, 40, 40), CHOICE, SMALL),
    "sac": (SAC, "MlpPolicy", box(4), BOUNDS, SMALL),
    "td3": (TD3, "MlpPolicy", box(4), BOUNDS, SMALL),
    "ddpg": (DDPG, "MlpPolicy", box(4), BOUNDS, SMALL),
}  # fmt: skip


def answers(model: Any, tensor: Any) -> dict[str, Any]:
    """Returns what a model answers, [ROWS, …]."""
    policy = model.policy
    with torch.no_grad():
        if isinstance(model, DQN):
            return {"values": policy.q_net(tensor)}
        if isinstance(model, SAC):
            mean, log_std, _ = policy.actor.get_action_dist_params(tensor)
            return {"mean": mean, "log_std": log_std}
        if isinstance(model, TD3):
            return {"squashed": policy.actor(tensor)}
        return {"value": policy.predict_values(tensor).squeeze(1)} | inside(
            policy.get_distribution(tensor).distribution
        )


def inside(distribution: Any) -> dict[str, Any]:
    """Returns what a distribution was made of."""
    if isinstance(distribution, list):
        return {"logits": torch.cat([one.logits for one in distribution], 1)}
    if isinstance(distribution, torch.distributions.Bernoulli):
        return {"chances": distribution.probs}
    if isinstance(distribution, torch.distributions.Normal):
        return {"mean": distribution.mean, "log_std": distribution.stddev.log()}
    return {"logits": distribution.logits}


def seen_as_sent(space: gym.Space, name: str, rows: Any) -> dict[str, Any]:
    """Returns what the network sees of observations, one-hot where they are whole numbers."""
    if isinstance(space, gym.spaces.Dict):
        found: dict[str, Any] = {}
        for part, inside in space.items():
            found |= seen_as_sent(inside, f"{name}/{part}", rows[part])
        return found
    if isinstance(space, gym.spaces.Discrete):
        return {name: np.eye(int(space.n), dtype=np.float32)[np.asarray(rows).reshape(-1)]}
    return {name: np.asarray(rows)}


def shake(model: Any, noise: torch.Generator) -> None:
    """Moves all weights away from their first values."""
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=noise))


def save(name: str, model: Any, noise: torch.Generator) -> None:
    shake(model, noise)
    space = model.observation_space
    space.seed(1)
    samples = [space.sample() for _ in range(ROWS)]
    is_dict = isinstance(space, gym.spaces.Dict)
    rows: Any = {part: np.stack([one[part] for one in samples]) for part in space} if is_dict else np.stack(samples)
    told = {name: x.numpy() for name, x in answers(model, model.policy.obs_to_tensor(rows)[0]).items()}
    actions, _ = model.predict(rows, deterministic=True)
    model.save(OUT / name)
    np.savez(OUT / f"{name}.npz", actions=actions, **seen_as_sent(space, "observation", rows), **told)


def save_normalised(noise: torch.Generator) -> None:
    envs = VecNormalize(DummyVecEnv([lambda: Game(box(4), CHOICE)]))
    model = PPO("MlpPolicy", envs, n_steps=64, batch_size=64, n_epochs=1, seed=3, device="cpu")
    model.learn(128)
    shake(model, noise)
    rows = np.stack([model.observation_space.sample() for _ in range(ROWS)])
    tensor = model.policy.obs_to_tensor(envs.normalize_obs(rows))[0]
    told = {name: x.numpy() for name, x in answers(model, tensor).items()}
    model.save(OUT / "normalised")
    envs.save(str(OUT / "vec_normalize.pkl"))
    np.savez(OUT / "normalised.npz", observation=rows, **told)


if __name__ == "__main__":
    generator = torch.Generator().manual_seed(7)
    for name, (algorithm, policy, seen, done, more) in MODELS.items():
        save(name, algorithm(policy, Game(seen, done), seed=1, device="cpu", **more), generator)
    save_normalised(generator)
