"""docs/soak.md names the command, the faults and the limits of the code."""

import re
import subprocess

from tests.docs.readme import ROOT
from tests.soak.limits import GAMES_S, HOLD_S, SNAPSHOT_EVERY, WELL_S
from tests.soak.plan import KINDS
from tests.soak.report import JUDGED_S, SLOPE_MAX_MIB

TEXT = (ROOT / "docs" / "soak.md").read_text(encoding="utf-8")


def test_the_command_of_the_page_is_a_target_that_takes_its_words() -> None:
    (command,) = re.findall(r"```bash\n(make .*)\n```", TEXT)
    words = command.split()
    done = subprocess.run([words[0], "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "python -m tests.soak --minutes 60 --seed 1" in done.stdout


def test_each_fault_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(KINDS)


def test_limits_are_those_of_the_code() -> None:
    assert f"more than {SLOPE_MAX_MIB:.0f} MiB an hour over {JUDGED_S / 60:.0f} minutes" in TEXT
    assert f"more than {GAMES_S:.0f} s, or {WELL_S:.0f} s" in TEXT
    assert TEXT.count(f"{HOLD_S:.0f} s") >= 2
    assert f"last snapshot ({SNAPSHOT_EVERY})" in TEXT
