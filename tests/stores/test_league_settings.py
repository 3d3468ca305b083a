"""The config's league is the one that is played."""

import pytest

from app.config.league import LeagueConfig
from app.league.league import League
from app.league.matchmaking.among import Among, Mixed, SelfPlay
from app.league.matchmaking.roles import LeagueExploiter, MainAgent, MainExploiter
from app.league.players import Role, Weights
from app.stores.league_settings import asks_equilibrium, league_settings
from tests.league.leagues import freeze


def config_of(matchmaking: dict[str, object] | None = None, **changes: object) -> LeagueConfig:
    main = {"trainer": "first", "matchmaking": matchmaking}
    return LeagueConfig.model_validate({"players": {"main": main}, "min_games": 0, **changes})


def begun(config: LeagueConfig) -> League:
    league = League(league_settings(config, 1))
    league.begin("test", 0.0)
    return league


@pytest.mark.parametrize(
    ("matchmaking", "kind"),
    [
        (None, MainAgent),
        ({"kind": "self_play"}, SelfPlay),
        ({"kind": "newest"}, Mixed),
        ({"kind": "uniform", "delta": 0.5}, Mixed),
        ({"kind": "pfsp", "weighting": "variance"}, Mixed),
        ({"kind": "psro", "rectified": True}, Mixed),
        ({"kind": "elo"}, Among),
        ({"kind": "main_agent", "self_play": 0.2}, MainAgent),
        ({"kind": "vs_main"}, MainExploiter),
        ({"kind": "league_exploiter"}, LeagueExploiter),
        ({"kind": "pool", "pool": "bots"}, Among),
    ],
)
def test_each_kind_of_matchmaking_hands_out_matches(matchmaking: dict[str, object] | None, kind: type) -> None:
    league = begun(config_of(matchmaking, opponents={"bot": {"agent": "bot"}}, pools={"bots": ["bot"]}))
    assert league.next_match("main", 0.0).sides[0].player == "main"
    assert isinstance(league._matchmaker("main"), kind)
    for _ in range(3):
        freeze(league, "main")
    assert league.chances("main").sum() == pytest.approx(1.0)
    assert league.next_match("main", 0.0).sides[1].player in league.state.roster


def test_the_past_is_the_leagues_or_the_players_own() -> None:
    supplied = {"bot": {"agent": "bot"}}
    whole = begun(config_of({"kind": "uniform"}, opponents=supplied))
    own = begun(config_of({"kind": "uniform", "past": "own", "self_play": 0.25}, opponents=supplied))
    for league in (whole, own):
        freeze(league, "main")
    assert dict(zip(whole.state.roster.ids, whole.chances("main"), strict=True)) == pytest.approx(
        {"bot": 0.5, "main:1": 0.5, "main": 0.0}
    )
    assert dict(zip(own.state.roster.ids, own.chances("main"), strict=True)) == pytest.approx(
        {"bot": 0.0, "main:1": 0.75, "main": 0.25}
    )


def test_a_fixed_pool_grows_no_further() -> None:
    league = begun(config_of({"kind": "pool", "pool": "both"}, pools={"both": ["main:1", "main:2"]}))
    assert league.next_match("main", 0.0).sides[1].player == "main"  # Nobody of it is there yet.
    for _ in range(4):
        freeze(league, "main")
    assert dict(zip(league.state.roster.ids, league.chances("main"), strict=True)) == pytest.approx(
        {"main:1": 0.5, "main:2": 0.5, "main:3": 0.0, "main:4": 0.0, "main": 0.0}
    )


def test_all_keys_reach_the_league() -> None:
    config = LeagueConfig.model_validate(
        {
            "players": {
                "many": {
                    "trainer": "first",
                    "role": "league_exploiter",
                    "count": 2,
                    "initial": "human",
                    "freeze_every_updates": 7,
                    "freeze_winrate": 0.6,
                    "freeze_min_updates": 3,
                    "reset_winrate": 0.9,
                    "reset_probability": 0.25,
                    "hyperparameters": {"rate": {"initial": 1.0, "low": 0.5, "high": 2.0}},
                },
            },
            "opponents": {"bot": {"weights": "clones/b", "agent": "bot", "rating": 12.0}},
            "initial_models": {"human": "clones/a"},
            "copying": {"below": 0.2, "probability": 0.5, "factors": [2.0], "mutate": "always"},
            "promotion": {"alpha": 0.01, "beta": 0.02, "better": 0.6},
            "matches": {"timeout_s": 5.0, "max_open": 6},
            "slice_updates": 4,
            "rating": "elo",
            "fix_frozen_ratings": True,
            "winrate_decay": 0.5,
            "prior_games": 2.0,
            "min_games": 9,
        }
    )
    settings = league_settings(config, 3)
    assert list(settings.learners) == ["many_1", "many_2"]
    learner = settings.learners["many_2"]
    assert (learner.trainer, learner.role, learner.initial, learner.population) == (
        "first",
        Role.LEAGUE_EXPLOITER,
        "human",
        "many",
    )
    freezing = learner.freezing
    assert (freezing.every_updates, freezing.winrate, freezing.min_updates) == (7, 0.6, 3)
    assert (freezing.reset_winrate, freezing.reset_probability) == (0.9, 0.25)
    assert (learner.spans["rate"].low, learner.spans["rate"].high) == (0.5, 2.0)
    bot = settings.supplied["bot"]
    assert (bot.weights, bot.agent, bot.rating) == (Weights("clones/b"), "bot", 12.0)
    assert settings.initial_models == {"human": Weights("clones/a")}
    assert settings.copying is not None
    assert (settings.copying.below, settings.copying.mutate) == (0.2, "always")
    assert (settings.copying.mutation.probability, settings.copying.mutation.factors) == (0.5, (2.0,))
    assert (settings.promotion.alpha, settings.promotion.beta, settings.promotion.better) == (0.01, 0.02, 0.6)
    assert (settings.match_timeout_s, settings.max_open_matches, settings.slice_updates) == (5.0, 6, 4)
    assert (settings.rating, settings.fix_frozen_ratings, settings.seed) == ("elo", True, 3)
    assert (settings.decay, settings.prior_games, settings.min_games) == (0.5, 2.0, 9)


def test_frozen_ratings_may_stay() -> None:
    league = begun(config_of(fix_frozen_ratings=True))
    freeze(league, "main")
    assert league.state.ratings.rating("main:1").deviation == 0.0


def test_the_equilibrium_is_solved_where_somebody_asks_for_it() -> None:
    assert asks_equilibrium(config_of({"kind": "psro"}))
    assert not asks_equilibrium(config_of())
