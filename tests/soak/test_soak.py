"""The soak of its page, minutes in place of the hour."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import block_of
from tests.soak.plan import KINDS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
HOUR = "MINUTES=60"
MINUTES = 2.5
"""Of load: with start and end less than five on two idle cores."""


def test_games_and_training_survive_each_kind_of_fault(tmp_path: Path) -> None:
    documented = block_of("docs/soak.md", "make soak").text
    command = shlex.split(documented.replace(HOUR, f"MINUTES={MINUTES}"))
    assert shlex.join(command) != documented.strip(), f"its length is not {HOUR}"
    own = os.environ | {"SOAK_FOLDER": str(tmp_path / "soak")}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=1700, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    report = json.loads((tmp_path / "soak" / "report.json").read_text())
    assert report["passed"] is True
    assert (report["games_lost"], report["double_steps"]) == (0, 0)
    assert {fault["kind"] for fault in report["faults"]} == set(KINDS)
    assert report["ticks"] > 1000
    assert report["training"]["updates"] > 0
    assert done.stdout.endswith((tmp_path / "soak" / "report.md").read_text())  # Ray writes before it.
