"""Somebody who types the commands of a page, in a copy of the project with ports of its own."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deployments.port import free_port

from .readme import COMMAND_TIMEOUT_S, Terminal, change, copy_project, reader_env


class Reader(NamedTuple):
    """Who types the commands of a page."""

    terminal: Terminal
    ports: dict[str, str]
    """Those that take the place of the page's."""
    folder: Path
    """Holds ``project``, ``home`` and Ray's files."""

    @property
    def configs(self) -> Path:
        """Returns the folder of the project's configs."""
        return self.folder / "project" / "configs"

    def cluster(self) -> str:
        """Returns the address of the cluster that was started last."""
        (port,) = (self.folder / "ray" / "session_latest").glob("gcs_server_port_*")
        return f"127.0.0.1:{port.read_text()}"


@contextmanager
def reader_of_a_copy(prefix: str, timeout_s: float = COMMAND_TIMEOUT_S) -> Iterator[Reader]:
    """Yields a reader; ends what the reader started.

    Args:
      prefix: Of the folder's name, which is short, since Ray puts sockets below it.
      timeout_s: Longest time of one command.
    """
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    with tempfile.TemporaryDirectory(prefix=prefix, dir="/tmp", ignore_cleanup_errors=True) as name:
        root = Path(name)
        copy_project(root / "project")
        change(root / "project" / "configs" / "base.yaml", actors__main__port=int(ports["36390"]))
        change(root / "project" / "serve_config.yaml", http_options__port=int(ports["8000"]))
        (root / "logs").mkdir()
        env = reader_env(root / "home") | {"RAY_TMPDIR": name}
        reader = Reader(Terminal(root / "project", root / "logs", env, timeout_s), ports, root)
        try:
            yield reader
        finally:
            reader.terminal.stop_all()
