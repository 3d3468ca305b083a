"""A game as the plugin of Godot RL Agents plays it: it connects to its trainer, tells of its agents and obeys.

It stands in for Godot, which has no Python package. That it speaks as Godot does is shown by playing it with the
trainer's side of the package ``godot-rl``. Its agents balance poles: run ``python game.py PORT AGENTS``.
"""

import json
import socket
import sys
from typing import Any, BinaryIO

import gymnasium as gym

CONNECT_S = 30.0


class Game:
    """Poles for several agents, each reset in the frame in which it falls."""

    def __init__(self, agents: int, pictures: bool = False) -> None:
        self.envs = [gym.make("CartPole-v1") for _ in range(agents)]
        self.pictures = pictures
        self.seeds = list(range(agents))
        self.seen: list[Any] = []
        self.frames: list[dict[str, Any]] = []
        """What the trainer sent."""

    def play(self, port: int) -> None:
        """Plays until the trainer says that it closes."""
        with socket.create_connection(("127.0.0.1", port), CONNECT_S) as link:
            whole = link.makefile("rb")
            while (frame := receive(whole))["type"] != "close":
                self.frames.append(frame)
                answer = getattr(self, f"on_{frame['type']}")(frame)
                if answer is not None:
                    send(link, answer | {"type": "step" if frame["type"] == "action" else frame["type"]})
            self.frames.append(frame)

    def on_handshake(self, frame: dict[str, Any]) -> None:
        assert (frame["major_version"], frame["minor_version"]) == ("0", "7")

    def on_env_info(self, frame: dict[str, Any]) -> dict[str, Any]:
        seen: dict[str, Any] = {"obs": {"size": [4], "space": "box"}}
        if self.pictures:
            seen["camera_2d"] = {"size": [2, 2, 1], "space": "box"}
        return {
            "n_agents": len(self.envs),
            "observation_space": [seen] * len(self.envs),
            "action_space": [{"push": {"size": 2, "action_type": "discrete"}}] * len(self.envs),
            "agent_policy_names": ["shared_policy"] * len(self.envs),
        }

    def on_reset(self, frame: dict[str, Any]) -> dict[str, Any]:
        self.seen = [env.reset(seed=seed)[0] for seed, env in zip(self.seeds, self.envs, strict=True)]
        return {"obs": self._obs()}

    def on_action(self, frame: dict[str, Any]) -> dict[str, Any]:
        rewards, done = [], []
        for number, (env, action) in enumerate(zip(self.envs, frame["action"], strict=True)):
            self.seen[number], reward, terminated, truncated, _ = env.step(action["push"])
            rewards.append(reward)
            done.append(terminated or truncated)
            if done[-1]:
                self.seen[number], _ = env.reset()
        return {"obs": self._obs(), "reward": rewards, "done": done}

    def _obs(self) -> list[dict[str, Any]]:
        camera = {"camera_2d": bytes([0, 1, 254, 255]).hex()} if self.pictures else {}
        return [{"obs": seen.tolist(), **camera} for seen in self.seen]


def receive(whole: BinaryIO) -> dict[str, Any]:
    length = int.from_bytes(whole.read(4), "little")
    message: dict[str, Any] = json.loads(whole.read(length))
    return message


def send(link: socket.socket, message: object) -> None:
    body = json.dumps(message).encode()
    link.sendall(len(body).to_bytes(4, "little") + body)


if __name__ == "__main__":
    Game(int(sys.argv[2])).play(int(sys.argv[1]))
