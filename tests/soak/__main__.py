"""``python -m tests.soak``: steady load and random faults for as long as one likes."""

import argparse
import sys
from pathlib import Path

from app.errors import SparringError
from app.startup import INTERRUPTED
from tests.soak.run import Soak, run
from tests.soak.state import clear

DEFAULT = Path(__file__).parents[2] / "build" / "soak"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the load, start and end apart")
    parser.add_argument("--seed", type=int, default=1, help="draws faults and games")
    parser.add_argument("--folder", type=Path, default=DEFAULT, help="of state and reports")
    parser.add_argument("--resume", action="store_true", help="goes on with what is in the folder")
    given = parser.parse_args()
    folder = given.folder.absolute()
    try:
        if not given.resume:
            clear(folder)
        report = run(Soak(folder, given.seed, 60 * given.minutes, given.resume))
    except (ValueError, SparringError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"interrupted; {folder} keeps what was done, --resume goes on with it\n")
        return INTERRUPTED
    sys.stdout.write(report.text())
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
