"""A league that is killed at any moment has all that it acknowledged."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.league.matches import Reply, Result
from app.stores.league import LeagueStore
from tests.stores.killed_league import CONFIG

KILLS = 4
LINES = 150

pytestmark = pytest.mark.slow


def killed(folder: Path, lines: int) -> list[str]:
    """Lets a league run until it has said so much, kills it, and returns all that it said."""
    command = [sys.executable, "-m", "tests.stores.killed_league", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        return [*said, *process.stdout.read().split("\n")[:-1]]  # Its last line may be torn.


async def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    for kill in range(KILLS):
        acknowledged += killed(tmp_path, LINES + 13 * kill)
    store = LeagueStore(CONFIG, str(tmp_path), 1)
    await store.start()
    try:
        matches = [line for line in acknowledged if not line.startswith("main:")]
        frozen = [line for line in acknowledged if line.startswith("main:")]
        report = await store.show()
        assert len(matches) > KILLS * 100
        assert len(set(matches)) == len(matches)
        assert set(frozen) <= {standing.player for standing in report.standings}
        assert report.counts["matches_finished"] >= len(matches)
        assert {await store.report(match, Result((1.0, 0.0))) for match in matches} == {Reply.DUPLICATE}
        assert report.counts["matches_opened"] == report.counts["matches_finished"] + report.open_matches
    finally:
        await store.close()
