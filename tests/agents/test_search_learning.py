"""A network that plays Nim against itself by search learns to play it perfectly without."""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from app.agents.agent import AgentContext
from app.agents.outbox import Outbox
from app.agents.search_agent import SearchAgent
from app.agents.unroll import Unroll
from app.algorithms.estimators import Gae
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.models.model import Output
from app.models.question import Decision, Question
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose, Version
from tests.plain_stepper import plain_stepper
from tests.planning.nim import MOST, Nim
from tests.small_policy import SmallPolicy, small_policy

SETTINGS = PolicySettings(Gae(1.0, 1.0), Cloning(0.0, 1.0, 2.0, 0.0), False, 4, 1, towards_target=True)


class Served:
    """A network, asked in this process."""

    def __init__(self, module: SmallPolicy) -> None:
        self.spec = replace(module.spec, policy_target=True)
        self._module = module

    def decide(self, question: Question) -> Awaitable[Decision]:
        raise NotImplementedError("a search asks for evaluations")

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        with torch.no_grad():
            output = self._module(torch.from_numpy(observation))
        return Output({"dist_inputs": output.dist_inputs.numpy(), "value": output.value.numpy()}, None, Version(1, 0))

    async def ensure(self, version: Version | None) -> Version:
        return version or Version(1, 0)

    def release(self, version: Version) -> None:
        """Holds nothing."""


def player(served: Served, number: int, outbox: Outbox) -> SearchAgent:
    context = AgentContext(
        session=f"g{number}",
        purpose=Purpose.TRAIN,
        rng=Draws(derive(0, number)),
        model=served,
        unroll=Unroll(number, None, outbox.add),
        report=lambda *_: None,
        board=Board(Game(f"g{number}"), "player", 1.0),
    )
    return SearchAgent(context, "tests.planning.nim:Nim", 16, noise_share=0.5)


async def play(players: list[SearchAgent], position: Nim) -> None:
    """Plays a game; who takes the last match wins."""
    moves = 0
    while not position.over:
        seen = {"observation": position.planes().tolist(), "action_mask": position.legal.astype(int).tolist()}
        answer: Any = await players[moves % 2].on_tick(seen)
        position, moves = position.play(answer["action"]), moves + 1
    for at, agent in enumerate(players):
        reward = 1.0 if at == (moves - 1) % 2 else -1.0
        await agent.on_episode({"observation": position.planes().tolist(), "reward": reward, "terminated": True},
                               EndCause.STOP)  # fmt: skip


@pytest.mark.slow
async def test_the_network_alone_plays_as_the_search_has_taught_it() -> None:
    module = small_policy(0, MOST + 1, 3)
    served = Served(module)
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 0.03), 1e9)
    learner = PolicyLearner(module, served.spec, stepper, SETTINGS, 1, lambda x: x)
    outbox, shuffle = Outbox(served.spec, 10**6, lambda: None), torch.Generator().manual_seed(0)
    for update in range(25):
        for game in range(9):
            numbers = [2 * (9 * update + game) + side for side in (1, 2)]
            await play([player(served, number, outbox) for number in numbers], Nim(1 + game % MOST))
        learner.update({name: torch.from_numpy(column) for name, column in outbox.take().items()}, shuffle)
    with torch.no_grad():
        output = module(torch.eye(MOST + 1))
    masked = np.where([Nim(n).legal for n in range(MOST + 1)], output.dist_inputs.numpy(), -np.inf)
    won = [n for n in range(1, MOST + 1) if n % 4]
    assert [int(masked[n].argmax()) + 1 for n in won] == [n % 4 for n in won]  # Leaves a multiple of four.
    assert [bool(output.value[n] > 0) for n in range(1, MOST + 1)] == [n % 4 > 0 for n in range(1, MOST + 1)]
