"""Learns connect four from the visits of a search that plays itself, in this process, by a shipped config."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import nn

from app.agents.agent import AgentContext
from app.agents.outbox import Outbox
from app.agents.search_agent import SearchAgent
from app.agents.unroll import Unroll
from app.config.active import active
from app.config.load import load
from app.games.connect_four.rules import Position
from app.models.model import Output
from app.models.module import build_module, spec_of
from app.models.question import Decision, Question
from app.planning.game import Evaluation, Evaluator
from app.planning.search import SearchSettings, search
from app.replay.supply import joined
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.stores.buffer_settings import buffer_settings
from app.stores.supplies import make_supply
from app.types import Purpose, Version
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

from .learning import CONFIGS
from .rollouts import tensors

SIDE_BY_SIDE = 32
"""Games whose positions are judged at once."""
DEADLINE_S = 600.0
"""Of so many games."""


class Served:
    """A network in this process, asked by games side by side: it answers once all of them wait."""

    def __init__(self, module: nn.Module) -> None:
        """Serves a network, as it is whenever it is asked."""
        self.spec = spec_of(module)
        self.version = Version(1, 0)
        self.playing = 0
        """Games that ask."""
        self._module = module
        self._waiting: list[tuple[Any, asyncio.Future[Output]]] = []

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Refuses: a search asks for evaluations."""
        raise NotImplementedError("a search asks for evaluations")

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns the network's answer to some positions."""
        answer: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._waiting.append((observation, answer))
        self.answer_if_all_wait()
        return await answer

    def answer_if_all_wait(self) -> None:
        """Asks the network once for all games."""
        if not self._waiting or len(self._waiting) < self.playing:
            return
        waiting, self._waiting = self._waiting, []
        with torch.no_grad():
            output = self._module(torch.from_numpy(np.concatenate([observation for observation, _ in waiting])))
        logits, values = output.dist_inputs.numpy(), output.value.numpy()
        ends = np.cumsum([len(observation) for observation, _ in waiting])
        for end, (observation, answer) in zip(ends, waiting, strict=True):
            rows = slice(end - len(observation), end)
            answer.set_result(Output({"dist_inputs": logits[rows], "value": values[rows]}, None, self.version))

    async def ensure(self, version: Version | None) -> Version:
        """Returns the version that plays."""
        return version or self.version

    def release(self, version: Version) -> None:
        """Holds nothing."""


