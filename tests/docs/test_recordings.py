"""The commands of docs/recordings.md, on games that a test has recorded."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from app.config.recording import RecordConfig
from app.recordings.reading import read_episode
from app.render.player import player_html
from tests.recordings.played import Service
from train.replay_commands import replay

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recordings.md"
FOLDER = "~/.sparring/cartpole/record/recordings"


def commands() -> list[list[str]]:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


async def recorded(folder: Path) -> None:
    from app.games.cartpole.model import build  # noqa: PLC0415  # torch takes seconds.

    service = Service(network=build())
    await service.start("g0-agent-player")
    for tick in range(3):
        await service.tick(tick, "g0-agent-player", observation=[tick / 10, 0, 0, 0])
    value = {"observation": [1, 0, 0, 0], "reward": 1, "terminated": True}
    await service.stop(1, "g0-agent-player", **value)
    service.write(folder / "player.parquet", renders='{"cart": "app.games.cartpole.render:cart"}')


def test_every_command_does_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "recordings"
    asyncio.run(recorded(folder))
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))
    cli = typer.Typer()
    cli.command()(replay)
    found = commands()
    assert len(found) == 4
    for words in found:
        assert words[:2] == ["sparring", "replay"]
        given = [str(folder) if word == FOLDER else word for word in words[2:]]
        result = CliRunner().invoke(cli, given, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert "cart" in Path("game.html").read_text(encoding="utf-8")
    assert Path("game.gif").stat().st_size > 0
    assert Path("tests/regressions/test_g0_agent_player.py").is_file()


def test_all_keys_are_told_and_its_config_is_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    keys = set(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page, re.MULTILINE))
    assert RecordConfig.model_fields.keys() <= {key for cell in keys for key in re.findall(r"\w+", cell)}
    first, *_ = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    RecordConfig.model_validate(yaml.safe_load(first)["agents"]["player"]["record"])


def test_the_render_of_the_page_draws_and_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    render, reading = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    asyncio.run(recorded(tmp_path / "recordings"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(render, names)  # noqa: S102  # Our own page.
    exec(reading, names)  # noqa: S102  # As above.
    assert str(names["page"]).startswith("<!doctype html>")
    episode = read_episode(tmp_path / "recordings" / "player.parquet", 0)
    assert "data:image/png" in player_html(episode, {"heat": names["heat"]})  # type: ignore[dict-item]
