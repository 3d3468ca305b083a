"""Templates of Bray become configs of ours, and no key is left out in silence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.load import checked
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.porting.bray import Ported, port_bray

from .templates import template


def port(tmp_path: Path, values: Mapping[str, Any]) -> Ported:
    path = tmp_path / "bray.yaml"
    path.write_text(yaml.safe_dump(dict(values), sort_keys=False), encoding="utf-8")
    return port_bray(path)


def config(tmp_path: Path, **changes: Any) -> ExperimentConfig:
    return checked(port(tmp_path, template(**changes)).tree, (), Path("ours.yaml"))


def keys(values: Mapping[str, Any]) -> set[str]:
    inside = {f"{name}.{key}" for name, part in values.items() if isinstance(part, dict) for key in part}
    evaluated = {f"learner.eval.{key}" for key in values["learner"]["eval"]}
    return inside | evaluated | {name for name, part in values.items() if not isinstance(part, dict)}


def test_every_key_is_told_once(tmp_path: Path) -> None:
    values = template()
    told = [line.key for line in port(tmp_path, values).lines]
    assert sorted(told) == sorted(keys(values))


def test_what_has_no_counterpart_says_why(tmp_path: Path) -> None:
    without = {line.key: line.note for line in port(tmp_path, template()).lines if not line.has_counterpart}
    assert all(without.values())
    assert {"net.override_model", "net.tensorboard_step", "server.serialize", "learner.batch_kind"} <= without.keys()
    assert "network.names" in without


def test_names_and_paths_are_ours(tmp_path: Path) -> None:
    found = config(tmp_path)
    assert (found.run.project, found.run.trial, found.run.mode) == ("shooter_game", "ppo_v0", "train")
    assert found.models["net"].factory == "shooter.models.net:build_model"
    assert found.agents["shooter"].factory == "shooter.agents:Shooter"
    assert found.agents["shooter"].kwargs == {"aggression": 0.7}
    assert found.agents["shooter"].renders == {"arena_view": "shooter.renders:view"}


def test_the_first_agent_answers_and_the_others_observe(tmp_path: Path) -> None:
    agents = config(tmp_path).agents
    assert (agents["shooter"].role, agents["counter"].role) == ("player", "observer")
    assert (agents["shooter"].model, agents["shooter"].buffer) == ("net", "own_buffer")
    assert (agents["counter"].model, agents["counter"].buffer) == (None, None)


def test_buffers_with_sources_become_inputs_of_trainers(tmp_path: Path) -> None:
    found = config(tmp_path)
    first, second = found.trainers["learner"].inputs
    assert (first.source, first.batch_rows, first.weight) == ("games", 192, 0.25)
    assert (second.buffer, second.batch_rows, second.weight) == ("own_buffer", 384, 0.75)
    assert set(found.buffers) == {"own_buffer"}
    assert found.sources["games"].held_out_source == "held_source"


def test_numbers_keep_their_meaning(tmp_path: Path) -> None:
    found = config(tmp_path)
    trainer, buffer, actor = found.trainers["learner"], found.buffers["own_buffer"], found.actors["server"]
    assert (trainer.workers, trainer.publish_every_updates, trainer.max_updates) == (2, 2, 900)
    assert (trainer.optimizer.learning_rate, trainer.optimizer.max_grad_norm) == (5e-4, 1.0)
    assert (buffer.shards, buffer.density, buffer.credits_batches) == (4, 0.5, 2)
    assert buffer.capacity_rows == 8 * 128 * 3 // 4
    assert (actor.port, actor.replicas, actor.limits.max_games, actor.unroll_ticks) == (8000, 2, 10, 128)
    record = found.agents["shooter"].record
    assert record is not None
    assert record.every == 1000
    assert found.vars == {"network_state_space": [4, 42, 42], "network_action_space": 9}


def test_a_model_in_processes_of_its_own_is_remote(tmp_path: Path) -> None:
    change = {"local_mode": False, "num_workers": 3, "max_batch_size": -32, "use_onnx": None, "gpus_per_worker": 0.5}
    model = config(tmp_path, net=change).models["net"]
    assert (model.placement, model.replicas, model.engine, model.num_gpus) == ("remote", 3, "torch", 0.5)
    assert (model.batching.max_rows, model.batching.pad_to) == (32, (32,))


@pytest.mark.parametrize(("interval", "updates", "seconds"), [(None, None, 600), (50, 50, None)])
def test_checkpoints_are_the_trainers(
    tmp_path: Path, interval: int | None, updates: int | None, seconds: float | None
) -> None:
    kept = config(tmp_path, net={"checkpoint_interval": interval}).trainers["learner"].checkpoints
    assert (kept.on_existing, kept.every_updates, kept.every_s) == ("resume", updates, seconds)


def test_an_actor_of_its_own_class_becomes_an_agent(tmp_path: Path) -> None:
    change = {"module": "shooter.actors", "class": "Actor", "enable": "deploy"}
    found = config(tmp_path, server=change)
    assert found.actors["server"].agents == ("server_agent",)
    assert found.agents["server_agent"].factory == "shooter.actors:Actor"
    assert (found.actors["server"].enable, found.agents["server_agent"].enable) == ("deploy", "deploy")


def test_keys_that_bray_does_not_know_are_told(tmp_path: Path) -> None:
    (line,) = [one for one in port(tmp_path, template(net={"warmup": 3})).lines if one.key == "net.warmup"]
    assert not line.has_counterpart
    assert str(line) == "net.warmup: 3 has no counterpart (nothing of Bray's reads this key of a model)"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"learner": {"buffers": ["nowhere"]}}, "learner.buffers: there is no section 'nowhere'"),
        ({"server": {"port": "http"}}, "server.port: must be a number or null, got 'http'"),
        ({"net": {"module": None}}, "net.module: must be the name of a module, got None"),
        ({"learner": {"buffer_weights": [0, 0]}}, "learner.buffers: names nothing to learn from"),
    ],
)
def test_a_value_that_cannot_be_converted_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        port(tmp_path, template(**change))


@pytest.mark.parametrize("values", [{"project": "a"}, {"project": "a", "trial": "b", "x": {"kind": "thing"}}])
def test_what_is_no_template_is_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is no template of Bray: needed are project, trial"):
        port(tmp_path, values)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        port_bray(tmp_path / "nowhere.yaml")