class SearchLearning:
    """Plays itself and learns by turns."""

    def __init__(self, config: str, seed: int, changes: Sequence[str] = ()) -> None:
        """Builds network, learner and buffer.

        Args:
          config: Name of a shipped file with an agent ``player`` that searches.
          seed: In place of the file's.
          changes: ``dotted.key=value``.
        """
        self.seed = seed
        self.games = 0
        """Games played."""
        self.moves = 0
        """Of both sides."""
        self.seconds = 0.0
        """CPU time of games and learning."""
        self._numbers = count(1)
        whole = active(load(CONFIGS / config, [f"run.seed={seed}", *changes]))
        (trainer,) = whole.trainers.values()
        model, wanted = whole.models[trainer.model], trainer.inputs[0]
        self.module: nn.Module = build_module(model.factory, model.kwargs, seed)
        spec = spec_of(self.module)
        self._agent = whole.agents["player"]
        self._served = Served(self.module)
        self._outbox = Outbox(spec, 10**9, lambda: None)
        self._supply = make_supply(spec, buffer_settings(whole, str(wanted.buffer)), 0)
        self._learner = wrap(trainer, self.module, Place()).learner(partial(make_learner, wanted, spec))
        self._updates = 0

    def run(self, games: int) -> None:
        """Plays so many games, and learns from them."""
        begun_s = time.process_time()
        asyncio.run(asyncio.wait_for(self._play(games), DEADLINE_S))
        self._learn()
        self.seconds += time.process_time() - begun_s

    def _learn(self) -> None:
        self._supply.insert(self._outbox.take())
        while self._supply.batches(1):
            parts = self._supply.draw()
            if parts is None:
                return
            shuffle = torch.Generator().manual_seed(derive(self.seed, 0, self._updates))
            self._learner.update(tensors(joined(parts)), shuffle)
            self._updates += 1
            self._served.version = Version(1, self._updates)

    async def _play(self, games: int) -> None:
        left = iter(range(games))
        self._served.playing = min(games, SIDE_BY_SIDE)

        async def one_after_another() -> None:
            for _ in left:
                await self._game()
            self._served.playing -= 1
            self._served.answer_if_all_wait()

        async with asyncio.TaskGroup() as group:
            for _ in range(self._served.playing):
                group.create_task(one_after_another())

    async def _game(self) -> None:
        players = [self._player(next(self._numbers)) for _ in range(2)]
        position, moves = Position.first(), 0
        while not position.over:
            seen = {"observation": position.planes().tolist(), "action_mask": position.legal.astype(int).tolist()}
            answer: Any = await players[moves % 2].on_tick(seen)
            position, moves = position.play(answer["action"]), moves + 1
        self.games, self.moves = self.games + 1, self.moves + moves
        for at, agent in enumerate(players):
            reward = 0.0 if not position.lost else 1.0 if at == (moves - 1) % 2 else -1.0
            last = {"observation": position.planes().tolist(), "reward": reward, "terminated": True}
            await agent.on_episode(last, EndCause.STOP)

    def _player(self, number: int) -> SearchAgent:
        context = AgentContext(
            session=f"g{number}",
            purpose=Purpose.TRAIN,
            rng=Draws(derive(self.seed, number)),
            model=self._served,
            unroll=Unroll(number, None, self._outbox.add),
            report=lambda *_: None,
            board=Board(Game(f"g{number}"), "player", 1.0),
        )
        return SearchAgent(context, **self._agent.kwargs)


Player = Callable[[Position], int]


def by_chance(seed: int) -> Player:
    """Returns a player that drops stones at random."""
    rng = np.random.default_rng(seed)
    return lambda position: int(rng.choice(np.flatnonzero(position.legal)))


def by_network(module: nn.Module) -> Player:
    """Returns a player that takes the most probable column, without a search."""
    return lambda position: int(judged(module, [position]).priors[0].argmax())


def by_search(evaluator: Evaluator[Position], simulations: int) -> Player:
    """Returns a player that takes the most visited column, as evaluated games do."""
    settings = SearchSettings(simulations)
    return lambda position: int(search(position, evaluator, settings).visits.argmax())


@torch.no_grad()
def judged(module: nn.Module, positions: Sequence[Position]) -> Evaluation:
    """Returns what a network thinks of positions."""
    output = module(torch.from_numpy(np.stack([position.planes() for position in positions])))
    legal = torch.from_numpy(np.stack([position.legal for position in positions]))
    priors = output.dist_inputs.masked_fill(~legal, -torch.inf).softmax(-1)
    return Evaluation(priors.numpy(), output.value.clamp(-1, 1).numpy())


def score(player: Player, other: Player, games: int, openings: int = 0, seed: int = 0) -> float:
    """Returns wins and half the draws of ``player`` as a share of all games; each side begins every other one.

    Args:
      player: Whose score it is.
      other: Against whom.
      games: How many.
      openings: Moves that are drawn at random in front of each game, so that two players who never err differently
        play no game twice.
      seed: Of the openings.
    """
    total, draw = 0.0, by_chance(seed)
    for game in range(games):
        position, sides = Position.first(), (player, other)
        for _ in range(openings):
            position = position.play(draw(position))
        mover = game % 2
        while not position.over:
            position, mover = position.play(sides[mover](position)), 1 - mover
        total += float(mover == 1) if position.lost else 0.5  # Who would move has lost.
    return total / games
