"""The page about several nodes as written: its commands, typed on two machines."""

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from app.client.sync import Client
from tests.docs.readme import ROOT, copy_project
from tests.ring.service import wait_until

from .network import Machine, machines, missing

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PAGE = ROOT / "docs" / "cluster.md"
HEAD, FURTHER = "10.0.0.1", "10.0.0.2"
"""The page's addresses."""
SHARED = "/mnt/shared"
STATE = {"observation": [0.01, 0.02, 0.03, 0.04], "reward": 1.0}
DEPLOYED_S = 180.0
KEY = "game-cores-of-the-page"


@dataclass
class Reader:
    """Types the page's commands on one machine, in one terminal."""

    machine: Machine
    folder: Path
    """The project, on every machine at the same place."""
    home: Path
    replaced: dict[str, str]
    """What of the page's addresses and folders is here."""
    exports: list[str] = field(default_factory=list)

    def type(self, commands: str, more: str = "") -> str:
        """Returns what commands print; ``export`` holds for later ones, too."""
        lines = [self.translated(line) for line in commands.splitlines()]
        self.exports += [line for line in lines if line.startswith("export ")]
        done = [line for line in lines if not line.startswith("export ")]
        forget = 'unset "${!RAY_@}" "${!SPARRING_@}" PYTHONPATH'
        where = [f"cd {self.folder}", f"export HOME={self.home} PATH={self.folder}/.venv/bin:$PATH COLUMNS=200"]
        return self.machine.run("bash", "-ec", "\n".join([forget, *where, *self.exports, *done]) + more)

    def translated(self, text: str) -> str:
        for page, here in self.replaced.items():
            text = text.replace(page, here)
        return text


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[tuple[Reader, Reader]]:
    lacks = missing()
    if lacks is not None:
        pytest.skip(f"tests of several nodes need {lacks}")
    folder = tmp_path / "sparring"
    copy_project(folder)
    with machines("first", "second") as made:
        first, second = made["first"], made["second"]
        replaced = {HEAD: first.address, FURTHER: second.address, SHARED: str(tmp_path / "shared")}
        homes = [tmp_path / "home-first", tmp_path / "home-second"]
        for home in (*homes, tmp_path / "shared"):
            home.mkdir()
        yield Reader(first, folder, homes[0], replaced), Reader(second, folder, homes[1], replaced)


def blocks() -> list[tuple[str, str]]:
    """Returns language and text of what stands under "Start"."""
    start = PAGE.read_text(encoding="utf-8").split("## Start\n")[1].split("\n## ")[0]
    return re.findall(r"```(\w+)\n(.*?)```", start, re.DOTALL)


def test_the_page_makes_a_cluster_that_plays_and_trains(readers: tuple[Reader, Reader]) -> None:
    head, further = readers
    (_, on_head), (_, on_further), (language, config), (_, deploy) = blocks()
    assert language == "yaml"

    head.machine.persist(lambda: head.type(on_head))
    (further.home / ".ray").mkdir()
    shutil.copy(head.home / ".ray" / "auth_token", further.home / ".ray" / "auth_token")
    further.machine.persist(lambda: further.type(on_further))

    rl = head.folder / "configs" / "rl.yaml"
    OmegaConf.save(OmegaConf.merge(OmegaConf.load(rl), OmegaConf.create(head.translated(config))), rl)
    keys = Path(head.translated("/mnt/shared/keys.yaml"))
    keys.write_text(yaml.safe_dump([{"name": "cores", "key": KEY}]))
    deployed, asked, job = deploy.splitlines()
    head.type(deployed)
    addresses = {head.machine.address, further.machine.address}
    wait_until(lambda: all(address in head.type(asked) for address in addresses), "both nodes play", DEPLOYED_S)

    with ThreadPoolExecutor(1) as terminal:
        training = terminal.submit(head.type, job, " --set trainers.main.max_updates=2")
        with further.machine.joined(), Client(f"http://{further.machine.address}:36390", key=KEY) as client:
            number = 0
            while not training.done():
                number += 1
                with client.start(game=f"game-{number}") as session:
                    for _ in range(64):
                        session.tick(STATE)
    assert "registered version 1 of main as the champion" in training.result()
    assert (Path(head.translated(SHARED)) / "sparring").is_dir()
