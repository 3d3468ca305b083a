"""What ``load`` merges, and that it reports everything that is wrong at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "configs").glob("*.yaml"))
RL = ROOT / "configs" / "rl.yaml"

MINIMAL = "run: {project: game, trial: one}\n"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_files(**texts: str) -> Path:
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return tmp_path / f"{next(iter(texts))}.yaml"

    return write_files


def lines(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, overrides)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_config_loads(path: Path) -> None:
    assert load(path).run.project


def test_loading_imports_no_user_code() -> None:
    config = load(RL, ["models.main.factory=no.such.module:build"])
    assert config.models["main"].factory == "no.such.module:build"


def test_later_files_win_key_by_key_and_lists_as_a_whole(write: Write) -> None:
    first = "run: {project: game, trial: first, seed: 1}\nvars: {a: 1, b: 1, l: [1, 2]}\n"
    second = "run: {trial: second, seed: 2}\nvars: {b: 2, l: [3]}\n"
    config = load(write(own="extends: [first.yaml, second.yaml]\nrun: {seed: 3}\n", first=first, second=second))
    assert (config.run.project, config.run.trial, config.run.seed) == ("game", "second", 3)
    assert config.vars == {"a": 1, "b": 2, "l": [3]}


def test_extends_is_recursive_and_two_files_may_share_a_base(write: Write) -> None:
    texts = {"own": "extends: [left.yaml, right.yaml]", "left": "extends: [base.yaml]", "right": "extends: [base.yaml]"}
    assert load(write(**texts, base=MINIMAL)).run.trial == "one"


def test_extends_is_relative_to_the_file_that_holds_it(tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / "base.yaml").write_text(MINIMAL)
    (tmp_path / "games" / "own.yaml").write_text("extends: [../base.yaml]")
    assert load(tmp_path / "games" / "own.yaml").run.project == "game"


def test_overrides_come_last_and_are_yaml() -> None:
    config = load(RL, ["trainers.main.optimizer.learning_rate=1e-3", "run.seed=7", "actors.main.unroll_ticks=null"])
    assert config.trainers["main"].optimizer.learning_rate == 1e-3
    assert config.run.seed == 7
    assert config.actors["main"].unroll_ticks is None


def test_an_override_reaches_into_a_list_and_leaves_its_neighbours() -> None:
    before, after = load(RL), load(RL, ["trainers.main.inputs.0.batch_rows=512"])
    assert after.trainers["main"].inputs[0].batch_rows == 512
    assert after.trainers["main"].inputs[0].algorithm == before.trainers["main"].inputs[0].algorithm


def test_variables_keep_their_type_and_can_be_overridden(write: Write) -> None:
    path = write(own=MINIMAL + "vars: {n: 3}\nmodels: {m: {factory: 'a:b', kwargs: {n: '${vars.n}', s: 'v${vars.n}'}}}")
    assert load(path).models["m"].kwargs == {"n": 3, "s": "v3"}
    assert load(path, ["vars.n=4"]).models["m"].kwargs == {"n": 4, "s": "v4"}


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("actors.main.replicas=0", "actors.main.replicas: wrong value, got 0, allowed: greater than or equal to 1"),
        ("actors.main.port=x", "actors.main.port: wrong value, got 'x', allowed: a valid integer"),
        ("run.mode=trian", "run.mode: wrong value, got 'trian', allowed: 'train' or 'deploy'"),
        ("run.trial=No", "run.trial: wrong value, got False, allowed: a valid string"),
        ("run.trial=A-1", "run.trial: wrong value, got 'A-1', allowed: text that matches ^[a-z][a-z0-9_]*$"),
        ("models.main=3", "models.main: wrong value, got 3, allowed: a mapping"),
        ("actors.main.agents=[]", "actors.main.agents: wrong value, got [], allowed: a list of at least 1"),
        ("models.Big={factory: 'a:b'}", "models.Big: wrong name, got 'Big', allowed: text that matches"),
        ("launch.simulator={env: null}", "launch.simulator.env: wrong value, got None, allowed: a valid string"),
        ("trainers.two={model: main}", "trainers.two.inputs: is missing and has no default"),
        ("trainers.main.inputs.0.batch_rows=8", "trainers.main.inputs.0: algorithm.minibatch_rows is 256; allowed is"),
        ("vars.x={}", "vars.x: wrong value, got {}, allowed: a valid integer or a valid number or a valid string or"),
    ],
)
def test_a_wrong_value_tells_its_place_what_was_got_and_what_is_allowed(override: str, line: str) -> None:
    first, *rest = lines(RL, override)
    assert first == f"{RL}: 1 problem"
    assert len(rest) == 1
    assert rest[0].strip().startswith(line)


@pytest.mark.parametrize(
    ("override", "hint", "allowed"),
    [
        (
            "trainers.main.optimizer.learning_rat=1",
            "did you mean 'learning_rate'?",
            "accumulate_minibatches, beta_1,",
        ),
        (
            "trainers.main.inputs.0.algorithm.gama=1",
            "did you mean 'gamma'?",
            "burn_in_ticks, clip_epsilon, dual_clip, entropy_coef, epochs",
        ),
        ("actors.main.limits.x=1", "unknown key, allowed:", "board_timeout_s, idle_timeout_s, max_body_mb, max_games"),
        (
            "agent={}",
            "did you mean 'agents'?",
            "actors, agents, buffers, checks, evolution, launch, league, logs, metrics, models, run",
        ),
    ],
)
def test_an_unknown_key_tells_the_allowed_ones(override: str, hint: str, allowed: str) -> None:
    (line,) = lines(RL, override)[1:]
    assert line.strip().startswith(override.partition("=")[0] + ": unknown key")
    assert hint in line
    assert f"allowed: {allowed}" in line


def test_an_algorithm_tells_its_own_keys(write: Write) -> None:
    trainer = "{model: m, inputs: [{buffer: b, algorithm: {kind: impala, gae_lambda: 1}}]}"
    path = write(own=MINIMAL + "models: {m: {factory: 'a:b'}}\nbuffers: {b: {}}\ntrainers: {t: " + trainer + "}")
    (line,) = lines(path)[1:]
    assert line.strip().startswith("trainers.t.inputs.0.algorithm.gae_lambda: unknown key")
    assert (
        "allowed: burn_in_ticks, c_clip, entropy_coef, epochs, first_policy_coef, gamma, heads, kind, minibatch_rows, "
        in line
    )


def test_all_problems_are_reported_together(write: Write) -> None:
    path = write(
        own=MINIMAL.replace("one", "One")
        + "models: {main: {factory: 'a:b', replicas: 0}}\n"
        + "agents: {player: {model: mian, modle: main}}\n"
        + "actors: {main: {agents: [playr], port: '${vars.port}'}}\n"
    )
    first, *rest = lines(path, "run.seed", "run.seed=-1")
    assert first == f"{path}: 8 problems"
    assert {line.strip().partition(": ")[0] for line in rest} == {
        "--set run.seed",
        "run.trial",
        "run.seed",
        "models.main.replicas",
        "agents.player.model",
        "agents.player.modle",
        "actors.main.agents.0",
        "actors.main.port",
    }


def test_a_key_that_cannot_be_resolved_is_reported_once_and_by_its_cause(write: Write) -> None:
    path = write(own=MINIMAL + "vars: {a: '${vars.b}', b: '${vars.a}'}\nstores: {num_cpus: '${vars.nope}'}")
    rest = lines(path)[1:]
    assert sorted(line.strip().partition(": ")[0] for line in rest) == ["stores.num_cpus", "vars.a", "vars.b"]
    assert "stores.num_cpus: Interpolation key 'vars.nope' not found" in "\n".join(rest)


def test_a_variable_may_be_a_whole_mapping(write: Write) -> None:
    path = write(own=MINIMAL + "models: {a: {factory: 'x:y', kwargs: {n: 1}}, b: '${models.a}'}")
    assert load(path).models["b"] == load(path).models["a"]


def test_mappings_that_hold_each_other_are_reported(write: Write) -> None:
    a, b = "{k: '${models.b}', j: '${models.b}'}", "{k: '${models.a}', j: '${models.a}'}"
    rest = lines(write(own=MINIMAL + f"models: {{a: {a}, b: {b}}}"))[1:]
    assert "  models.a.k.k: holds itself through ${...}" in rest


def test_an_empty_key_is_reported_with_its_place(write: Write) -> None:
    assert lines(write(own=MINIMAL + "vars: {~: 1}"))[1:] == ["  vars.None: keys must be names, got None"]


@pytest.mark.parametrize("value", ["'${vars'", "'${vars}'", "'${no_resolver:1}'", "'???'"])
def test_a_broken_interpolation_names_its_key(write: Write, value: str) -> None:
    assert lines(write(own=MINIMAL + f"vars: {{a: {value}}}"))[1].strip().startswith("vars.a: ")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.seed", "must be written as dotted.key=value"),
        ("=3", "must be written as dotted.key=value"),
        ("run..seed=3", "must be written as dotted.key=value"),
        ("run.seed=[", "not valid YAML"),
        ("trainers.main.inputs.1.batch_rows=3", "no such place in a list of 1, got '1', allowed: 0 to 0"),
    ],
)
def test_an_override_that_cannot_be_applied_is_named(override: str, message: str) -> None:
    (line,) = lines(RL, override)[1:]
    assert line.strip().startswith(f"--set {override}: ")
    assert message in line
