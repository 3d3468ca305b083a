"""The examples of the Python client's page run as they stand there, and print what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.client import errors
from tests.client.background import service_in_thread

from .readme import shows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/clients/python.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
EXAMPLES = EXAMPLE.findall(PAGE) + EXAMPLE.findall(README)


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") + README.count("```python") > 6


@pytest.mark.parametrize(("program", "documented"), EXAMPLES)
def test_an_example_does_what_it_says(program: str, documented: str) -> None:
    with service_in_thread() as service:
        program = program.replace("http://127.0.0.1:36390", service.url)
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert shows(done.stdout, documented), done.stdout
    assert all(session.stopped for session in service.sessions.values())


def test_every_error_of_the_client_is_told() -> None:
    table = PAGE.partition("| Error |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`(\w+Error)`", table))
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
    assert listed == defined - {"SparringError", "ClientError", "StepFailedError"}
