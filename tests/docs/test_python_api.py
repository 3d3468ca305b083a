"""docs/python-api.md: its examples run one after another as they stand, and print what it says."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from deployments.port import free_port
from train.experiment import Experiment

from .readme import shows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_tells_every_call() -> None:
    told = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    public = {name for name, value in vars(Experiment).items() if callable(value) and not name.startswith("_")}
    assert told == public - {"from_yaml"}
    assert len(EXAMPLES) == PAGE.count("```python") == 3


@pytest.mark.e2e
def test_the_examples_do_what_they_say() -> None:
    ports = f'"actors.main.port={free_port()}", serve_port={free_port()})'
    program = "\nprint('----')\n".join(code for code, _ in EXAMPLES).replace(
        'batch_rows=512")', f'batch_rows=512", {ports}'
    )
    with tempfile.TemporaryDirectory(prefix="sparring-docs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        env = os.environ | {"PYTHONPATH": str(ROOT), "SPARRING_HOME": f"{folder}/sparring", "RAY_TMPDIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=380, check=False
        )
    assert done.returncode == 0, done.stderr
    for printed, (_, documented) in zip(done.stdout.split("----\n"), EXAMPLES, strict=True):
        assert shows(printed, documented), printed
