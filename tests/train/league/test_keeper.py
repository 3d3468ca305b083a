"""What is due with a trainer's player is done once the trainer has taken over what the league wants."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from app.errors import CheckpointError, LeagueError
from app.league.periods import Due, Freeze
from app.league.players import UNTRAINED, FrozenPlayer, LearningPlayer, Role, Weights
from app.models.lineage import Clone
from app.types import Version
from train.league.keeper import LeagueKeeper

HASH = "0123456789abcdef"
NOTHING = Due()
NEWEST = Version(1, 8)


@dataclass
class League:
    """One player, and what was asked of it."""

    due: Due = NOTHING
    player: LearningPlayer = field(default_factory=lambda: LearningPlayer("main", Role.MAIN, "trainer", period=3))
    after: Weights | None = None
    """What the player goes on with behind a freeze."""
    asked: list[object] = field(default_factory=list)

    def at_now(self, trainer: str) -> LearningPlayer:
        assert trainer == "trainer"
        return self.player

    def due_now(self, player: str, updates: int) -> Due:
        self.asked.append(("due", updates))
        return self.due

    def freeze_now(self, player: str, period: int, weights: Weights, anew: bool | None) -> Freeze:
        self.asked.append(("freeze", period, weights, anew))
        self.player = replace(self.player, period=period + 1, weights=self.after)
        return Freeze(FrozenPlayer(f"{player}:{period}", weights=weights), self.player)

    def turn_now(self, trainer: str, leaving: str, weights: Weights, updates: int) -> LearningPlayer:
        self.asked.append(("turn", leaving, weights, updates))
        return self.player


@dataclass
class Trainer:
    """A trainer under way in a period, which keeps what is pinned."""

    period: float = 3.0
    version: Version | None = NEWEST
    broken: bool = False
    pins: int = 0
    cloned: list[Version] = field(default_factory=list)

    def newest(self) -> Mapping[str, float]:
        return {"league_period": self.period, "league_updates": 40.0, "loss": 0.1}

    def pin(self) -> Version | None:
        self.pins += self.version is not None
        return self.version

    def unpin(self, version: Version) -> None:
        self.pins -= 1

    def clone(self, version: Version) -> Clone:
        if self.broken:
            raise CheckpointError("the disk is full")
        self.cloned.append(version)
        return Clone("0123", HASH, "main", None, f"version {version} of main", 40, frozen=True, created_at="now")


SET_APART = Weights("clones/0123", HASH)


def looked(league: League, trainer: Trainer | None = None) -> list[object]:
    trainer = trainer or Trainer()
    LeagueKeeper(league, {"trainer": trainer}).look("trainer")
    assert trainer.pins == 0
    return league.asked


def test_nothing_is_done_before_it_is_due() -> None:
    assert looked(League()) == [("due", 40)]


@pytest.mark.parametrize(("anew", "told"), [(True, True), (False, None)])
def test_a_player_is_frozen_as_the_newest_weights_of_its_period(anew: bool, told: bool | None) -> None:
    trainer = Trainer()
    assert looked(League(Due(freeze=True, anew=anew)), trainer)[1:] == [("freeze", 3, SET_APART, told)]
    assert trainer.cloned == [Version(1, 8)]


def test_a_turn_leaves_a_player_with_what_it_has_become() -> None:
    assert looked(League(Due(turn=True)))[1:] == [("turn", "main", SET_APART, 40)]


@pytest.mark.parametrize(("after", "left"), [(None, SET_APART), (UNTRAINED, UNTRAINED)])
def test_a_turn_behind_a_freeze_leaves_a_player_with_what_it_is_to_go_on_with(
    after: Weights | None, left: Weights
) -> None:
    asked = looked(League(Due(freeze=True, turn=True), after=after))
    assert asked[2:] == [("turn", "main", left, 0)]


@pytest.mark.parametrize("trainer", [Trainer(period=2.0), Trainer(version=None)])
def test_a_trainer_that_is_behind_or_has_published_nothing_is_left_alone(trainer: Trainer) -> None:
    assert [asked for asked in looked(League(Due(freeze=True)), trainer) if asked != ("due", 40)] == []


def test_weights_that_are_to_be_taken_over_come_first() -> None:
    league = League(Due(freeze=True))
    league.player = replace(league.player, weights=UNTRAINED)
    assert looked(league) == []


def test_what_cannot_be_set_apart_freezes_nobody_and_stays_pinned_no_longer() -> None:
    league, trainer = League(Due(freeze=True)), Trainer(broken=True)
    with pytest.raises(CheckpointError, match="disk is full"):
        LeagueKeeper(league, {"trainer": trainer}).look("trainer")
    assert trainer.pins == 0
    assert league.asked == [("due", 40)]


def test_a_league_that_is_away_ends_no_thread() -> None:
    class Away(League):
        looks = 0

        def at_now(self, trainer: str) -> LearningPlayer:
            self.looks += 1
            if self.looks == 1:
                raise LeagueError("it does not answer")
            done.set()
            return super().at_now(trainer)

    done = threading.Event()
    keeper = LeagueKeeper(Away(), {"trainer": Trainer()})
    keeper.start()
    assert done.wait(10)
    keeper.close(10)
