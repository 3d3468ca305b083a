"""The README's commands, run in its order on ports that are free, and what it says that they print."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deployments.port import free_port

from .readme import (
    END_TIMEOUT_S,
    ROOT,
    Block,
    Terminal,
    blocks,
    change,
    copy_project,
    reader_env,
    replaced,
    shows,
    wait_for,
)

PORTS = ("36390", "8000", "8265", "5000", "6006")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    """The README's ports and the free ones that take their place."""
    return {port: str(free_port()) for port in PORTS}


@pytest.fixture(scope="module")
def project(ports: dict[str, str]) -> Iterator[Path]:
    """A copy of the project with those ports; a short path, since Ray puts sockets below it."""
    with tempfile.TemporaryDirectory(prefix="readme-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name) / "project"
        copy_project(folder)
        change(folder / "configs/base.yaml", actors__main__port=int(ports["36390"]))
        yield folder


@pytest.fixture(scope="module")
def env(project: Path) -> dict[str, str]:
    return reader_env(project.parent / "home")


@pytest.fixture(scope="module")
def cluster(project: Path, env: dict[str, str], ports: dict[str, str]) -> Iterator[str]:
    """A Ray head on free ports, with the token that ``serve run`` would make; yields its address."""
    bin_ = Path(sys.executable).parent
    subprocess.run([bin_ / "ray", "get-auth-token", "--generate"], env=env, check=True, capture_output=True)
    port, log = free_port(), project.parent / "ray.log"
    command = [
        bin_ / "ray", "start", "--head", "--block", f"--port={port}", f"--dashboard-port={ports['8265']}",
        f"--dashboard-agent-listen-port={free_port()}", f"--ray-client-server-port={free_port()}",
        "--min-worker-port=0", "--max-worker-port=0", "--num-cpus=4", f"--object-store-memory={512 * 2**20}",
        f"--temp-dir={project.parent / 'ray'}", "--disable-usage-stats",
    ]  # fmt: skip
    with log.open("wb") as output:
        head = subprocess.Popen(command, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_for(int(ports["8265"]), head, log, "ray start --head")
        yield f"127.0.0.1:{port}"
    finally:
        processes = [psutil.Process(head.pid), *psutil.Process(head.pid).children(recursive=True)]
        for process in processes:  # Its own way to end takes half a minute.
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, END_TIMEOUT_S)
        head.wait(END_TIMEOUT_S)


@pytest.fixture(scope="module")
def terminal(project: Path, env: dict[str, str], cluster: str) -> Iterator[Terminal]:
    logs = project.parent / "logs"
    logs.mkdir()
    terminal = Terminal(project, logs, env | {"RAY_ADDRESS": cluster})
    yield terminal
    terminal.stop_all()


def test_the_documented_outputs_are_compared() -> None:
    assert shows('log\n{"action":1}\n', '{"action":…}\n')
    assert not shows('{"code":"x"}', '{"action":…}\n')
    block, plain = blocks("<!-- test: port 80 -->\n```bash\na\n```\n\n```bash\nb\n```\n\n```text\nc\n```\n")
    assert block == Block("a\n", "", ("port", "80"))
    assert plain == Block("b\n", "c\n", ())


def test_every_block_of_commands_is_found() -> None:
    assert len(blocks(README)) == README.count("```bash") > 10


@pytest.mark.e2e
def test_the_readme_does_what_it_says(terminal: Terminal, ports: dict[str, str]) -> None:
    own_cluster = {"RAY_AUTH_MODE": "token"}  # Starting Ray itself, ``serve run`` would need nothing.
    start = f"serve start --http-host 127.0.0.1 --http-port {ports['8000']} --proxy-location HeadOnly"
    for block in blocks(replaced(README, ports)):
        serves = "serve run" in block.commands
        if "stop-all" in block.how:
            terminal.stop_all()
        if "stop" in block.how:
            terminal.stop()
        if serves:
            terminal.run(start, **own_cluster)  # Else ``serve run`` would take the port 8000.
        output = terminal.do(block, **(own_cluster if serves else {}))
        assert shows(output, block.output), f"{block.commands}\nprints\n{output}\ninstead of\n{block.output}"
