import pytest

from app.errors import LeagueError
from app.league.matches import Match, Side
from app.league.players import Weights
from app.league.written import match_of, match_tree
from app.types import Purpose
from app.wire.trees import pack, unpack

MATCH = Match(
    "league-7",
    (
        Side("main", 3, frozen=False, learns=True, trainer="main", hyperparameters={"temperature": 0.5}),
        Side("main:2", 2, frozen=True, learns=False, seats=2, weights=Weights("clones/ab", "abcd"), agent="old"),
    ),
    Purpose.EVALUATE,
    12.5,
)


def test_a_match_travels_whole() -> None:
    assert match_of(unpack(pack(match_tree(MATCH)))) == MATCH


@pytest.mark.parametrize("tree", [None, {}, {"id": "a", "sides": [{}], "purpose": "train", "opened_s": 0.0}])
def test_what_is_no_match_is_refused(tree: None) -> None:
    with pytest.raises(LeagueError, match="no match"):
        match_of(tree)
