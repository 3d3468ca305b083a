"""Reads the README's commands and runs them as a reader would: one after another, long ones in the background."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COPIED = (
    "app", "deployments", "train", "configs", "docs", "serve_config.yaml", "pyproject.toml", "Makefile", "README.md",
    "constraints.txt", ".rayignore",
)  # fmt: skip
BASH = re.compile(
    r"(?:<!-- test: (?P<how>[^>]*) -->\n)?```bash\n(?P<commands>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?",
    re.DOTALL,
)
ANYTHING = "…"
"""Stands for any text in a documented output."""
COMMAND_TIMEOUT_S = 240.0
START_TIMEOUT_S = 150.0
END_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Block:
    """Commands of the README.

    Attributes:
      commands: What the reader types.
      output: What the README shows behind it; empty where it shows nothing.
      how: Words of the comment before it: ``dry`` (shown by make, not done), ``port N`` (runs in the background from
        when the port answers), ``background`` (at once), ``stop`` (after a Ctrl-C for what began there last),
        ``stop-all`` (for all of it).
    """

    commands: str
    output: str
    how: tuple[str, ...]

    @property
    def port(self) -> str | None:
        return self.how[self.how.index("port") + 1] if "port" in self.how else None


def copy_project(folder: Path) -> None:
    """Makes a copy of the project as a reader has it, with its virtual environment."""
    folder.mkdir()
    for item in COPIED:
        source = ROOT / item
        if source.is_dir():
            shutil.copytree(source, folder / item, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / item)  # As old as it is: make would install what is newer.
    (folder / ".venv").symlink_to(sys.prefix)


def change(file: Path, **changes: Any) -> None:
    """Changes values of a YAML file by their paths, ``a__b=1``."""
    tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    for path, value in changes.items():
        *above, name = path.split("__")
        part = tree
        for key in above:
            part = part.setdefault(key, {})
        part[name] = value
    file.write_text(yaml.safe_dump(tree), encoding="utf-8")


def reader_env(home: Path) -> dict[str, str]:
    """Returns a reader's environment: a home of its own, the environment active, no settings for Ray or Sparring."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "SPARRING_"))}
    home.mkdir()
    return kept | {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def blocks(text: str) -> list[Block]:
    found = (match.groupdict() for match in BASH.finditer(text))
    return [Block(b["commands"], b["output"] or "", tuple((b["how"] or "").split())) for b in found]


def replaced(text: str, ports: Mapping[str, str]) -> str:
    """Returns a text with other port numbers."""
    return re.sub("|".join(rf"\b{port}\b" for port in ports), lambda match: ports[match[0]], text)


def shows(output: str, documented: str) -> bool:
    """Returns whether an output has the documented lines, in order, with anything around and for ``…``."""
    lines = [".*".join(re.escape(part) for part in line.split(ANYTHING)) for line in documented.splitlines()]
    return re.search(".*".join(lines), output, re.DOTALL) is not None


class Terminal:
    """A reader's terminals in one folder."""

    def __init__(self, folder: Path, logs: Path, env: Mapping[str, str], timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._logs = logs
        self._env = dict(env)
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def do(self, block: Block, **variables: str) -> str:
        """Runs a block, with more environment variables, and returns its output; one in the background has none."""
        if block.port is not None or "background" in block.how:
            self._start(block, variables)
            return ""
        commands = re.sub(r"^make ", "make -n ", block.commands, flags=re.MULTILINE) if "dry" in block.how else None
        return self.run(commands or block.commands, **variables)

    def run(self, commands: str, **variables: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", commands],
            cwd=self._folder,
            env=self._env | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self._timeout_s,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode} of\n{commands}\n{done.stdout}"
        return done.stdout

    def stop_all(self) -> None:
        """Sends Ctrl-C to all that runs in the background, the newest first."""
        while self._running:
            self.stop()

    def stop(self) -> None:
        """Sends Ctrl-C to what began last in the background and waits for its end."""
        commands, process = self._running.pop()
        with contextlib.suppress(ProcessLookupError):  # It may have ended by itself.
            os.killpg(process.pid, signal.SIGINT)
        try:
            code = process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(END_TIMEOUT_S)
            raise AssertionError(f"Ctrl-C did not end within {END_TIMEOUT_S} s:\n{commands}") from None
        ended = {0, -signal.SIGINT} if commands.startswith("make ") else {0}  # make tells how it was ended, too.
        assert code in ended, f"exit code {code} after Ctrl-C of\n{commands}"

    def _start(self, block: Block, variables: Mapping[str, str]) -> None:
        log = self._logs / f"{len(list(self._logs.iterdir()))}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["/bin/bash", "-c", f"exec {block.commands}"],
                cwd=self._folder,
                env=self._env | dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # One Ctrl-C reaches the whole group, and nothing of ours.
            )
        self._running.append((block.commands, process))
        if block.port is not None:
            wait_for(int(block.port), process, log, block.commands)


def wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path, commands: str) -> None:
    """Returns once somebody listens on a port of this machine."""
    end_s = time.monotonic() + START_TIMEOUT_S
    while not listening(port):
        text = log.read_text(errors="replace")
        assert process.poll() is None, f"it ended with exit code {process.returncode}:\n{commands}\n{text}"
        assert time.monotonic() < end_s, f"nothing listens on port {port}:\n{commands}\n{text}"
        time.sleep(0.1)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
