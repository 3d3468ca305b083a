"""Recorded sessions as tests."""

import json
import runpy
from pathlib import Path

import pytest
import yaml

from app.errors import ConfigError, RecordingError
from app.home import HOME_VARIABLE
from app.models.module import build_module, hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from app.recordings.index import find_session
from app.recordings.reading import read_episode
from app.types import StepKind
from tests.agents.test_recorded_agent import Late
from tests.recordings.played import LOGITS, Service, write_games
from train.regression import differences, write_test
from train.replay_commands import replay

FACTORY = "tests.small_policy:TablePolicy"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    path = tmp_path / "config.yaml"
    written = {
        "run": {"project": "game", "trial": "one"},
        "models": {"main": {"factory": FACTORY, "kwargs": {"logits": list(LOGITS)}}},
        "agents": {"player": {"model": "main"}},
    }
    path.write_text(yaml.safe_dump(written))
    return path


def other(folder: Path) -> str:
    """Returns the folder of a model that always takes the first action."""
    kwargs = {"logits": (9.0, -9.0)}
    module = build_module(FACTORY, kwargs, 0)
    folder.mkdir()
    write_model(folder, SavedModel(FACTORY, kwargs, hash_of(module), "3.14", to_arrays(module)))
    return str(folder)


@pytest.fixture
async def game(tmp_path: Path) -> Path:
    return await write_games(tmp_path / "recordings" / "player.parquet", [3, 8])


def in_process(function: object, *arguments: object) -> list[str]:
    """Plays again where no loop runs."""
    import concurrent.futures  # noqa: PLC0415

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return list(pool.submit(function, *arguments).result())  # type: ignore[arg-type]


async def test_a_session_is_answered_as_it_was_by_the_model_that_played_it(game: Path, config: Path) -> None:
    assert in_process(differences, game, config, "untrained") == []


async def test_a_model_that_acts_otherwise_is_told_with_step_and_answers(
    game: Path, config: Path, tmp_path: Path
) -> None:
    found = in_process(differences, game, config, other(tmp_path / "left"))
    ones = sum(int(step.action[""]) for number in (0, 1) for step in read_episode(game, number).ticks)
    assert ones > 0
    assert len(found) == ones
    assert found[0].endswith('(tick): was {"action":1}, is {"action":0}')


async def test_an_error_that_was_told_is_part_of_the_game(config: Path, tmp_path: Path) -> None:
    service = Service()
    await service.start()
    with pytest.raises(Exception, match="observation"):
        await service.tick(0, observation=[1])
    await service.tick(1)
    await service.stop(2)
    path = service.write(tmp_path / "game.parquet")
    assert in_process(differences, path, config, "untrained") == []


async def test_an_answer_whose_time_was_up_is_not_asked_for_again(config: Path, tmp_path: Path) -> None:
    service = Service(agent=Late)
    await service.start()
    await service.step(StepKind.TICK, "g-agent-player", {}, deadline_ms=1.0)
    await service.stop(1)
    assert in_process(differences, service.write(tmp_path / "game.parquet"), config, "untrained") == []


async def test_the_command_writes_a_test_that_passes_and_fails_with_another_model(
    game: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "regressions"

    def write(against: str) -> list[str]:
        replay(game.parent, session="g1-agent-player", to_test=folder, config=config, against=against, json_=True)
        return []

    in_process(write, "untrained")
    told = json.loads(capsys.readouterr().out)
    assert told["answered otherwise now"] == 0
    test = Path(told["test"])
    assert test == folder / "test_g1_agent_player.py"
    assert [path.name for path in sorted(folder.iterdir())] == ["test_g1_agent_player.parquet", test.name]
    assert len(find_session(folder, "g1-agent-player")[0].ticks) == 8
    in_process(run, test)
    in_process(write, other(tmp_path / "left"))
    assert json.loads(capsys.readouterr().out)["answered otherwise now"] > 0
    with pytest.raises(AssertionError, match=r'was {"action":1}, is {"action":0}'):
        in_process(run, test)


def run(test: Path) -> list[str]:
    """Runs the test of a file."""
    runpy.run_path(str(test))[f"{test.stem}_is_answered_as_it_was"]()
    return []


async def test_names_that_are_no_python_are_written_as_text(game: Path, tmp_path: Path) -> None:
    episode = read_episode(game, 0)
    object.__setattr__(episode, "session", 'a"""\n"; import os')
    test = write_test(episode, tmp_path / "t", tmp_path / "c.yaml", 'x"y', ['a="b"'])
    compile(test.read_text(), str(test), "exec")
    assert test.name == "test_a_import_os.py"


async def test_what_is_missing_is_said(game: Path, config: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--to-test needs --config"):
        replay(game, to_test=tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordingError, match="cannot be written"):
        write_test(read_episode(game, 0), tmp_path / "file" / "x", config, "untrained")
