import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

import pytest

from app.agents.agent import NO_HYPERPARAMETERS, AgentContext
from app.agents.gym_agent import GymAgent
from app.agents.unroll import Row, Unroll
from app.errors import AgentError, BadPayloadError, ModelMismatchError, SparringError
from app.models.distributions.categorical import Categorical
from app.models.distributions.distribution import Distribution
from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.models.question import GREEDY, Decision, Question
from app.models.spec import ArraySpec, ModelSpec
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose, RowKind, Version
from app.wire.trees import pack, unpack

CURRENT = Version(1, 5)


class ScriptedModel:
    """Answers 0, 1, 0, 1, …; fails, or never answers, when told to."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.questions: list[Question] = []
        self.held: list[Version] = []
        self.released: list[Version] = []
        self.failures: list[Exception] = []
        self.silent = False

    def decide(self, question: Question) -> Awaitable[Decision]:
        if self.failures:
            raise self.failures.pop()
        decision: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        if not self.silent:
            decision.set_result(Decision(len(self.questions) % 2, -0.7, 3.0, question.version or CURRENT))
            self.questions.append(question)
        return decision

    async def ensure(self, version: Version | None) -> Version:
        if version == Version(9, 9):
            raise ModelMismatchError("weights 9.9 are no longer kept")
        self.held.append(version or CURRENT)
        return version or CURRENT

    def release(self, version: Version) -> None:
        self.released.append(version)


class Play:
    """An agent with all that surrounds it."""

    def __init__(
        self,
        purpose: Purpose = Purpose.TRAIN,
        *,
        dtype: str = "float32",
        unroll_ticks: int | None = None,
        action: Distribution = Categorical(2),  # noqa: B008  # A value.
        hyperparameters: Mapping[str, float] = NO_HYPERPARAMETERS,
    ) -> None:
        self.model = ScriptedModel(ModelSpec(ArraySpec((2,), dtype), action))
        self.emitted: list[list[Row]] = []
        self.reports: list[tuple[float, int]] = []
        unroll = Unroll(1, unroll_ticks, self.emitted.append) if purpose is Purpose.TRAIN else None
        context = AgentContext(
            session="s",
            purpose=purpose,
            rng=Draws(0),
            model=self.model,
            unroll=unroll,
            report=lambda returned, ticks: self.reports.append((returned, ticks)),
            board=Board(Game("s"), "s", 1),
            hyperparameters=hyperparameters,
        )
        self.agent = GymAgent(context)

    async def tick(self, t: int, **more: Any) -> Any:
        return await self.agent.on_tick({"observation": [t, -t], "reward": 100 + t, **more})

    async def stop(self, t: int, **more: Any) -> Any:
        payload = {"observation": [t, -t], "reward": 100 + t, "terminated": True, **more}
        return await self.agent.on_episode(payload, EndCause.STOP)

    def rows(self) -> list[tuple[int, float, int]]:
        """Returns observation, reward and kind of all emitted rows."""
        return [(int(row.observation[0]), row.reward, row.kind) for rows in self.emitted for row in rows]


S, FULL, TERMINATED, TRUNCATED, LOST = (int(kind) for kind in RowKind)


async def test_a_game_becomes_rows_whose_rewards_stand_beside_their_actions() -> None:
    play = Play()
    assert await play.agent.on_start(None) is None
    assert [await play.tick(t) for t in range(3)] == [{"action": 0}, {"action": 1}, {"action": 0}]
    assert play.agent.version == CURRENT
    await play.stop(3)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 103, S), (3, 0, TERMINATED)]
    assert [row.action for row in play.emitted[0][:3]] == [0, 1, 0]


async def test_a_finished_episode_is_reported_with_its_return_and_ticks() -> None:
    play = Play(Purpose.EVALUATE)
    await play.agent.on_start(None)
    for t in range(3):
        await play.tick(t)
    await play.stop(3)
    assert play.reports == [(101 + 102 + 103, 3)]  # The reward of the first tick belongs to no action.


@pytest.mark.parametrize(
    ("terminated", "truncated", "kind", "reports"),
    [
        (True, False, TERMINATED, 1),
        (False, True, TRUNCATED, 1),
        (True, True, TERMINATED, 1),
        (False, False, TRUNCATED, 0),
    ],
)
async def test_the_stop_says_how_the_game_ended(terminated: bool, truncated: bool, kind: int, reports: int) -> None:
    play = Play()
    await play.tick(0)
    await play.stop(1, terminated=terminated, truncated=truncated)
    assert play.rows() == [(0, 101, S), (1, 0, kind)]
    assert len(play.reports) == reports


async def test_a_stop_may_leave_out_the_final_observation() -> None:
    play = Play()
    for t in range(2):
        await play.tick(t)
    await play.agent.on_episode({"reward": 102, "truncated": True}, EndCause.STOP)
    assert play.rows() == [(0, 101, S), (1, 0, TRUNCATED)]
    assert play.reports == [(101 + 102, 2)]


@pytest.mark.parametrize("cause", [EndCause.IDLE, EndCause.RESTARTED, EndCause.SHUTDOWN])
async def test_a_game_that_the_service_ends_is_truncated_and_in_no_statistic(cause: EndCause) -> None:
    play = Play()
    for t in range(3):
        await play.tick(t)
    await play.agent.on_episode(None, cause)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, TRUNCATED)]
    assert play.reports == []


async def test_a_full_unroll_leaves_with_the_observation_that_follows() -> None:
    play = Play(unroll_ticks=2)
    for t in range(3):
        await play.tick(t)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, FULL)]


async def test_an_evaluated_game_is_greedy_and_played_by_one_version() -> None:
    play = Play(Purpose.EVALUATE)
    await play.agent.on_start(None)
    for t in range(2):
        await play.tick(t)
    assert all(question.uniforms == GREEDY for question in play.model.questions)
    assert [question.version for question in play.model.questions] == [CURRENT, CURRENT]
    await play.stop(2)
    assert (play.model.held, play.model.released) == ([CURRENT], [CURRENT])


@pytest.mark.parametrize("purpose", [Purpose.TRAIN, Purpose.PLAY])
async def test_other_games_sample_from_the_newest_weights(purpose: Purpose) -> None:
    play = Play(purpose)
    await play.agent.on_start(None)
    for t in range(20):
        await play.tick(t)
    uniforms = [question.uniforms[0] for question in play.model.questions]
    assert len(set(uniforms)) == 20
    assert all(0 <= uniform < 1 for uniform in uniforms)
    assert {question.version for question in play.model.questions} == {None}
    assert (play.model.held, play.model.released) == ([], [])


@pytest.mark.parametrize(
    ("of_the_period", "options", "temperature"),
    [
        ({}, None, 1.0),
        ({"temperature": 2.0, "gamma": 0.9}, None, 2.0),
        ({"temperature": 2.0}, {"temperature": 0.5}, 0.5),
    ],
)
async def test_actions_are_drawn_at_the_temperature_of_the_start_else_of_the_period(
    of_the_period: dict[str, float], options: dict[str, float] | None, temperature: float
) -> None:
    play = Play(hyperparameters=of_the_period)
    await play.agent.on_start(options)
    await play.tick(0)
    moved = Play()
    await moved.agent.load_state_dict(play.agent.state_dict())
    await moved.tick(1)
    assert [play.model.questions[0].temperature, moved.model.questions[0].temperature] == [temperature] * 2


def test_a_temperature_of_the_period_that_is_none_is_refused() -> None:
    with pytest.raises(SparringError, match=r"temperature is -1\.0; allowed is above 0"):
        Play(hyperparameters={"temperature": -1.0})


async def test_a_start_may_name_the_version_and_ask_for_sampling() -> None:
    play = Play(Purpose.EVALUATE)
    await play.agent.on_start({"model_version": "1.50", "greedy": False})
    await play.tick(0)
    assert play.model.questions[0].version == Version(1, 50)
    assert play.model.questions[0].uniforms != GREEDY
    await play.agent.on_episode(None, EndCause.IDLE)
    assert play.model.released == [Version(1, 50)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modelversion": "1.5"}, "modelversion is unknown; allowed are model_version, greedy, temperature"),
        ({"greedy": 1}, "greedy is 1; allowed is a valid boolean"),
        ({"temperature": 0}, "temperature is 0; allowed is greater than 0"),
        ({"model_version": "latest"}, "written as generation.number"),
        ({"model_version": 1.5}, "model_version is 1.5; allowed is a valid string"),
        ({"model_version": "9.9"}, r"9\.9 are no longer kept"),
        ([], r"the body is \[\]; allowed is a JSON object"),
        (b"x", r"the body is .*; Invalid JSON"),
    ],
)
async def test_a_start_that_says_something_unknown_is_refused(options: Any, message: str) -> None:
    with pytest.raises(BadPayloadError, match=message):
        await Play().agent.on_start(options)


BAD_TICKS: list[tuple[Any, str]] = [
    (None, "a tick is a JSON object, got NoneType"),
    ([1, 2], "a tick is a JSON object, got list"),
    ({"reward": 1}, r"observation has shape \(\)"),
    ({"observation": [1]}, r"observation has shape \(1,\); the model takes \(2,\)"),
    ({"observation": [[1, 2]]}, r"observation has shape \(1, 2\)"),
    ({"observation": [1, [2]]}, "observation is not an array of float32"),
    ({"observation": ["a", 2]}, "observation is not an array of float32"),
    ({"observation": {"x": 1}}, "observation is not an array of float32"),
    ({"observation": [float("nan"), 0]}, "observation holds NaN or infinity"),
    ({"observation": [1e300, 0]}, "observation holds NaN or infinity"),
    ({"observation": [1, 2], "action_mask": [1]}, r"action_mask is \[1\]; allowed are 2 flags"),
    ({"observation": [1, 2], "action_mask": [0, 0]}, "at least one true"),
    ({"observation": [1, 2], "action_mask": [[1], [2, 3]]}, "allowed are 2 flags"),
    ({"observation": [1, 2], "action_mask": ["0", "1"]}, "allowed are 2 flags"),
    ({"observation": [1, 2], "action_mask": [None, 1]}, "allowed are 2 flags"),
    ({"observation": [1, 2], "action_mask": [0.5, 1]}, "allowed are 2 flags"),
    ({"observation": [1, 2], "action_mask": True}, "allowed are 2 flags"),
    ({"observation": [1, 2], "reward": "1"}, "reward is '1'"),
    ({"observation": [1, 2], "reward": True}, "reward is True"),
    ({"observation": [1, 2], "reward": None}, "reward is None"),
    ({"observation": [1, 2], "reward": float("nan")}, "reward is nan"),
    ({"observation": [1, 2], "reward": float("-inf")}, "reward is -inf"),
    ({"observation": [1, 2], "reward": 1e39}, r"reward is 1e\+39"),  # Infinite once it is a float32.
    ({"observation": [1, 2], "reward": 10**400}, "reward is 1000"),
]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(("payload", "message"), BAD_TICKS)
async def test_a_bad_tick_is_refused_and_its_retry_loses_nothing(payload: Any, message: str) -> None:
    play = Play()
    await play.tick(0)
    with pytest.raises(BadPayloadError, match=message):
        await play.agent.on_tick(payload)
    await play.tick(1)
    await play.stop(2)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, TERMINATED)]
    assert play.reports == [(101 + 102, 2)]


@pytest.mark.parametrize("number", [300, -1, 10**30])
async def test_a_number_beyond_the_observations_type_is_refused(number: int) -> None:
    with pytest.raises(BadPayloadError, match="observation is not an array of uint8"):
        await Play(dtype="uint8").agent.on_tick({"observation": [number, 0]})


BAD_STOPS: list[tuple[Any, str]] = [
    ([], "a stop is a JSON object, got list"),
    ({"reward": "x"}, "reward is 'x'"),
    ({"terminated": 1, "reward": 102}, "terminated is 1; allowed are true and false"),
    ({"truncated": "no", "reward": 102}, "truncated is 'no'"),
    ({"observation": [1], "reward": 102}, "observation has shape"),
]


@pytest.mark.parametrize(("payload", "message"), BAD_STOPS)
async def test_a_bad_stop_is_refused_and_its_retry_loses_nothing(payload: Any, message: str) -> None:
    play = Play()
    for t in range(2):
        await play.tick(t)
    with pytest.raises(BadPayloadError, match=message):
        await play.agent.on_episode(payload, EndCause.STOP)
    await play.stop(2)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, TERMINATED)]


async def test_the_mask_is_asked_with_and_recorded() -> None:
    play = Play()
    await play.tick(0, action_mask=[1, 0])
    await play.tick(1, action_mask=[True, True])
    await play.tick(2)
    await play.stop(3)
    masks = [None if q.mask is None else q.mask.tolist() for q in play.model.questions]
    assert masks == [[True, False], [True, True], None]
    assert [row.action_mask.tolist() for row in play.emitted[0][:3]] == [[True, False], [True, True], [True, True]]


async def test_a_model_that_fails_cuts_the_trajectory_and_a_retry_counts_the_reward_once() -> None:
    play = Play()
    for t in range(2):
        await play.tick(t)
    play.model.failures.append(AgentError("the model did not answer"))
    with pytest.raises(AgentError):
        await play.tick(2)
    await play.tick(2)
    await play.stop(3)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, LOST), (2, 103, S), (3, 0, TERMINATED)]
    assert play.reports == [(101 + 102 + 103, 3)]


async def test_a_tick_that_nobody_waited_for_is_no_row() -> None:
    play = Play()
    await play.tick(0)
    play.model.silent = True
    late = asyncio.create_task(play.tick(1))
    await asyncio.wait([late], timeout=0)
    late.cancel()
    await asyncio.wait([late])
    play.model.silent = False
    await play.tick(2)  # The game core went on by itself.
    await play.stop(3)
    assert play.rows() == [(0, 101, S), (1, 0, LOST), (2, 103, S), (3, 0, TERMINATED)]


async def test_an_agent_without_a_model_is_refused_when_it_is_made() -> None:
    context = AgentContext("s", Purpose.PLAY, Draws(0), None, None, lambda _r, _t: None, Board(Game("s"), "s", 1))
    with pytest.raises(SparringError, match=r"name one under agents\.<name>\.model"):
        GymAgent(context)


async def test_a_training_game_that_asks_for_greedy_actions_is_not_recorded() -> None:
    play = Play()
    await play.agent.on_start({"greedy": True})
    await play.tick(0)
    await play.stop(1)
    assert play.emitted == []
    assert play.reports == [(101.0, 1)]


async def moved(play: Play, ticks: int | None) -> Play:
    """Returns what goes on in another replica."""
    other = Play(play.agent.context.purpose, unroll_ticks=ticks)
    await other.agent.load_state_dict(unpack(pack(play.agent.state_dict())))
    other.model.questions = list(play.model.questions)
    return other


@pytest.mark.parametrize("ticks", [None, 2, 3])
@pytest.mark.parametrize("at", range(6))
async def test_an_episode_that_moves_is_the_episode_that_stays(ticks: int | None, at: int) -> None:
    stayed, play = Play(unroll_ticks=ticks), Play(unroll_ticks=ticks)
    for whole in (stayed, play):
        await whole.agent.on_start(None)
    for t in range(6):
        if t == at:
            emitted, play = play.emitted, await moved(play, ticks)
            play.emitted[:0] = emitted
        assert await stayed.tick(t) == await play.tick(t)
    await stayed.stop(6)
    await play.stop(6)
    assert play.rows() == stayed.rows()
    assert [row._replace(observation=0, action_mask=0) for rows in play.emitted for row in rows] == [
        row._replace(observation=0, action_mask=0) for rows in stayed.emitted for row in rows
    ]
    assert play.reports == stayed.reports == [(101 + 102 + 103 + 104 + 105 + 106, 6)]
    assert play.agent.context.rng.count == stayed.agent.context.rng.count


async def test_an_evaluated_episode_that_moves_holds_its_version_there() -> None:
    play = Play(Purpose.EVALUATE)
    await play.agent.on_start({"model_version": "1.3"})
    await play.tick(0)
    other = await moved(play, None)
    assert other.model.held == [Version(1, 3)]
    await other.tick(1)
    assert other.model.questions[-1].version == Version(1, 3)
    assert other.model.questions[-1].uniforms == GREEDY
    await other.stop(2)
    assert other.model.released == [Version(1, 3)]


async def test_missing_ticks_cut_the_trajectory_and_leave_their_numbers_free() -> None:
    play = Play()
    await play.agent.on_start(None)
    for t in range(3):
        await play.tick(t)
    play.agent.on_resume(4)
    for t in range(7, 9):
        await play.tick(t)
    await play.stop(9)
    assert play.rows() == [(0, 101, S), (1, 102, S), (2, 0, LOST), (7, 108, S), (8, 109, S), (9, 0, TERMINATED)]
    ticks = [row.tick for rows in play.emitted for row in rows if row.kind == S]
    assert len(set(ticks)) == len(ticks)
    assert ticks[2] >= 2 + 4
    assert play.reports == []  # What was missed has a return that nobody knows.


async def test_what_others_may_look_at_is_on_the_board() -> None:
    play = Play()
    await play.agent.on_start(None)
    await play.tick(0)
    await play.tick(1)
    assert play.agent.context.board.get("reward") == 101
    assert play.agent.context.board.get("decision") == Decision(1, -0.7, 3.0, CURRENT)


async def test_the_mask_of_the_state_reached_stands_in_the_bootstrap_row() -> None:
    play = Play(unroll_ticks=2)
    await play.agent.on_start(None)
    for at in range(3):
        await play.tick(at, action_mask=[1, 1 - at % 2] if at < 2 else [0, 1])
    await play.stop(3, terminated=False, truncated=True, action_mask=[1, 0])
    assert [rows[-1].action_mask.tolist() for rows in play.emitted] == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("purpose", "greedy"), [(Purpose.TRAIN, False), (Purpose.EVALUATE, True), (Purpose.PLAY, True)]
)
async def test_what_explores_does_so_only_where_it_is_learned_from(purpose: Purpose, greedy: bool) -> None:
    play = Play(purpose, action=EpsilonGreedy(2, ladder=7.0))
    await play.agent.on_start(None)
    for at in range(3):
        await play.tick(at)
    uniforms = [list(question.uniforms) for question in play.model.questions]
    if greedy:
        assert uniforms == [[], [], []]
        return
    own = [numbers[1] for numbers in uniforms]
    assert own == [Draws(0).own()] * 3  # The place on the ladder stays for the whole game.
    assert len({numbers[0] for numbers in uniforms}) == 3
