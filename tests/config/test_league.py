"""The league's section: names exist, numbers fit, and each fault is one message."""

import pytest
from pydantic import ValidationError

from app.config.active import active
from app.config.league import LeagueConfig
from app.config.leagues import league_problems
from app.config.problems import Problems
from app.config.references import reference_problems
from app.config.root import ExperimentConfig
from app.config.slots import slots

LEAGUE = {
    "players": {
        "main": {"trainer": "main"},
        "exploiter": {
            "trainer": "exploiter",
            "role": "main_exploiter",
            "matchmaking": {"kind": "vs_main"},
            "reset_winrate": 0.7,
        },
    },
}


def tree(**changes: object) -> dict[str, object]:
    def trainer(name: str) -> dict[str, object]:
        return {"model": name, "inputs": [{"buffer": name}]}

    names = ("main", "exploiter")
    return {
        "run": {"project": "game", "trial": "one"},
        "models": {name: {"factory": "a:b"} for name in names},
        "agents": {"bot": {}, **{name: {"model": name, "buffer": name} for name in names}},
        "buffers": {name: {} for name in names},
        "trainers": {name: trainer(name) for name in names},
        "league": {**LEAGUE, **changes},
    }


def config(**changes: object) -> ExperimentConfig:
    return ExperimentConfig.model_validate(tree(**changes))


def problems(**changes: object) -> Problems:
    return league_problems(config(**changes))


def player(**changes: object) -> dict[str, object]:
    return {"players": {**LEAGUE["players"], "main": {"trainer": "main", **changes}}}


def test_a_league_as_it_should_be_has_no_problem() -> None:
    assert problems() == {}
    assert problems(opponents={"bot": {"agent": "bot"}}, pools={"all": ["bot", "main:3", "exploiter"]}) == {}


def test_without_a_league_there_is_nothing_to_check() -> None:
    assert league_problems(ExperimentConfig.model_validate({"run": {"project": "game", "trial": "one"}})) == {}


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        (player(trainer="mian"), "league.players.main.trainer", "no trainer named 'mian'; there are: main, exploiter"),
        ({"opponents": {"bot": {"agent": "bto"}}}, "league.opponents.bot.agent", "no agent named 'bto'"),
    ],
)
def test_a_dangling_reference_is_named(changes: dict[str, object], path: str, message: str) -> None:
    found = reference_problems(tree(**changes))
    assert list(found) == [path]
    assert found[path].startswith(message)


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        (player(initial="x"), "league.players.main.initial", "no initial model named 'x'; there are: none"),
        (player(matchmaking={"kind": "pool", "pool": "x"}), "league.players.main.matchmaking.pool", "no pool named"),
        (player(role="league_exploiter"), "league.players.exploiter.role", "without a player of role main"),
        (
            player(freeze_every_updates=5, freeze_min_updates=6),
            "league.players.main.freeze_min_updates",
            "got 6, allowed: at most freeze_every_updates, 5",
        ),
        ({"pools": {"all": ["x:1"]}}, "league.pools.all.0", "no player named 'x:1'; there are: exploiter, main"),
        ({"opponents": {"main": {"agent": "bot"}}}, "league.opponents.main", "'main' is one of league.players.main"),
        (
            {"players": {"a": {"trainer": "main", "count": 2}, "a_2": {"trainer": "main"}}},
            "league.players.a_2",
            "its player 'a_2' is one of league.players.a already",
        ),
    ],
)
def test_what_does_not_fit_is_one_message(changes: dict[str, object], path: str, message: str) -> None:
    found = problems(**changes)
    assert list(found) == [path]
    assert message in found[path]


def test_a_trainer_that_does_not_exist_where_the_league_does_is_named() -> None:
    absent = tree()
    trainers = absent["trainers"]
    assert isinstance(trainers, dict)
    trainers["exploiter"]["enable"] = "deploy"
    found = league_problems(ExperimentConfig.model_validate(absent))
    assert found["league.players.exploiter.trainer"].startswith("trainer 'exploiter' does not exist in mode train")


def test_a_trainer_whose_model_nobody_plays_is_named() -> None:
    unplayed = tree()
    agents = unplayed["agents"]
    assert isinstance(agents, dict)
    del agents["exploiter"]
    found = league_problems(ExperimentConfig.model_validate(unplayed))
    assert found == {
        "league.players.exploiter.trainer": (
            "no agent asks its model 'exploiter', allowed: a trainer whose model an agent plays"
        )
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"players": {}},
        player(hyperparameters={"rate": {"initial": 1.0, "low": 2.0, "high": 3.0}}),
        player(hyperparameters={"rate": {"initial": 1.0, "low": 0.0}}),
        player(matchmaking={"kind": "main_agent", "self_play": 0.9, "verification": 0.2}),
        player(matchmaking={"kind": "pfps"}),
        {"opponents": {"bot": {}}},
        {"pools": {"all": ["main:0"]}},
        {"promotion": {"better": 0.5}},
        {"copying": {"factors": []}},
        {"winrate_decay": 0.0},
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LeagueConfig.model_validate({**LEAGUE, **wrong})


def test_several_alike_have_numbers() -> None:
    league = LeagueConfig.model_validate({"players": {"a": {"trainer": "main", "count": 2}, "b": {"trainer": "main"}}})
    assert league.learners == ("a_1", "a_2", "b")


def test_a_league_of_one_mode_is_left_out_of_the_other() -> None:
    assert active(config()).league is not None
    assert active(config(enable="deploy")).league is None
    assert "league" in {slot.component for slot in slots(config())}
    assert "league" not in {slot.component for slot in slots(config(enable="deploy"))}
