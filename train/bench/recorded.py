"""What recording costs: from ticks to a file, next to pyarrow writing the same columns."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from app.agents.game_log import About, Event, GameLog, Played
from app.agents.outbox import Outbox
from app.agents.recording import Recording
from app.agents.unroll import Step, Unroll
from app.config.recording import RecordConfig
from app.errors import SparringError
from app.models.question import Decision, Question
from app.seeding import Draws
from app.types import Purpose, RowKind, Rows, Version
from deployments.recorder import Recorder
from train.bench.buffer_cases import CARTPOLE
from train.bench.cells import WINDOWS_MIN
from train.bench.statistics import figure

EPISODES: Final = 200
TICKS: Final = 250
"""Ticks of an episode."""
DECISION: Final = Decision(1, -0.7, 0.5, Version(1, 1))
MASK: Final = np.ones(2, np.uint8)
ANSWER: Final = b'{"action":1}'
CLOSE_S: Final = 60.0
"""Longest wait for the last file."""


class Written(NamedTuple):
    """One way to a file."""

    rows: int
    seconds: float
    cpu_s: float
    """Of this process, all threads."""


def recorded(folder: Path, windows: int) -> dict[str, object]:
    """Returns what a recorded row costs, and what it would cost in plain pyarrow.

    Args:
      folder: Where files are written; they are removed.
      windows: Runs of each way, in turns.

    Raises:
      SparringError: An episode was not written.
    """
    observations = np.random.default_rng(0).normal(size=(EPISODES, TICKS + 1, 4)).astype(np.float32)
    columns = _columns(observations)
    found: list[tuple[Written, Written]] = []
    for _ in range(windows):
        found.append((_timed(lambda: _record(folder, observations)), _timed(lambda: _write(folder, columns))))
        shutil.rmtree(folder)
    return told_recorder([one for one, _ in found], [limit for _, limit in found])


def told_recorder(ours: Sequence[Written], limit: Sequence[Written]) -> dict[str, object]:
    """Returns what runs of the recorder say, next to those of plain pyarrow."""
    rate, limit_rate = (figure([one.rows / one.seconds for one in runs]) for runs in (ours, limit))
    cpu, limit_cpu = (figure([1e6 * one.cpu_s / one.rows for one in runs]) for runs in (ours, limit))
    return {
        "episodes": EPISODES,
        "ticks": TICKS,
        "rows_per_s": rate.as_dict(),
        "cpu_us_per_row": cpu.as_dict(),
        "limit": "the same columns, written by pyarrow in one table",
        "limit_rows_per_s": limit_rate.as_dict(),
        "limit_cpu_us_per_row": limit_cpu.as_dict(),
        "ratio": round(cpu.median / limit_cpu.median, 2),
        "measured": min(len(ours), len(limit)) >= WINDOWS_MIN and cpu.measured and limit_cpu.measured,
    }


def _timed(write: Callable[[], int]) -> Written:
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    rows = write()
    return Written(rows, time.monotonic() - began_s, time.process_time() - began_cpu_s)


def _record(folder: Path, observations: NDArray[np.float32]) -> int:
    """Plays episodes into files as an agent does, and returns the rows."""
    counts: Counter[str] = Counter()
    config = RecordConfig(max_waiting=EPISODES)
    recorder = Recorder(folder, "player", CARTPOLE.spec, config, counts)
    for number, seen in enumerate(observations):
        _play_noted(seen, number, recorder.add, config.part_ticks)
    if not recorder.close(CLOSE_S) or counts["recorded_episodes"] != EPISODES:
        raise SparringError(
            f"{EPISODES} episodes were played, written were {counts['recorded_episodes']}; allowed is all"
        )
    return EPISODES * (TICKS + 1)


def _play_noted(seen: NDArray[np.float32], number: int, take: Callable[[Played], None], part_ticks: int) -> None:
    """Plays an episode with what came and went, as the wrapper of an agent notes it."""
    about = About(f"game-{number}", f"game-{number}", "player", Purpose.PLAY, number)
    log = GameLog(about, Draws(number), take, part_ticks=part_ticks)
    log.keep("every")
    unroll = Recording(number, log)
    for observation in seen[:-1]:
        body = orjson.dumps({"observation": observation.tolist(), "reward": 1.0})
        entry = log.begin(Event.TICK, body)
        log.decided(Question(observation, (0.5,)), DECISION, 0.1)
        _tick(unroll, observation)
        entry.output = ANSWER
        log.answered(entry)
    entry = log.begin(Event.STOP, None)
    unroll.cut(RowKind.TERMINATED, seen[-1])
    log.answered(entry)
    log.end()


def _tick(unroll: Unroll, observation: NDArray[np.float32]) -> None:
    unroll.decided(Step(observation, MASK, DECISION))
    unroll.reward(1.0)


def _columns(observations: NDArray[np.float32]) -> Rows:
    """Returns the same episodes as columns."""
    outbox = Outbox(CARTPOLE.spec, 1, lambda: None)
    for number, seen in enumerate(observations):
        unroll = Unroll(number, None, outbox.add)
        for observation in seen[:-1]:
            _tick(unroll, observation)
        unroll.cut(RowKind.TERMINATED, seen[-1])
    return outbox.take()


def _write(folder: Path, columns: Rows) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: _array(column) for name, column in columns.items()}
    parquet.write_table(pa.table(arrays), folder / "limit.parquet", compression="zstd")
    return len(columns["kind"])


def _array(column: NDArray[np.generic]) -> pa.Array:
    flat = pa.array(column.reshape(-1))
    return flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column[0].size)
