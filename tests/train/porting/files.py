"""Model files as Stable-Baselines3 lays them out, made by torch alone."""

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

FLAG = "ran.txt"
BOX = {
    ":type:": "<class 'gymnasium.spaces.box.Box'>",
    "dtype": "float32",
    "_shape": [4],
    "low": "[-3.]",
    "high": "[3.]",
}
CHOICE = {
    ":type:": "<class 'gymnasium.spaces.discrete.Discrete'>",
    "dtype": "int64",
    "n": "3",
    "start": "0",
    "_shape": [],
}


class Writes:
    """Writes a file when its pickle is loaded."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __reduce__(self) -> Any:
        return Path.touch, (self.flag,)


def actor_critic(units: int = 8, actions: int = 3) -> nn.ModuleDict:
    """Returns a network with the names of PPO's."""
    mlp = {
        "policy_net": nn.Sequential(nn.Linear(4, units), nn.Tanh()),
        "value_net": nn.Sequential(nn.Linear(4, 5), nn.Tanh()),
    }
    parts = {"mlp_extractor": nn.ModuleDict(mlp), "action_net": nn.Linear(units, actions), "value_net": nn.Linear(5, 1)}
    return nn.ModuleDict(parts)


def write(path: Path, tensors: Any, **data: Any) -> Path:
    """Writes a model file; every object of its ``data`` carries a pickle that would write a file beside it."""
    import pickle  # noqa: PLC0415  # What must never be loaded.

    bomb = base64.b64encode(pickle.dumps(Writes(path.parent / FLAG))).decode()
    told = {"observation_space": BOX, "action_space": CHOICE, "policy_kwargs": {}} | data
    armed = {name: {**part, ":serialized:": bomb} if isinstance(part, dict) else part for name, part in told.items()}
    weights = io.BytesIO()
    torch.save(tensors, weights)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data", json.dumps(armed))
        file.writestr("policy.pth", weights.getvalue())
        file.writestr("_stable_baselines3_version", "2.9.2")
    return path
