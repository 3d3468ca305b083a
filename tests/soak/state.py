"""How far a soak is, so that it goes on after a stop; written whole or not at all."""

import json
import shutil
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final

from tests.soak.ledger import Ledger, ledger_of
from tests.soak.report import Recovery

NAME: Final = "state.json"
UNFINISHED: Final = f".{NAME}.unfinished"
WRITTEN: Final = frozenset({NAME, UNFINISHED, "home", "report.json", "report.md"})
"""All that a soak writes into its folder."""
SCHEMA_VERSION: Final = 1


@dataclass
class State:
    """What a later start goes on from."""

    seed: int
    seconds: float
    """Length of the whole."""
    done_s: float = 0.0
    """Load that there was."""
    starts: int = 0
    faults: list[Recovery] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    rows: Counter[str] = field(default_factory=Counter)
    looks: int = 0

    def write(self, folder: Path) -> None:
        """Replaces the file."""
        folder.mkdir(parents=True, exist_ok=True)
        told = {part.name: getattr(self, part.name) for part in fields(self)}  # asdict() cannot copy a Counter.
        told |= {"schema_version": SCHEMA_VERSION, "ledger": self.ledger.as_dict(), "rows": dict(self.rows)}
        told["faults"] = [asdict(fault) for fault in self.faults]
        unfinished = folder / UNFINISHED
        unfinished.write_text(json.dumps(told), encoding="utf-8")
        unfinished.replace(folder / NAME)


def clear(folder: Path) -> None:
    """Removes a soak's folder, if there is one.

    Raises:
      ValueError: It holds something else as well.
    """
    if not folder.exists():
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in WRITTEN)
    if others:
        raise ValueError(
            f"{folder} is no soak's folder, it holds {', '.join(others[:3])}; allowed is a new or empty one"
        )
    shutil.rmtree(folder)


def read_state(folder: Path, seed: int, seconds: float) -> State:
    """Returns what a folder holds.

    Raises:
      ValueError: There is nothing, or it is of another seed, length or schema.
    """
    try:
        told = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"there is no soak to go on with in {folder}: {error}") from error
    got = {"schema_version": told.pop("schema_version"), "seed": told["seed"], "seconds": told["seconds"]}
    wanted = {"schema_version": SCHEMA_VERSION, "seed": seed, "seconds": seconds}
    if got != wanted:
        raise ValueError(f"the soak in {folder} is {got}, and this one {wanted}; allowed is the same, or no --resume")
    faults = [Recovery(**fault) for fault in told.pop("faults")]
    return State(**{**told, "faults": faults, "ledger": ledger_of(told["ledger"]), "rows": Counter(told["rows"])})
