"""What docs/models.md does with checkpoints and clones, and docs/export.md with registered versions, is typed here."""

import json
import re
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.games.cartpole.model import build
from app.models.module import hash_of
from train.checkpoint import Checkpoints, LearnerState
from train.resume import Progress
from train.strategies.strategy import TrainedState

from .blocks import Fenced, block_of, commands
from .readme import ROOT

pytestmark = [pytest.mark.mlflow, pytest.mark.export]

MODELS, EXPORTS = ("docs/models.md", "sparring models clone"), ("docs/export.md", "sparring export")
SHOWN_ID = "3f2a91c07d4e"
"""The page's clone."""


def run(block: Fenced) -> bool:
    """Returns whether a block is typed here."""
    return block.language == "bash" and any(
        page == block.page and text in block.text for page, text in (MODELS, EXPORTS)
    )


def words_of(page: str, text: str) -> list[list[str]]:
    return list(commands(block_of(page, text)))


def sparring(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0, words


def save_checkpoint(home: Path) -> None:
    module = build()
    state = LearnerState(
        Progress(TrainedState(module.state_dict())),
        5,
        1,
        hash_of(module),
        "run",
        factory="app.games.cartpole.model:build",
    )
    Checkpoints(home / "cartpole" / "rl" / "checkpoints" / "main").save(state)


def test_checkpoints_are_cloned_registered_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    save_checkpoint(tmp_path / "home")
    own = SHOWN_ID
    for _, *words in words_of(*MODELS):
        sparring(*(word.replace(SHOWN_ID, own) for word in words))
        printed = capfd.readouterr().out
        if "checkpoints/latest" in words:
            (own,) = re.findall(r"clones/([0-9a-f]{12})\b", printed)
    for alias in ("second", "champion"):  # The page exports the third version, and without one the champion.
        sparring("models", "register", own, "--config", "configs/rl.yaml", "--alias", alias)
    rows = block_of(EXPORTS[0], "rows.npz", "python")
    exec(rows.text, {})  # noqa: S102  # Our own page.
    for _, *words in words_of(*EXPORTS):
        sparring(*words)
    reports = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("release*/report.json")}
    told = {name: (report["precision"], report["observations"]) for name, report in reports.items()}
    assert told == {
        "release": ("fp32", "random"), "release-fp16": ("fp16", "random"), "release-int8": ("int8", "recorded")
    }  # fmt: skip
