"""The curl lines of the pages are typed, against the admin paths of a replica or a game port that asks for keys."""

import asyncio
import os
import shutil
from pathlib import Path

import orjson
import pytest

from app.config.access import AccessConfig
from app.metrics import names
from app.metrics.metric import Metric
from app.types import Purpose, StepKind
from app.wire.http import HttpReply, HttpRequest
from app.wire.step_fields import step_of
from deployments.keys import DoorKeeper
from tests.deployments.test_admin import Measured, admin
from tests.deployments.wire_client import listening

from .blocks import Fenced, block_of

WAIT_S = 30.0
PORT = "36390"
STRICT = 'curl() { command curl -sSf -D heads "$@"; }\n'
"""A status that is no success ends the block; answers' heads are kept beside it."""
ADMIN = {
    ("docs/league.md", "/league/opponent"): 2,
    ("docs/metrics.md", "curl"): 4,
    ("docs/operations.md", "/sessions?"): 2,
    ("docs/operations.md", "/weights/"): 2,
}
"""Page and text of the blocks that a replica's admin paths answer, and how many answers they get."""
SIGNED = ("docs/access.md", "step_kind: start")
needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("openssl") is None, reason="the pages' commands use curl and openssl"
)
pytestmark = needs_curl


def run(block: Fenced) -> bool:
    """Returns whether a block is typed here."""
    return block.language in {"bash", "sh"} and any(
        page == block.page and text in block.text for page, text in (*ADMIN, SIGNED)
    )


async def typed(block: Fenced, folder: Path, port: int) -> bytes:
    """Types a block where another port takes the place of the page's, and returns what it prints."""
    process = await asyncio.create_subprocess_exec(
        "/bin/bash",
        "-euc",
        STRICT + block.text.replace(PORT, str(port)),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, wrong = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0, (block.text, wrong)
    return printed


class Seen(Measured):
    """A metric store with a series of each kind that the page asks for."""

    def __init__(self) -> None:
        super().__init__()
        self._table.add(Metric("damage", "distribution", "1", "Of a weapon."), {"weapon": "axe"}, 3.0, 0.0)
        self._table.add(names.SESSIONS, {"purpose": "train", "replica": "one"}, 1, 0.0)
        self._table.add(Metric("learner/kl", "distribution", "1", "Of an update."), {"trainer": "main"}, 0.1, 0.0)


@pytest.mark.parametrize(("page", "text"), ADMIN)
async def test_a_replica_answers_what_is_typed(page: str, text: str, tmp_path: Path) -> None:
    asked: list[str] = []
    replica = admin("one", "match-7", measured=Seen())

    async def answer(request: HttpRequest) -> HttpReply:
        asked.append(request.path)
        return await replica.show(request)

    async with listening(answer) as service:
        printed = await typed(block_of(page, text), tmp_path, service.port)
    assert len(asked) == ADMIN[page, text]
    assert printed


async def test_a_figure_of_a_query_is_the_one_that_was_measured(tmp_path: Path) -> None:
    block = block_of("docs/metrics.md", "curl")
    (line,) = [line for line in block.text.splitlines() if "learner/kl" in line]
    async with listening(admin(measured=Seen()).show) as service:
        printed = await typed(Fenced(block.page, 1, "bash", line), tmp_path, service.port)
    (series,) = orjson.loads(printed)["series"]
    assert (series["labels"], series["values"]) == ({"trainer": "main"}, {"mean": 0.1})


async def test_the_file_of_weights_has_the_name_that_the_page_says(tmp_path: Path) -> None:
    async with listening(admin().show) as service:
        await typed(block_of("docs/operations.md", "/weights/"), tmp_path, service.port)
    assert "main-1.7.safetensors" in os.listdir(tmp_path)


class Guarded:
    """Admits over HTTP what the keys of a page admit."""

    def __init__(self, access: AccessConfig) -> None:
        self._keeper = DoorKeeper(access, Purpose.TRAIN)
        self.admitted: list[tuple[str, StepKind]] = []

    async def answer(self, request: HttpRequest) -> HttpReply:
        step = step_of(request.fields, request.body)
        self._keeper.admit(step)
        self.admitted.append((step.session, step.kind))
        return HttpReply(200, b"{}")


async def test_a_start_that_is_signed_as_the_page_says_is_admitted(tmp_path: Path) -> None:
    keys = block_of("docs/access.md", "static_token", "yaml")
    (tmp_path / "keys.yaml").write_text(keys.text, encoding="utf-8")
    guarded = Guarded(AccessConfig(keys_file=str(tmp_path / "keys.yaml")))
    block = block_of(*SIGNED)
    async with listening(guarded.answer) as service:
        await typed(block, tmp_path, service.port)
        wrong = Fenced(block.page, 1, "bash", block.text.replace("session: $session", "session: another"))
        with pytest.raises(AssertionError, match="401"):
            await typed(wrong, tmp_path, service.port)
    assert guarded.admitted == [("match-17", StepKind.START)]
