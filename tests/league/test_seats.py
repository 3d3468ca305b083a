"""Sessions find the match of their game, take its seats, and end it together."""

import asyncio
import gc

import pytest

from app.errors import BadRequestError, LeagueError
from app.league.matches import ABORTED, Match, Result, Side
from app.league.seats import GameMatch, GameMatches, Seat, seating


def match(*seats: int, number: int = 1) -> Match:
    """Returns a match of as many sides; the first one learns."""
    sides = tuple(
        Side(f"p{place}", 1, frozen=place > 0, learns=place == 0, seats=own) for place, own in enumerate(seats)
    )
    return Match(f"league-{number}", sides)


class League:
    """Hands matches out one after another, and notes how they end."""

    def __init__(self, *seats: int) -> None:
        self.seats = seats
        self.asked: list[str] = []
        self.results: list[tuple[str, Result]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def ask(self, trainer: str) -> Match:
        if trainer == "nobody":
            raise LeagueError("there is no trainer 'nobody'")
        self.asked.append(trainer)
        await self.may_answer.wait()
        return match(*self.seats, number=len(self.asked))

    def report(self, ended: str, result: Result) -> None:
        self.results.append((ended, result))

    def games(self) -> GameMatches:
        return GameMatches(self.ask, self.report)


def seated(game: GameMatch, *numbers: int | None) -> list[Seat]:
    return [game.sit(number, f"session {at}") for at, number in enumerate(numbers)]


async def test_the_sessions_of_one_game_share_a_match_and_games_do_not() -> None:
    league = League(1, 1)
    league.may_answer.clear()
    games = league.games()
    joining = [asyncio.create_task(games.join(game, "main")) for game in ("a", "a", "b")]
    await asyncio.sleep(0)
    league.may_answer.set()
    first, second, third = await asyncio.gather(*joining)
    assert first is second
    assert first is not third
    assert league.asked == ["main", "main"]


async def test_who_gives_up_waiting_takes_no_match_from_the_others() -> None:
    league = League(1, 1)
    league.may_answer.clear()
    games = league.games()
    impatient, patient = (asyncio.create_task(games.join("a", "main")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    league.may_answer.set()
    assert (await patient).match.id == "league-1"
    assert league.asked == ["main"]


async def test_a_league_that_knows_no_such_trainer_is_asked_again_by_the_next_session() -> None:
    league = League(1, 1)
    games = league.games()
    with pytest.raises(LeagueError):
        await games.join("a", "nobody")
    assert (await games.join("a", "main")).match.id == "league-1"


async def test_a_game_is_forgotten_with_its_last_session() -> None:
    league = League(1, 1)
    games = league.games()
    game = await games.join("a", "main")
    same = await games.join("a", "main") is game
    assert same
    del game
    await asyncio.sleep(0)  # The loop lets go of what it woke us with.
    gc.collect()
    assert (await games.join("a", "main")).match.id == "league-2"


def test_seats_are_taken_by_number_or_in_turn_and_each_once() -> None:
    game = GameMatch(match(1, 1, 1), lambda *_: None)
    assert [seat.number for seat in seated(game, 2, None, None)] == [2, 0, 1]
    with pytest.raises(BadRequestError, match="one more session wants a seat of match league-1, which has 3; free are"):
        game.sit(None, "late")


def test_a_seat_that_is_taken_or_not_there_is_refused() -> None:
    game = GameMatch(match(1, 1), lambda *_: None)
    game.sit(1, "first")
    for number in (1, 2):
        with pytest.raises(BadRequestError, match=f"number {number} wants a seat .* has 2; free are 0"):
            game.sit(number, "second")


def test_the_first_seat_goes_to_each_side_as_often() -> None:
    firsts = [seating(match(1, 1, number=number))[0] for number in range(2000)]
    assert 900 < sum(firsts) < 1100


def test_a_team_sits_together_and_every_replica_seats_a_match_alike() -> None:
    seats = {seating(match(2, 3, number=number)) for number in range(20)}
    assert seats == {(0, 0, 1, 1, 1), (1, 1, 1, 0, 0)}
    assert seating(match(2, 3)) == seating(match(2, 3))


def test_the_last_score_reports_the_match_by_sides() -> None:
    league = League()
    game = GameMatch(match(1, 1), league.report)
    seats = {seat.place: seat for seat in seated(game, None, None)}
    game.score(seats[1], -1.0)
    assert league.results == []
    game.score(seats[0], 1.0)
    assert league.results == [("league-1", Result((1.0, -1.0)))]


def test_a_team_scores_the_mean_of_its_seats() -> None:
    league = League()
    game = GameMatch(match(2, 1), league.report)
    values = {0: iter([3.0, 5.0]), 1: iter([1.0])}
    for seat in seated(game, None, None, None):
        game.score(seat, next(values[seat.place]))
    assert league.results == [("league-1", Result((4.0, 1.0)))]


def test_a_game_that_is_broken_off_ends_its_match_once_without_a_winner() -> None:
    league = League()
    game = GameMatch(match(1, 1), league.report)
    first, second = seated(game, None, None)
    game.score(first, None)
    game.score(second, 1.0)
    game.score(second, None)
    assert league.results == [("league-1", ABORTED)]


def test_a_match_goes_on_elsewhere_with_the_scores_that_it_has() -> None:
    league = League(1, 1)
    here = GameMatch(match(1, 1), league.report)
    first, second = seated(here, 0, 1)
    here.score(first, 2.0)
    games = league.games()
    there = games.rejoin("a", here.match, here.scores)
    assert games.rejoin("a", here.match, here.scores) is there
    again = there.take(second.number, "second")
    assert again == second
    there.score(again, 3.0)
    (ended,) = league.results
    scores = {first.place: 2.0, second.place: 3.0}
    assert ended == ("league-1", Result((scores[0], scores[1])))


def test_a_session_whose_start_is_repeated_sits_where_it_sat() -> None:
    game = GameMatch(match(1, 1), lambda *_: None)
    first = game.sit(None, "one")
    assert game.sit(None, "one") == first
    second = game.sit(1, "two")
    assert game.sit(1, "two") == second
