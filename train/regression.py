"""A recorded session as a test: whoever answers it otherwise one day is told so."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from app.config.load import load
from app.errors import RecordingError
from app.recordings.files import SUFFIX, write_table
from app.recordings.reading import Episode, read_episodes, read_table
from app.resimulation.again import Again
from app.wire.steps import Json
from train.resimulation import played_again

TOLERANCE: Final = 1e-5
"""Largest difference of two numbers in an answer that are the same."""
SHOWN: Final = 400
"""Characters of an answer that a message shows."""
PREFIX: Final = "test_"
_TEST: Final = '''\
"""Session {session}, played {day}: it is answered as it was.

Written by ``sparring replay --to-test``; the game lies beside this file.
"""

from pathlib import Path

from train.regression import differences

HERE = Path(__file__).parent
GAME = HERE / "{game}"
CONFIG = HERE / "{config}"
MODEL = "{model}"
OVERRIDES: tuple[str, ...] = {overrides}


def {name}() -> None:
    found = differences(GAME, CONFIG, MODEL, OVERRIDES)
    assert not found, "\\n".join(found)
'''


def differences(game: Path, config: Path, model: str, overrides: Sequence[str] = ()) -> list[str]:
    """Returns what is answered otherwise than it was recorded, a line a step; nothing where all is as it was.

    Each step gets what came then, and the random numbers of then.

    Args:
      game: A recording.
      config: File with the agent that played.
      model: Who decides; see ``other_model``.
      overrides: Changes of the config, as ``a.b=c``.

    Raises:
      SparringError: Recording, config or model cannot be read, or do not fit each other.
    """
    episodes = list(read_episodes(game))
    if not episodes:
        raise RecordingError(f"{game}: it holds no session; allowed is one that sparring replay --to-test has written")
    _, played = played_again(load(config, list(overrides)), episodes, model)
    return [line for steps in played for again in steps if (line := _difference(again)) is not None]


def write_test(episode: Episode, folder: Path, config: Path, model: str, overrides: Sequence[str] = ()) -> Path:
    """Writes a session and a test of it into a folder, and returns the test's file.

    Args:
      episode: The session, with what came, from its start on.
      folder: Made where it is missing; session and test lie there together.
      config: File with the agent that played; the test names it by its way from the folder.
      model: Who decides in the test.
      overrides: Changes of the config, as ``a.b=c``.

    Raises:
      RecordingError: The files cannot be written.
    """
    stem = PREFIX + (re.sub(r"\W+", "_", episode.session).strip("_").lower() or "session")
    _, table = read_table(episode.path)
    only = table.filter(pc.equal(table.column("recording"), episode.number))
    first = pa.array([0] * only.num_rows, only.schema.field("recording").type)
    only = only.set_column(only.schema.get_field_index("recording"), only.schema.field("recording"), first)
    test = folder / f"{stem}.py"
    text = _TEST.format(
        session=_harmless(episode.session),
        day=datetime.fromtimestamp(episode.steps[0].at_s, UTC).strftime("%Y-%m-%d"),
        game=f"{stem}{SUFFIX}",
        config=_harmless(Path(os.path.relpath(config, folder)).as_posix()),
        model=_harmless(model),
        overrides=_tuple(overrides),
        name=f"{stem}_is_answered_as_it_was",
    )
    try:
        write_table(folder / f"{stem}{SUFFIX}", only)
        test.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{test} cannot be written: {error}") from error
    return test


def _difference(again: Again) -> str | None:
    """Returns how a step is answered otherwise; None where it is not, or where nobody was answered then."""
    step = again.step
    if step.event == "end" or (step.error is not None and not _is_code(step.error)):  # Its time was up, say.
        return None
    was_error, is_error = _code(step.error if step.output is None else None), _code(again.error)
    if was_error != is_error:
        got = again.error if again.error is not None else _shown(again.output)
        return f"step {step.seq} ({step.event}): was {step.error or _shown(step.output)}, is {got}"
    if was_error is None and not _same(_value(step.output), _value(again.output)):
        return f"step {step.seq} ({step.event}): was {_shown(step.output)}, is {_shown(again.output)}"
    return None


def _is_code(error: str) -> bool:
    """Returns whether an error was told to the game core: a code of ours, no cancelled step and no broken agent."""
    return re.fullmatch(r"[a-z_]+", _code(error) or "") is not None


def _code(error: str | None) -> str | None:
    return None if error is None else error.partition(":")[0]


def _value(body: bytes | None) -> Json | bytes:
    if not body or body == b"null":
        return None
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return value


def _same(one: Any, other: Any) -> bool:
    """Returns whether two answers are the same, numbers within the tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    numbers = [value for value in (one, other) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == 2:  # noqa: PLR2004  # Both.
        return bool(np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))
    return bool(one == other)


def _shown(body: bytes | None) -> str:
    text = "nothing" if body is None else body.decode(errors="backslashreplace")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _harmless(text: str) -> str:
    """Returns text that stands between quotes in Python without ending them."""
    return text.encode("unicode_escape").decode().replace('"', r"\"")


def _tuple(values: Sequence[str]) -> str:
    inner = ", ".join(f'"{_harmless(value)}"' for value in values)
    return f"({inner},)" if values else "()"
