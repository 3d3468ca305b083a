"""``sparring bench league``: a league of 1,000 players that has recorded 1,000,000 matches, and its files."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from app.league.events import Closed, How, Opened, to_bytes
from app.league.image import image_of, parts_of
from app.league.journal import Journal, segment_path
from app.league.keeping import restore, save
from app.league.league import League
from app.league.matches import Entry, Result
from app.league.matchmaking.among import Among, Mixed, SelfPlay
from app.league.matchmaking.equilibrium import SolvedPsro, solved
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.rated import EloMatched
from app.league.players import Role, Weights
from app.league.settings import LeagueSettings, LearnerSettings, MakeMatchmaker
from app.types import Purpose
from train.bench.cells import WINDOWS_MIN
from train.bench.machine import on_this_machine
from train.bench.statistics import figure
from train.launch.stopping import Stopper

MATCH_MS_MAX: Final = 1.0
ENTRY_MS_MAX: Final = 1.0
SNAPSHOT_MS_MAX: Final = 50.0
"""Aims."""
DRAWS: Final = 200
"""Matches of one window."""
ENTRIES: Final = 2_000
"""Journal entries of one window."""
SNAPSHOTS: Final = 8
"""Snapshots of one window."""
BEAT_S: Final = 0.001
"""Seconds between two looks at whether the event loop runs."""
AT_ONCE: Final = 64
"""Changes that wait for the disk together: a write serves all that have come."""
WIN: Final = Result((1.0, 0.0))
MAKERS: Final[dict[str, MakeMatchmaker | None]] = {
    "main_agent": None,
    "pfsp": lambda parts: Mixed(
        [(0.35, SelfPlay()), (0.65, Among(lambda _: parts.roster.frozen_ids, Pfsp()))],
    ),
    "psro": lambda parts: Among(lambda _: parts.roster.frozen_ids, SolvedPsro(parts.equilibrium)),
    "elo": lambda parts: Among(lambda player: [p for p in parts.roster.ids if p != player], EloMatched(parts.ratings)),
}
"""Matchmakers that are measured, by learning player."""


class Snapshot(NamedTuple):
    """What one snapshot cost, in milliseconds."""

    loop_cpu: float
    """CPU in the event loop, which waits for it."""
    thread_cpu: float
    """CPU in the thread that writes."""
    taken: float
    """From its begin to its end on the disk."""
    held: float
    """Longest time that nothing else ran in the event loop."""


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
        [scan_ms(plan) for _ in range(plan.windows)],
    )
    with tempfile.TemporaryDirectory() as folder:
        say("journal")
        entries = [entry_ms(Path(folder), subject, window, stopper) for window in range(plan.windows)]
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


def match_ms(subject: League, player: str, stopper: Stopper) -> float:
    """Returns the milliseconds of CPU that ``next_match`` and ``report`` take together."""
    stopper.check()
    began_s = time.process_time()
    for _ in range(DRAWS):
        subject.report(subject.next_match(player, 0.0).id, WIN, 0.0)
    return 1e3 * (time.process_time() - began_s) / DRAWS


def scan_ms(plan: LeaguePlan) -> float:
    """Returns the milliseconds in which one player's win rates are counted anew from all matches, with numpy."""
    rng = np.random.default_rng(2)
    home, away = rng.integers(0, plan.players, (2, plan.matches))
    won = rng.random(plan.matches) < 0.5  # noqa: PLR2004  # A coin.
    began_s = time.process_time()
    own = home == 0
    games = np.bincount(away[own], minlength=plan.players)
    np.divide(np.bincount(away[own], won[own], plan.players), games, where=games > 0, out=np.full(plan.players, 0.5))
    return 1e3 * (time.process_time() - began_s)


def entry_ms(folder: Path, subject: League, window: int, stopper: Stopper) -> tuple[float, float]:
    """Returns the milliseconds of a journal entry: without the disk, and with it where many wait together."""
    event = Opened(1, 0.0, Purpose.TRAIN, (Entry("main_agent", 1, True, 1), Entry("main_agent:7", 7, False, 1)))
    journal = Journal(folder / f"plain-{window}", 1, fsync=False)
    began_s = time.perf_counter()
    for _ in range(ENTRIES):
        journal.append(to_bytes(event))
        journal.write()
    plain = 1e3 * (time.perf_counter() - began_s) / ENTRIES
    journal.close()
    stopper.check()
    journal = Journal(folder / f"synced-{window}", 1, fsync=True)
    began_s = time.perf_counter()
    for number in range(1, ENTRIES + 1):
        journal.append(to_bytes(event))
        if number % AT_ONCE == 0:
            journal.write()
    synced = 1e3 * (time.perf_counter() - began_s) / ENTRIES
    journal.close()
    return plain, synced


def bare_entry_ms(folder: Path) -> float:
    """Returns the milliseconds in which the disk takes as many bytes as an entry has, by itself."""
    with (folder / "bare").open("wb", buffering=0) as file:
        began_s = time.perf_counter()
        for _ in range(AT_ONCE):
            file.write(bytes(100))
            os.fsync(file.fileno())
        return 1e3 * (time.perf_counter() - began_s) / AT_ONCE


