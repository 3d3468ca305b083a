"""Pong for two is learned in a league: PPO against frozen ancestors that PFSP draws, frozen when the evidence says so.

The learner is the product's PPO with the settings of ``pong.yaml``; payoff, PFSP, Elo and the promotion test are the
product's too. A match goes to five points.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from app.client.multi_agent import Simultaneous
from app.games.pong.environment import Pong
from app.games.pong.script import follow
from app.league.matchmaking.pfsp import Pfsp
from app.league.promotion import PromotionTest

from .duels import scores
from .in_league import MAIN, League
from .players import Script
from .trainee import Trainee

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

SEED = 0
ANCESTORS = 6
OLD = 3
"""Freezes that make an ancestor an old one."""
BETTER = PromotionTest(alpha=0.05, beta=0.05, equal=0.5, better=0.65)
FEWEST_STEPS = 30_000
"""Of the main player between two freezes."""
MOST_STEPS = 1_000_000
MATCHES = 200


def make_game() -> Simultaneous:
    return Simultaneous(Pong(points=5))


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of it."""

    league: League
    ratings: tuple[float, ...]
    """Of the main player at each freeze, and at the end."""


@pytest.fixture(scope="module")
def learned() -> Learned:
    """Learns until the main player is better than the newest of six ancestors."""
    league = League(Trainee("pong.yaml", SEED), make_game, Pfsp(), SEED)
    ratings = [league.ratings[MAIN]]
    while True:
        until = league.steps + FEWEST_STEPS
        while league.steps < until or not league.better_than_newest(BETTER):
            if league.steps > MOST_STEPS:
                pytest.fail(f"no better than {league.frozen[-1].name} after {league.steps} steps")
            league.play(4096)
        ratings.append(league.ratings[MAIN])
        if len(league.frozen) == ANCESTORS:
            return Learned(league, tuple(ratings))
        league.freeze()


def lower_bound(found: np.ndarray) -> float:
    """Returns what the mean exceeds with 97.5 % confidence."""
    return float(found.mean() - 1.96 * found.std(ddof=1) / len(found) ** 0.5)


def test_the_newest_player_beats_all_its_ancestors(
    learned: Learned, record_property: Callable[[str, object], None]
) -> None:
    league = learned.league
    found = [scores(make_game, league.main, one.network, MATCHES, 900 + at) for at, one in enumerate(league.frozen)]
    means = [round(float(one.mean()), 3) for one in found]
    record_property("proof", f"pong league              {SEED} {league.steps:7,} scores against ancestors {means}")
    old, young = found[: 1 - OLD], found[1 - OLD :]
    assert min(one.mean() for one in old) >= 0.7, means
    assert min(map(lower_bound, young)) > 0.5, means


def test_it_beats_the_script_that_it_has_never_met(learned: Learned) -> None:
    script = Script(lambda seen, _: follow(seen))
    found = scores(make_game, learned.league.main, script, MATCHES, 7)
    assert lower_bound(found) > 0.5, found.mean()


def test_frozen_players_stay_what_they_were_and_differ(learned: Learned) -> None:
    frozen = learned.league.frozen
    assert [one.network.content_hash() for one in frozen] == [one.content_hash for one in frozen]
    hashes = {one.content_hash for one in frozen} | {learned.league.main.content_hash()}
    assert len(hashes) == ANCESTORS + 1


def test_ratings_of_anchors_stay_while_that_of_the_main_player_rises(learned: Learned) -> None:
    league = learned.league
    assert [league.ratings[one.name] for one in league.frozen] == [one.rating for one in league.frozen]
    assert [one.rating for one in league.frozen] == list(learned.ratings[:-1])
    assert (np.diff(learned.ratings) > 0).all(), learned.ratings
    assert learned.ratings[-1] > 400
