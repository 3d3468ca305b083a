"""A game as Unity's ML-Agents plays it: it calls its trainer, tells of its agents and obeys.

It stands in for Unity, which has no Python package. That it speaks as Unity does is shown by playing it with the
trainer's side of the package ``mlagents-envs``.
"""

from typing import Any

import grpc
import gymnasium as gym

from app.bridges.unity import unity_pb2 as pb

CONNECT_S = 30.0
EXCHANGE = "/communicator_objects.UnityToExternalProto/Exchange"
POLES = "Poles?team=0"


class Game:
    """Poles for several agents; an agent whose pole falls is done, and a new one takes its place in the same frame."""

    def __init__(self, agents: int, behavior: pb.Behavior | None = None, masked: bool = False) -> None:
        self.envs = [gym.make("CartPole-v1") for _ in range(agents)]
        spec = pb.ActionSpec(discrete_actions=1, discrete_branch_sizes=[2])
        self.behavior = behavior or pb.Behavior(name=POLES, action_spec=spec)
        self.masked = masked
        self.seeds = list(range(agents))
        self.eyes: list[pb.Observation] = []
        """What each agent sees beside its pole."""
        self.next_id = 0
        self.version = "1.5.0"
        self.orders: list[pb.Orders] = []
        """What the trainer wanted."""
        self.falls = 0

    def play(self, port: int) -> None:
        """Plays until the trainer ends it."""
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            exchange = channel.unary_unary(
                EXCHANGE, request_serializer=pb.Envelope.SerializeToString, response_deserializer=pb.Envelope.FromString
            )

            def say(said: pb.FromGame | None) -> Any:
                envelope = pb.Envelope(header=pb.Header(status=200), from_game=said)
                return exchange(envelope, timeout=CONNECT_S, wait_for_ready=True)

            introduction = pb.Introduction(name="poles", communication_version=self.version, package_version="2.0.0")
            answer = say(pb.FromGame(introduction=introduction))
            told = False
            if answer.header.status == 200:
                assert answer.to_game.welcome.communication_version == "1.5.0"
                answer = say(None)
            while answer.header.status == 200:
                orders = answer.to_game.orders
                self.orders.append(orders)
                frame = self.reset() if orders.command == pb.COMMAND_RESET else self.step(orders)
                said = pb.FromGame(frame=frame)
                if not told:
                    said.introduction.CopyFrom(introduction)
                    said.introduction.behaviors.append(self.behavior)
                    told = True
                answer = say(said)

    def reset(self) -> pb.Frame:
        self.ids = [self.new_id() for _ in self.envs]
        agents = [self.agent(n, env.reset(seed=self.seeds[n])[0], 0.0) for n, env in enumerate(self.envs)]
        return self.frame(agents)

    def step(self, orders: pb.Orders) -> pb.Frame:
        agents = []
        actions = orders.actions[self.behavior.name].actions
        for number, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            seen, reward, terminated, truncated, _ = env.step(action.discrete[0])
            over = terminated or truncated
            agents.append(self.agent(number, seen, float(reward), done=over, max_step_reached=truncated))
            if over:
                self.falls += 1
                self.ids[number] = self.new_id()
                agents.append(self.agent(number, env.reset()[0], 0.0))
        return self.frame(agents)

    def frame(self, agents: list[pb.Agent]) -> pb.Frame:
        return pb.Frame(agents={self.behavior.name: pb.Agents(agents=agents)})

    def agent(self, number: int, seen: Any, reward: float, **ended: bool) -> pb.Agent:
        sensor = pb.Observation(shape=[4], floats=pb.Floats(data=seen.tolist()), name="pole")
        mask = [True, False] if self.masked else []
        return pb.Agent(
            id=self.ids[number], observations=[sensor, *self.eyes], reward=reward, action_mask=mask, **ended
        )

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id
