"""``sparring bench league``: a league of 1,000 players that has recorded 1,000,000 matches, and its files."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.league.events import Closed, How, Opened
from app.league.keeping import restore
from app.league.league import League
from app.league.matches import Entry
from app.league.matchmaking.equilibrium import solved
from app.league.players import Role, Weights
from app.league.settings import LeagueSettings, LearnerSettings
from app.types import Purpose
from train.bench.league_files import (
    bare_entry_ms,
    bare_write_ms,
    entry_ms,
    snapshots_ms,
    told_entries,
    told_snapshots,
)
from train.bench.league_matches import MAKERS, match_ms, scan_ms, told_matches
from train.bench.machine import on_this_machine
from train.launch.stopping import Stopper


@dataclass(frozen=True, slots=True)
class LeaguePlan:
    """What is measured."""

    windows: int = 5
    players: int = 1_000
    matches: int = 1_000_000


def league(plan: LeaguePlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what a match, a journal entry and a snapshot cost.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("league", lambda: _measure(plan, stopper, say))


def _measure(plan: LeaguePlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    say(f"recording {plan.matches} matches of {plan.players} players")
    began_s = time.process_time()
    subject = recorded_league(plan, stopper)
    recorded_us = 1e6 * (time.process_time() - began_s) / plan.matches
    told: dict[str, object] = {"players": plan.players, "matches": plan.matches, "recording_us": round(recorded_us, 1)}
    say("matches")
    told["match"] = told_matches(
        {name: [match_ms(subject, name, stopper) for _ in range(plan.windows)] for name in MAKERS},
        [scan_ms(plan.players, plan.matches) for _ in range(plan.windows)],
    )
    with tempfile.TemporaryDirectory() as folder:
        say("journal")
        entries = [entry_ms(Path(folder), window, stopper) for window in range(plan.windows)]
        told["journal"] = told_entries(entries, [bare_entry_ms(Path(folder)) for _ in range(plan.windows)])
        say("snapshots")
        snapshots = [snapshots_ms(Path(folder) / "snapshots", subject, stopper) for _ in range(plan.windows)]
        told["snapshot"] = told_snapshots(
            snapshots, [bare_write_ms(Path(folder), subject) for _ in range(plan.windows)]
        )
        began_s = time.perf_counter()
        restore(Path(folder) / "snapshots", subject.settings)
        told["restore_s"] = round(time.perf_counter() - began_s, 3)
    say("equilibrium")
    began_s = time.perf_counter()
    solved(subject.state.payoff, subject.state.roster.frozen_ids)
    told["solve_s"] = round(time.perf_counter() - began_s, 3)
    return told


def recorded_league(plan: LeaguePlan, stopper: Stopper) -> League:
    """Returns a league with as many players and matches as planned; those who meet are drawn."""
    learners = {name: LearnerSettings(name, Role.MAIN, make) for name, make in MAKERS.items()}
    subject = League(LeagueSettings(learners, decay=0.99, min_games=1, max_open_matches=100))
    subject.begin("bench", 0.0)
    while len(subject.state.roster.ids) < plan.players:
        for name in MAKERS:
            subject.freeze(name, subject.state.roster.learner(name).period, Weights(name), 0.0, anew=False)
    rng, ids = np.random.default_rng(1), subject.state.roster.ids
    strengths = rng.normal(size=len(ids))
    for number in range(1, plan.matches + 1):
        if not number % 10_000:
            stopper.check()
        home, away = rng.choice(len(ids), 2, replace=False) if number < len(ids) else rng.integers(0, len(ids), 2)
        entries = tuple(Entry(ids[at], subject.state.roster.get(ids[at]).period, True, 1) for at in (home, away))
        won = rng.random() < 1 / (1 + np.exp(strengths[away] - strengths[home]))
        subject.state.apply(Opened(number, 0.0, Purpose.TRAIN, entries))
        subject.state.apply(Closed(number, 0.0, How.FINISHED, (1.0, 0.0) if won else (0.0, 1.0)))
    subject.equilibrium.take(dict.fromkeys(subject.state.roster.frozen_ids, 1.0))
    return subject
