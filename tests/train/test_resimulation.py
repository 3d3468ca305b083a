"""Recorded games against models that a command names."""

import asyncio
import json
from pathlib import Path

import pytest

from app.config.models import ModelConfig
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ConfigError, ExportError, ModelMismatchError
from app.home import HOME_VARIABLE
from app.models.module import build_module, hash_of, spec_of, to_arrays
from app.models.saved import SavedModel, write_model
from app.recordings.reading import Episode, read_episodes
from tests.recordings.played import LOGITS, write_games
from train.replay_commands import replay
from train.resimulation import resimulate

FACTORY = "tests.small_policy:TablePolicy"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def episodes(tmp_path: Path) -> list[Episode]:
    return list(read_episodes(asyncio.run(write_games(tmp_path / "games.parquet", [8, 4]))))


def config(**agents: object) -> ExperimentConfig:
    return ExperimentConfig.model_validate(
        {
            "run": {"project": "game", "trial": "one"},
            "models": {"main": {"factory": FACTORY, "kwargs": {"logits": LOGITS}}},
            "agents": agents or {"player": {"model": "main"}},
        }
    )


def saved(folder: Path, *logits: float) -> Path:
    module = build_module(FACTORY, {"logits": logits}, 0)
    folder.mkdir()
    write_model(folder, SavedModel(FACTORY, {"logits": logits}, hash_of(module), "3.14", to_arrays(module)))
    return folder


def differing(episodes: list[Episode], against: str) -> list[int]:
    """Returns in how many ticks of each session a model acts differently."""
    return [len(one.differing) for one in resimulate(config(), episodes, against)]


def test_a_folder_and_untrained_weights_play_against_what_was_recorded(episodes: list[Episode], tmp_path: Path) -> None:
    ones = [sum(int(step.action[""]) for step in episode.ticks) for episode in episodes]
    assert ones[0] > 0
    assert differing(episodes, str(saved(tmp_path / "left", 9.0, -9.0))) == ones
    assert differing(episodes, "untrained") == [0, 0]


def test_weights_of_another_network_are_refused(episodes: list[Episode], tmp_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match=r"was saved by tests.small_policy:TablePolicy with the shapes"):
        resimulate(config(), episodes, str(saved(tmp_path / "three", 1.0, 2.0, 3.0)))


def test_a_model_or_agent_that_there_is_not_is_named(episodes: list[Episode], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no model 'checkpoints/latest'"):
        resimulate(config(), episodes, "checkpoints/latest")
    with pytest.raises(ConfigError, match="the recording is of agent 'player'; the config has other"):
        resimulate(config(other={"model": "main"}), episodes, "untrained")
    with pytest.raises(ConfigError, match=r"agents\.player asks no model"):
        resimulate(config(player={}), episodes, "untrained")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no graph")
    with pytest.raises(ExportError, match="is no release of the model"):
        resimulate(config(), episodes, str(broken))


def test_nothing_is_asked_for_nothing() -> None:
    assert resimulate(config(), [], "nowhere/at/all") == []


@pytest.mark.export
def test_a_release_acts_as_its_network_does(episodes: list[Episode], tmp_path: Path) -> None:
    from app.models.export.graph import export_graph  # noqa: PLC0415  # Takes seconds, which other tests save.
    from app.models.export.precision import released  # noqa: PLC0415  # As above.

    factory = "tests.small_policy:SmallPolicy"
    module = build_module(factory, {}, 0).eval()
    release = tmp_path / "release"
    release.mkdir()
    proto = released(export_graph(module), to_arrays(module), spec_of(module), "fp32", None)
    (release / "model.onnx").write_bytes(proto)
    small = config().model_copy(update={"models": {"main": ModelConfig(factory=factory)}})
    exported, network = (resimulate(small, episodes, name) for name in (str(release), "untrained"))
    for one, other in zip(exported, network, strict=True):
        assert [tick.other_action for tick in one.ticks] == [tick.other_action for tick in other.ticks]
        values = [tick.other_value for tick in one.ticks]
        assert values == pytest.approx([tick.other_value for tick in other.ticks], abs=1e-5)
        assert len(set(values)) == len(values)


def test_the_command_tells_each_session_as_text_or_json(
    episodes: list[Episode], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.yaml"
    file.write_text(
        "run: {project: game, trial: one}\n"
        f"models: {{main: {{factory: '{FACTORY}', kwargs: {{logits: [0.0, 1.0]}}}}}}\n"
        "agents: {player: {model: main}}\n"
    )
    replay(tmp_path, against="untrained", config=file)
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told] == ["session g1-agent-player", "session g0-agent-player"]
    assert told[0].endswith("untrained acts differently in 0 of 4 ticks, mean KL 0.0000 nats")
    replay(episodes[0].path, against="untrained", config=file, episode=0, json_=True)
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["session"], found["ticks"], found["differing"], found["errors"]) == ("g0-agent-player", 8, 0, 0)
    assert len(found["compared"]) == 8
    page = tmp_path / "game.html"
    replay(episodes[0].path, against="untrained", config=file, html=page)
    assert "against untrained" in page.read_text()
    assert "untrained acts alike, KL 0.0000 nats" in page.read_text()
    with pytest.raises(ConfigError, match="--against needs --config"):
        replay(episodes[0].path, against="untrained")
