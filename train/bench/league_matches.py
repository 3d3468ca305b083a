"""What a match of a large league costs: ``next_match`` and ``report``, by matchmaker."""

import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from app.league.league import League
from app.league.matches import Result
from app.league.matchmaking.among import Among, Mixed, SelfPlay
from app.league.matchmaking.equilibrium import SolvedPsro
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.rated import EloMatched
from app.league.settings import MakeMatchmaker
from train.bench.cells import WINDOWS_MIN
from train.bench.statistics import figure
from train.launch.stopping import Stopper

MATCH_MS_MAX: Final = 1.0
"""Aim."""
DRAWS: Final = 200
"""Matches of one window."""
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


def match_ms(subject: League, player: str, stopper: Stopper) -> float:
    """Returns the milliseconds of CPU that ``next_match`` and ``report`` take together."""
    stopper.check()
    began_s = time.process_time()
    for _ in range(DRAWS):
        subject.report(subject.next_match(player, 0.0).id, WIN, 0.0)
    return 1e3 * (time.process_time() - began_s) / DRAWS


def scan_ms(players: int, matches: int) -> float:
    """Returns the milliseconds in which one player's win rates are counted anew from all matches, with numpy."""
    rng = np.random.default_rng(2)
    home, away = rng.integers(0, players, (2, matches))
    won = rng.random(matches) < 0.5  # noqa: PLR2004  # A coin.
    began_s = time.process_time()
    own = home == 0
    games = np.bincount(away[own], minlength=players)
    np.divide(np.bincount(away[own], won[own], players), games, where=games > 0, out=np.full(players, 0.5))
    return 1e3 * (time.process_time() - began_s)


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