def snapshots_ms(folder: Path, subject: League, stopper: Stopper) -> Snapshot:
    """Returns what a snapshot of a window costs: the mean of several, and the longest time that one held the loop."""
    costs = []
    for _ in range(SNAPSHOTS):
        stopper.check()
        costs.append(asyncio.run(snapshot_ms(folder, subject)))
    loop_cpu, thread_cpu, taken, _ = np.mean(costs, axis=0).tolist()
    return Snapshot(loop_cpu, thread_cpu, taken, max(cost.held for cost in costs))


async def snapshot_ms(folder: Path, subject: League) -> Snapshot:
    """Returns what a snapshot costs, while something else runs in the same event loop."""
    if not segment_path(folder, 1).exists():
        Journal(folder, 1).close()
    ended = asyncio.Event()
    watch = asyncio.create_task(_longest_gap_ms(ended))
    await asyncio.sleep(10 * BEAT_S)
    began_s, loop_s = time.perf_counter(), time.thread_time()
    image = image_of(subject.state)
    loop_s = time.thread_time() - loop_s

    def write() -> float:
        thread_s = time.thread_time()
        save(folder, 1, image)
        return time.thread_time() - thread_s

    thread_s = await asyncio.to_thread(write)
    taken_s = time.perf_counter() - began_s
    ended.set()
    return Snapshot(1e3 * loop_s, 1e3 * thread_s, 1e3 * taken_s, await watch)


async def _longest_gap_ms(ended: asyncio.Event) -> float:
    longest_s, last_s = 0.0, time.perf_counter()
    while not ended.is_set():
        await asyncio.sleep(BEAT_S)
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s - BEAT_S), now_s
    return 1e3 * longest_s


def bare_write_ms(folder: Path, subject: League) -> float:
    """Returns the milliseconds in which the disk takes as many bytes as a snapshot has."""
    data = b"".join(parts_of(image_of(subject.state)))
    began_s = time.perf_counter()
    with (folder / "bare").open("wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    return 1e3 * (time.perf_counter() - began_s)


def told_matches(costs: dict[str, Sequence[float]], scans: Sequence[float]) -> dict[str, object]:
    """Returns what matches cost by matchmaker.

    Args:
      costs: Milliseconds of ``next_match`` and ``report`` in each window, by matchmaker.
      scans: Milliseconds of a count over all matches, which neither of them does.
    """
    figures, scan = {name: figure(values) for name, values in costs.items()}, figure(scans)
    worst = max(figures.values(), key=lambda found: found.median)
    return {
        **{f"{name}_ms": found.as_dict() for name, found in figures.items()},
        "target_ms": MATCH_MS_MAX,
        "limit": "one player's win rates counted anew from all matches",
        "limit_ms": scan.as_dict(),
        "ratio": round(worst.median / scan.median, 4),
        "within": worst.median <= MATCH_MS_MAX,
        "measured": len(scans) >= WINDOWS_MIN and all(found.measured for found in figures.values()),
    }


def told_entries(costs: Sequence[tuple[float, float]], bare: Sequence[float]) -> dict[str, object]:
    """Returns what a journal entry costs.

    Args:
      costs: Milliseconds without the disk, and with it where many wait together, in each window.
      bare: Milliseconds of the disk by itself, for one entry after the other.
    """
    plain, synced, disk = figure([p for p, _ in costs]), figure([s for _, s in costs]), figure(bare)
    return {
        "entry_ms": plain.as_dict(),
        "synced_entry_ms": synced.as_dict(),
        "entries_at_once": AT_ONCE,
        "target_ms": ENTRY_MS_MAX,
        "limit": "the disk, one entry after the other",
        "limit_ms": disk.as_dict(),
        "ratio": round(synced.median / disk.median, 3),
        "within": max(plain.median, synced.median) <= ENTRY_MS_MAX,
        "measured": len(costs) >= WINDOWS_MIN and plain.measured and synced.measured,
    }


def told_snapshots(costs: Sequence[Snapshot], bare: Sequence[float]) -> dict[str, object]:
    """Returns what a snapshot costs; what it takes is CPU, since other programs and the disk have their part in time.

    Args:
      costs: Of each window.
      bare: Milliseconds in which the disk takes as many bytes.
    """
    cpu = figure([cost.loop_cpu + cost.thread_cpu for cost in costs])
    taken, disk = figure([cost.taken for cost in costs]), figure(bare)
    return {
        "cpu_ms": cpu.as_dict(),
        "loop_cpu_ms": figure([cost.loop_cpu for cost in costs]).as_dict(),
        "snapshot_ms": taken.as_dict(),
        "loop_held_ms": figure([cost.held for cost in costs]).as_dict(),
        "target_ms": SNAPSHOT_MS_MAX,
        "limit": "the disk, as many bytes",
        "limit_ms": disk.as_dict(),
        "ratio": round(taken.median / disk.median, 3),
        "within": cpu.median <= SNAPSHOT_MS_MAX,
        "measured": len(costs) >= WINDOWS_MIN and cpu.measured,
    }
