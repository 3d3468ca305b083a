import asyncio
import gc

import numpy as np
import pytest

from app.errors import VersionRefusedError
from app.models.engine import Engine
from app.models.module import to_arrays
from app.models.question import GREEDY, Decision, Question
from app.models.released import ReleasedModel
from app.models.shadow import Tap
from app.models.torch_engine import TorchEngine
from app.releases.plan import Plan, played_as
from app.types import Version
from tests.small_policy import TablePolicy

ONE, TWO, THREE = played_as(1), played_as(2), played_as(3)
LOGITS = {ONE: [0.0, 9.0], TWO: [9.0, 0.0], THREE: [0.0, 9.0]}


def engine(version: Version) -> Engine:
    made = TorchEngine(TablePolicy(LOGITS[version]).requires_grad_(False))
    made.swap(version, made.build(to_arrays(TablePolicy(LOGITS[version]))))
    return made


async def load(version: Version) -> Engine:
    if version not in LOGITS:
        raise VersionRefusedError("it is broken")
    return engine(version)


def released() -> ReleasedModel:
    return ReleasedModel(engine(ONE), load)


def question(version: Version | None = None) -> Question:
    return Question(np.array([0.5, 1.0], np.float32), GREEDY, None, version)


async def test_a_session_keeps_its_version_when_the_champion_changes() -> None:
    model = released()
    old = model.for_session("old")
    await model.follow(Plan(TWO))
    new = model.for_session("new")
    decisions = [await view.decide(question()) for view in (old, new)]
    assert [(d.version, d.action) for d in decisions] == [(ONE, 1), (TWO, 0)]


async def test_a_version_goes_when_neither_plan_nor_session_needs_it() -> None:
    model = released()
    view = model.for_session("old")
    await model.follow(Plan(TWO))
    assert model.versions == [ONE, TWO]
    view.close()
    model.forget_unused()
    assert model.versions == [TWO]


async def test_what_a_session_held_is_given_back_when_it_is_collected() -> None:
    model = released()
    view = model.for_session("moved")
    await view.ensure(None)
    await model.follow(Plan(TWO))
    del view
    gc.collect()
    model.forget_unused()
    assert model.versions == [TWO]


async def test_a_broken_version_leaves_the_plan_as_it_was() -> None:
    model = released()
    with pytest.raises(VersionRefusedError, match="broken"):
        await model.follow(Plan(played_as(99)))
    assert model.plan == Plan(ONE)
    assert (await model.for_session("s").decide(question())).version == ONE


async def test_a_session_that_moved_here_goes_on_with_its_version() -> None:
    model = released()
    await model.follow(Plan(TWO))
    view = model.for_session("moved")
    await view.resume(ONE, THREE)
    assert (await view.decide(question())).version == ONE
    assert view.cohort == (ONE, THREE)


async def test_a_session_that_asks_for_a_version_counts_for_none() -> None:
    model = released()
    view = model.for_session("choosing")
    assert await view.ensure(TWO) == TWO
    assert (await view.decide(question(TWO))).version == TWO
    assert view.cohort is None


async def test_a_share_of_the_sessions_plays_the_challenger() -> None:
    model = released()
    await model.follow(Plan(ONE, TWO, 0.5))
    versions = [model.for_session(str(number)).version for number in range(200)]
    assert 60 < versions.count(TWO) < 140


async def test_replies_are_the_same_bit_by_bit_whoever_watches() -> None:
    async def replies(watch: Tap | None) -> list[Decision]:
        model = released()
        model.watch = watch
        view = model.for_session("s")
        return list(await asyncio.gather(*(view.decide(question()) for _ in range(300))))

    tap = Tap()
    assert repr(await replies(None)) == repr(await replies(tap))
    assert len(tap.take(1000)) == 256
    assert tap.take_dropped() == 44
