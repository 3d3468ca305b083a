import numpy as np
import pytest
import torch

from app.agents.outbox import Outbox
from app.algorithms.estimators import Gae
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.ppo import ClippedPolicy
from app.errors import BadPayloadError
from app.games.arena.arena_pb2 import Command, TickOutput
from app.games.arena.game import Side
from app.games.arena.match import Match, MatchError
from app.games.arena.messages import tick_of
from app.games.arena.observation import FEATURES
from app.models.module import build_module, to_arrays
from app.replay.rows import empty_batch
from app.types import Purpose, RowKind
from tests.plain_stepper import plain_stepper

from .in_process import ArenaService


async def played(seed: int, purpose: Purpose = Purpose.TRAIN) -> tuple[Match, ArenaService]:
    service = ArenaService(purpose)
    match = Match(service, f"arena-{seed}", seed)
    await match.play()
    return match, service


@pytest.mark.parametrize("seed", range(10))
async def test_a_game_of_several_agents_ends_and_all_counts_match(seed: int) -> None:
    match, service = await played(seed)
    assert match.arena.terminated or match.arena.truncated
    assert len(service.table) == 0
    players = int((match.arena.side == Side.PLAYER).sum())
    assert match.sessions == players + 2
    assert service.counts["ticks_train"] == match.actions + 2 * match.arena.tick
    assert match.steps == service.counts["ticks_train"] + 2 * match.sessions
    assert len(service.reports) == len(service.trajectories) == players


async def test_each_player_becomes_one_trajectory_with_the_rules_rewards() -> None:
    match, service = await played(3)
    assert sum(len(rows) - 1 for rows in service.trajectories) == match.actions
    for rows in service.trajectories:
        *steps, last = rows
        assert all(row.kind == RowKind.STEP for row in steps)
        assert all(row.action_mask[row.action] for row in steps)
        assert last.kind in (RowKind.TERMINATED, RowKind.TRUNCATED)
        alive = last.observation[:, FEATURES.index("is_self")].any()
        assert alive or last.kind == RowKind.TERMINATED
    returns = sorted(returned for returned, _ in service.reports)
    assert returns == pytest.approx(sorted(sum(row.reward for row in rows) for rows in service.trajectories), abs=1e-5)


async def test_equal_seeds_are_played_alike_and_others_differ() -> None:
    ends = []
    for seed in (1, 1, 2):
        match, _ = await played(seed, Purpose.EVALUATE)
        ends.append((match.arena.tick, match.arena.health.tolist(), match.arena.place.tolist()))
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]


class Forger:
    """Passes steps on and changes the answer to one kind of them."""

    def __init__(self, kind: str, answer: bytes) -> None:
        self.service = ArenaService()
        self.kind, self.answer = kind, answer

    async def step(self, session: str, kind: str, seq: int, body: bytes) -> bytes:
        answer = await self.service.step(session, kind, seq, body)
        return self.answer if kind == self.kind and session.endswith(("player_1", "observer")) else answer


@pytest.mark.parametrize(
    ("kind", "answer", "message"),
    [
        ("tick", TickOutput().SerializeToString(), r"commands came for \[1.*; alive are \[0"),
        ("tick", TickOutput(commands=[Command(action=99)]).SerializeToString(), "entity 0 chose action 99; legal are"),
        ("tick", b"\xff", r"an agent answered b'\\xff'; wanted is a sparring\.arena\.v1\.TickOutput"),
        ("stop", b"", "the observer counted .*, played were"),
    ],
)
async def test_an_agent_that_breaks_the_rules_ends_the_match(kind: str, answer: bytes, message: str) -> None:
    with pytest.raises(MatchError, match=f"(?s){message}"):
        await Match(Forger(kind, answer), "g", 0).play()


async def test_a_tick_that_is_no_tick_of_the_arena_is_refused() -> None:
    service, match = ArenaService(), Match(ArenaService(), "g", 0)
    await service.step("g-agent-player_1", "start", 0, b"")
    with pytest.raises(BadPayloadError, match="a player's tick has one control, got 0"):
        await service.step("g-agent-player_1", "tick", 1, b"")
    with pytest.raises(BadPayloadError, match=r"no sparring\.arena\.v1\.TickInput"):
        await service.step("g-agent-player_1", "tick", 1, b"\xff")
    assert await service.step("g-agent-player_1", "tick", 1, tick_of(match.arena, [0]).SerializeToString())


async def test_the_start_of_a_player_takes_the_options_of_a_gym_agent() -> None:
    service, match = ArenaService(), Match(ArenaService(), "g", 0)
    await service.step("g-agent-player_1", "start", 0, b'{"greedy": true}')
    first = await service.step("g-agent-player_1", "tick", 1, tick_of(match.arena, [0]).SerializeToString())
    again = await service.step("g-agent-player_1", "tick", 2, tick_of(match.arena, [0]).SerializeToString())
    assert first == again
    assert service.trajectories == []


def test_matches_differ_in_size() -> None:
    matches = [Match(ArenaService(), "g", seed) for seed in range(20)]
    assert len({match.arena.side.size for match in matches}) >= 3
    assert np.unique([len(match.arena.setup.skills) for match in matches]).size >= 3


async def test_the_network_learns_from_played_games_with_finite_numbers() -> None:
    _, service = await played(3)
    spec = service.model.spec
    outbox = Outbox(spec, 1, lambda: None)
    for trajectory in service.trajectories:
        outbox.add(trajectory)
    batch = {name: torch.from_numpy(column) for name, column in outbox.take().items()}
    padding = {name: torch.from_numpy(column) for name, column in empty_batch(spec, 3).items()}
    batch = {name: torch.cat([column, padding[name]]) for name, column in batch.items()}
    module = build_module("app.games.arena.model:build", {}, seed=0)
    before = to_arrays(module)
    settings = PolicySettings(Gae(0.99, 0.95), ClippedPolicy(0.2, 0.5, 0.01), True, epochs=2, minibatches=2)
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 1e-3), 0.5)
    learner = PolicyLearner(module, spec, stepper, settings, 1, lambda x: x)
    metrics = learner.update(batch, torch.Generator().manual_seed(0)).metrics
    assert metrics["optimizer_steps"] == 4
    assert all(np.isfinite(value) for value in metrics.values())
    after = to_arrays(module)
    assert all(np.isfinite(array).all() for array in after.values())
    assert any((after[name] != before[name]).any() for name in before)
