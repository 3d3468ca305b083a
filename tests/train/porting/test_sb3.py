"""Policies of Stable-Baselines3 become ours, and nothing of their files is run."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from app.config.load import load
from app.errors import CheckpointError, ConfigError, SparringError
from train.porting import archive as archives
from train.porting.archive import read_archive
from train.porting.commands import import_sb3
from train.porting.networks import port

from .compared import difference, served
from .files import BOX, CHOICE, FLAG, Writes, actor_critic, write


def imported(tmp_path: Path, tensors: Any, *, normalise: Path | None = None, **data: Any) -> Path:
    folder = tmp_path / "pilot"
    import_sb3(write(tmp_path / "model.zip", tensors, **data), folder, None, normalise, None, None)
    return folder


def answers(network: Any, seen: torch.Tensor) -> dict[str, Any]:
    with torch.no_grad():
        logits = network["action_net"](network["mlp_extractor"]["policy_net"](seen)).log_softmax(1)
        value = network["value_net"](network["mlp_extractor"]["value_net"](seen)).squeeze(1)
    return {"observation": seen.numpy(), "logits": logits.numpy(), "value": value.numpy()}


def test_a_policy_answers_as_before_and_its_config_serves_it(tmp_path: Path) -> None:
    network = actor_critic()
    folder = imported(tmp_path, network.state_dict())
    assert max(difference(served(folder), answers(network, torch.randn(6, 4))).values()) < 1e-6
    config = load(folder / "config.yaml")
    assert (config.run.project, config.run.mode, config.models["main"].checkpoint) == ("pilot", "deploy", str(folder))


def test_no_pickle_of_a_file_is_loaded(tmp_path: Path) -> None:
    imported(tmp_path, actor_critic().state_dict())
    with pytest.raises(ConfigError, match=r"policy\.pth holds more than tensors, or is damaged"):
        imported(tmp_path, {"a": Writes(tmp_path / FLAG)})
    assert not (tmp_path / FLAG).exists()


def test_statistics_are_part_of_the_weights(tmp_path: Path) -> None:
    network, seen = actor_critic(), torch.randn(6, 4)
    mean, variance = np.arange(4.0), np.array([1.0, 4.0, 9.0, 0.5])
    np.savez(tmp_path / "s.npz", mean=mean, variance=variance, clip=10.0, epsilon=1e-8, count=50.0)
    folder = imported(tmp_path, network.state_dict(), normalise=tmp_path / "s.npz")
    scaled = ((seen.numpy() - mean) / np.sqrt(variance + 1e-8)).clip(-10, 10).astype(np.float32)
    told = answers(network, torch.from_numpy(scaled)) | {"observation": seen.numpy()}
    assert max(difference(served(folder), told).values()) < 1e-5
    np.savez(tmp_path / "s.npz", mean=mean, variance=variance, clip=5.0, epsilon=1e-8, count=50.0)
    with pytest.raises(ConfigError, match="clip is 5; allowed is 10"):
        imported(tmp_path, network.state_dict(), normalise=tmp_path / "s.npz")
    np.savez(tmp_path / "s.npz", mean=np.array([None]), clip=10.0, epsilon=1e-8, count=50.0)
    with pytest.raises(ConfigError, match=r"is no file of plain arrays"):
        imported(tmp_path, network.state_dict(), normalise=tmp_path / "s.npz")


def test_a_space_that_the_file_does_not_tell_may_be_given(tmp_path: Path) -> None:
    file = write(tmp_path / "m.zip", actor_critic().state_dict(), observation_space="?", action_space="?")
    with pytest.raises(ConfigError, match="observation_space is"):
        port(read_archive(file))
    import_sb3(file, tmp_path / "pilot", "shooter", None, '{"shape": [4]}', '{"choices": 3}')
    assert load(tmp_path / "pilot" / "config.yaml").run.project == "shooter"


LAYERS = actor_critic().state_dict()
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ELU'>"}}, "is ELU; allowed are Tanh"),
    ({}, {"policy_kwargs": {"features_extractor_class": "<class 'mine.Eyes'>"}}, "is Eyes; allowed are"),
    ({}, {"action_space": CHOICE | {"n": "4"}}, "action_net has 3 outputs; its action space says"),
    ({}, {"action_space": CHOICE | {"start": "1"}}, "starts at 1; allowed are choices that are counted from 0"),
    ({}, {"action_space": CHOICE | {"n": "__import__('os')"}}, "allowed is a whole number"),
    ({}, {"observation_space": BOX | {"_shape": [-1]}}, "allowed is a list of positive sizes"),
    ({}, {"observation_space": BOX | {"_shape": [5]}}, "these weights do not fit"),
    ({}, {"observation_space": {":type:": "<class 'gymnasium.spaces.graph.Graph'>"}}, "allowed are Box, Discrete"),
    ({"mlp_extractor.policy_net.1.weight": torch.ones(8)}, {}, "allowed are linear layers"),
    ({"lstm_actor.weight": torch.ones(8)}, {}, "is none of PPO, A2C, DQN, SAC"),
    ({"action_net.bias": torch.full((3,), float("nan"))}, {}, "action_net.bias hold numbers that are not finite"),
]


@pytest.mark.parametrize(("more", "data", "message"), BAD)
def test_what_is_none_of_ours_is_told_and_nothing_is_written(
    tmp_path: Path, more: dict[str, Any], data: dict[str, Any], message: str
) -> None:
    with pytest.raises(SparringError, match=message):
        imported(tmp_path, {**LAYERS, **more}, **data)
    assert not (tmp_path / "pilot").exists()


def test_files_that_are_none_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = tmp_path / "words.zip"
    nothing.write_text("words")
    with pytest.raises(ConfigError, match="is no model file of Stable-Baselines3"):
        read_archive(nothing)
    with zipfile.ZipFile(nothing, "w") as file:
        file.writestr("data", "[]")
    with pytest.raises(ConfigError, match=r"data is a list; allowed is an object"):
        read_archive(nothing)
    whole = write(tmp_path / "m.zip", LAYERS)
    monkeypatch.setattr(archives, "MAX_WEIGHTS_BYTES", 100)
    with pytest.raises(ConfigError, match=r"policy.pth has \d+ bytes; allowed are 100"):
        read_archive(whole)


def test_weights_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, file = io.BytesIO(), tmp_path / "m.zip"
    with zipfile.ZipFile(inside, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("archive/data/0", bytes(10**6))
    with zipfile.ZipFile(file, "w") as outer:
        outer.writestr("data", "{}")
        outer.writestr("policy.pth", inside.getvalue())
    monkeypatch.setattr(archives, "MAX_WEIGHTS_BYTES", 10**5)
    with pytest.raises(ConfigError, match=r"policy.pth unpacks to 1000000 bytes"):
        read_archive(file)


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "pilot").mkdir()
    (tmp_path / "pilot" / "mine.txt").touch()
    with pytest.raises(CheckpointError, match="take a new folder"):
        imported(tmp_path, LAYERS)
    assert [path.name for path in (tmp_path / "pilot").iterdir()] == ["mine.txt"]
