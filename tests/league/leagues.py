"""Leagues for tests."""

from collections.abc import Callable

from app.league.events import Event, from_bytes, to_bytes
from app.league.league import League
from app.league.matches import Match, Result
from app.league.players import Role, Weights
from app.league.settings import LeagueSettings, LearnerSettings
from app.league.state import LeagueState, new_state

WIN, LOSS, DRAW = Result((1.0, 0.0)), Result((0.0, 1.0)), Result((0.0, 0.0))


def settings_of(**changes: object) -> LeagueSettings:
    """Returns a league of a main player and its exploiter."""
    learners = {
        "main": LearnerSettings("first"),
        "exploiter": LearnerSettings("second", Role.MAIN_EXPLOITER),
    }
    return LeagueSettings(**{"learners": learners, **changes})  # type: ignore[arg-type]


def begun(settings: LeagueSettings | None = None, record: Callable[[Event], None] = lambda _: None) -> League:
    """Returns a league that has begun."""
    league = League(settings or settings_of(), record)
    league.begin("test", 0.0)
    return league


def freeze(league: League, player: str, now_s: float = 0.0, *, anew: bool | None = False) -> str:
    """Freezes a player, and returns the frozen one's id."""
    period = league.state.roster.learner(player).period
    return league.freeze(player, period, Weights(f"{player}-{period}"), now_s, anew=anew).frozen.id


def play(league: League, player: str, result: Result, now_s: float = 0.0) -> Match:
    """Plays a match of a player."""
    match = league.next_match(player, now_s)
    league.report(match.id, result, now_s)
    return match


def meet(league: League, home: str, away: str, result: Result, times: int = 1) -> None:
    """Lets two players meet, whatever their matchmakers say."""
    for _ in range(times):
        match = league._open([home, away], (1, 1), 0.0, "train", None)  # type: ignore[arg-type]
        league.report(match.id, result, 0.0)


def repeated(events: list[Event], settings: LeagueSettings) -> LeagueState:
    """Returns what written events make of nothing."""
    state = new_state(settings)
    for event in events:
        state.apply(from_bytes(to_bytes(event)))
    return state
