"""A template in Bray's layout, with every key that its launch reads."""

from copy import deepcopy
from typing import Any

MODEL: dict[str, Any] = {
    "kind": "model",
    "module": "shooter.models.net",
    "checkpoint_interval": None,
    "checkpoint": None,
    "max_batch_size": 1,
    "num_workers": 0,
    "cpus_per_worker": 0.5,
    "gpus_per_worker": 0.0,
    "memory_per_worker": 1024,
    "use_onnx": "train",
    "local_mode": True,
    "override_model": True,
    "tensorboard_graph": True,
    "tensorboard_step": True,
}
WHOLE: dict[str, Any] = {
    "project": "./shooter-Game",
    "trial": "ppo-v0",
    "mode": "train",
    "dump_state": True,
    "net": MODEL,
    "held_source": {
        "kind": "source", "enable": "train", "module": "shooter.sources", "func": "held", "num_workers": None,
        "epoch": 9,
    },
    "games": {
        "kind": "source", "enable": "train", "module": "shooter.sources", "func": None, "num_workers": 2, "epoch": 100,
    },
    "held_buffer": {
        "kind": "buffer", "enable": "train", "sources": ["held_source"], "size": 8, "batch_size": 64, "num_workers": 1,
        "density": 100,
    },
    "game_buffer": {
        "kind": "buffer", "enable": "train", "sources": ["games"], "size": 8, "batch_size": 64, "num_workers": 1,
        "density": 100,
    },
    "own_buffer": {"kind": "buffer", "enable": "train", "size": 8, "batch_size": 128, "num_workers": 4, "density": 2},
    "shooter": {"kind": "agent", "module": "shooter.agents", "class": "Shooter", "aggression": 0.7},
    "counter": {"kind": "agent", "module": "shooter.counting", "class": "Counter"},
    "server": {
        "kind": "actor", "port": 8000, "num_workers": 2, "actors_per_worker": 10, "cpus_per_worker": 1.0,
        "memory_per_worker": 512, "use_tcp": False, "use_gateway": "node", "agents": ["shooter", "counter"],
        "episode_length": 128, "episode_save_interval": 1000, "serialize": "proto",
        "tick_input_proto": {"module": "shooter.tick_pb2", "message": "In"},
        "tick_output_proto": {"module": "shooter.tick_pb2", "message": "Out"},
    },
    "arena_view": {"kind": "render", "module": "shooter.renders", "func": "view"},
    "learner": {
        "kind": "trainer", "enable": "train", "module": "shooter.learning", "class": "Mixed", "model": "net",
        "buffers": ["game_buffer", "own_buffer"], "buffer_weights": [0.25, 0.75],
        "eval": {"buffer": "held_buffer", "interval": 500, "steps": 5}, "use_gpu": None, "num_workers": 2,
        "cpus_per_worker": None, "batch_size": 3, "batch_kind": "concate", "prefetch_size": 1, "max_reuse": 1,
        "learning_rate": None, "clip_grad_max_norm": 1.0, "weights_publish_interval": 2, "num_steps": 900,
    },
    "network": {"kind": "config", "state_space": [4, 42, 42], "action_space": 9, "names": {"a": 1}},
}  # fmt: skip
"""Imitation and reinforcement at once, as its ``template/config.yaml``."""


def template(**changes: Any) -> dict[str, Any]:
    """Returns the template with other values of some sections: a mapping is merged, anything else replaces."""
    found = deepcopy(WHOLE)
    for name, change in changes.items():
        found[name] = {**found.get(name, {}), **change} if isinstance(change, dict) else change
    return found
