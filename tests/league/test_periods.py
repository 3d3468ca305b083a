"""Learning periods: freeze, begin anew, copy the better, and take turns."""

import pytest

from app.errors import LeagueError
from app.league.hyperparameters import Mutation, Span, initial, mutated
from app.league.league import League
from app.league.players import UNTRAINED, Role, Weights
from app.league.schedule import next_turn
from app.league.settings import Copying, Freezing, LearnerSettings
from app.seeding import Draws
from tests.league.leagues import LOSS, WIN, begun, freeze, meet, settings_of

SPANS = {"learning_rate": Span(1e-3, 1e-4, 1e-2), "gamma": Span(0.99)}


def alone(freezing: Freezing, role: Role = Role.MAIN, **changes: object) -> League:
    """Returns a league of a main player, and one that is looked at."""
    learners = {
        "main": LearnerSettings("first"),
        "one": LearnerSettings("second", role, freezing=freezing, spans=SPANS, initial="human"),
    }
    models = {"human": Weights("clones/human")}
    return begun(settings_of(**{"learners": learners, "initial_models": models, **changes}))


def test_a_freeze_keeps_what_the_player_was_and_it_goes_on() -> None:
    league = alone(Freezing())
    done = league.freeze("one", 1, Weights("clones/a", "hash"), 7.0, anew=False)
    assert (done.frozen.id, done.frozen.parent, done.frozen.period, done.frozen.since_s) == ("one:1", None, 1, 7.0)
    assert done.frozen.weights == Weights("clones/a", "hash")
    assert done.frozen.hyperparameters == {"learning_rate": 1e-3, "gamma": 0.99}
    assert (done.learning.period, done.learning.parent, done.learning.weights) == (2, "one:1", None)
    again = league.freeze("one", 2, Weights("clones/b"), 8.0, anew=False)
    assert again.frozen.parent == "one:1"
    assert league.state.ratings.rating("one:2") == league.state.ratings.rating("one")


def test_a_freeze_that_is_asked_for_again_is_done_once() -> None:
    league = alone(Freezing())
    first = league.freeze("one", 1, Weights("clones/a"), 0.0)
    assert league.freeze("one", 1, Weights("clones/b"), 1.0) == first
    with pytest.raises(LeagueError, match="in period 2; that is the one to end, got 3"):
        league.freeze("one", 3, Weights("clones/b"), 1.0)


def test_who_begins_anew_has_its_first_weights_and_no_results() -> None:
    league = alone(Freezing())
    meet(league, "one", "main", WIN, 5)
    done = league.freeze("one", 1, Weights("clones/a"), 0.0, anew=True)
    assert (done.learning.parent, done.learning.weights) == (None, Weights("clones/human"))
    assert league.state.payoff.games("one", "main") == 0
    assert league.state.ratings.rating("one").mean < league.state.ratings.rating("one:1").mean
    assert league.side("one").weights == Weights("clones/human")
    assert league.taken_over("one").weights is None
    assert league.taken_over("one").weights is None  # Asked again, it says the same.


def test_without_an_initial_model_it_begins_untrained() -> None:
    league = begun()
    freeze(league, "main", anew=True)
    assert league.side("main").weights == UNTRAINED


def test_a_missing_initial_model_is_named() -> None:
    with pytest.raises(LeagueError, match="no initial model 'human'; there are none"):
        alone(Freezing(), initial_models={})


def test_a_period_ends_by_updates() -> None:
    league = alone(Freezing(every_updates=10))
    assert not league.due("one", 9).freeze
    assert league.due("one", 10).freeze
    assert not league.due("one", 10).anew


def test_a_period_ends_early_when_all_are_beaten() -> None:
    league = alone(Freezing(every_updates=100, min_updates=5, winrate=0.7))
    assert not league.due("one", 50).freeze  # Nobody is frozen.
    freeze(league, "main")
    freeze(league, "main")
    meet(league, "one", "main:1", WIN)
    assert not league.due("one", 50).freeze  # The other one is unknown.
    meet(league, "one", "main:2", WIN)
    assert not league.due("one", 4).freeze
    assert league.due("one", 5).freeze


def test_a_main_exploiter_that_beats_the_main_players_begins_anew() -> None:
    league = alone(Freezing(every_updates=100, reset_winrate=0.7), Role.MAIN_EXPLOITER, min_games=3)
    meet(league, "one", "main", WIN, 2)
    assert not league.due("one", 1).freeze  # Two games are not trusted.
    meet(league, "one", "main", WIN)
    assert (league.due("one", 1).freeze, league.due("one", 1).anew) == (True, True)


def test_some_begin_anew_by_chance() -> None:
    always, never = alone(Freezing(reset_probability=1.0)), alone(Freezing(reset_probability=0.0))
    assert always.freeze("one", 1, Weights("w"), 0.0).learning.weights == Weights("clones/human")
    assert never.freeze("one", 1, Weights("w"), 0.0).learning.weights is None
    some = alone(Freezing(reset_probability=0.25))
    anew = [some.freeze("one", period, Weights("w"), 0.0).learning.parent is None for period in range(1, 401)]
    assert 0.15 < sum(anew) / 400 < 0.35


def population(**copying: object) -> League:
    learners = {
        name: LearnerSettings(trainer, spans=SPANS, population="all")
        for name, trainer in (("strong", "first"), ("weak", "second"))
    }
    return begun(settings_of(learners=learners, copying=Copying(**copying)))  # type: ignore[arg-type]


def test_who_falls_behind_goes_on_as_the_better_one() -> None:
    league = population(below=0.3, mutation=Mutation(1.0, (0.5, 2.0)))
    freeze(league, "strong")
    meet(league, "strong", "weak", WIN, 20)
    freeze(league, "strong")
    done = league.freeze("weak", 1, Weights("clones/weak"), 0.0, anew=False)
    assert done.learning.parent == "strong:2"
    assert done.learning.weights == Weights("strong-2")
    assert done.learning.hyperparameters["learning_rate"] in {5e-4, 2e-3}
    assert done.learning.hyperparameters["gamma"] == 0.99
    assert league.state.ratings.rating("weak") == league.state.ratings.rating("strong:2")
    assert league.state.payoff.games("weak", "strong") == 0
    assert league.side("weak").hyperparameters == done.learning.hyperparameters


def test_who_does_not_fall_behind_goes_on_as_itself() -> None:
    league = population(below=0.3)
    freeze(league, "weak")
    meet(league, "strong", "weak", WIN, 20)
    done = league.freeze("strong", 1, Weights("w"), 0.0, anew=False)
    assert (done.learning.parent, done.learning.weights) == ("strong:1", None)
    assert done.learning.hyperparameters == {"learning_rate": 1e-3, "gamma": 0.99}


def test_values_may_change_at_each_freeze() -> None:
    league = population(mutate="always", mutation=Mutation(1.0, (2.0,)))
    values = [league.freeze("weak", n, Weights("w"), 0.0, anew=False).learning.hyperparameters for n in range(1, 6)]
    assert [value["learning_rate"] for value in values] == pytest.approx([2e-3, 4e-3, 8e-3, 1e-2, 1e-2])
    assert league.state.roster.frozen["weak:2"].hyperparameters == values[0]


def test_changed_values_stay_inside_their_bounds() -> None:
    draws = Draws(1)
    values = initial(SPANS)
    for _ in range(100):
        values = mutated(values, SPANS, Mutation(0.7, (0.3, 3.0)), draws)
        assert 1e-4 <= values["learning_rate"] <= 1e-2
        assert values["gamma"] == 0.99


@pytest.mark.parametrize("span", [(1.0, 2.0, 3.0), (4.0, 2.0, 3.0), (1.0, None, 3.0), (1.0, 0.0, None)])
def test_bounds_without_sense_are_refused(span: tuple[float, float | None, float | None]) -> None:
    with pytest.raises(ValueError, match="a hyperparameter needs"):
        Span(*span)


@pytest.mark.parametrize("mutation", [(1.5, (1.2,)), (0.5, ()), (0.5, (0.0,))])
def test_mutations_without_sense_are_refused(mutation: tuple[float, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="a mutation needs"):
        Mutation(*mutation)


def shared(slice_updates: int | None) -> League:
    learners = {name: LearnerSettings("first", freezing=Freezing(every_updates=100)) for name in ("a", "b", "c")}
    return begun(settings_of(learners=learners, slice_updates=slice_updates))


def test_players_of_one_trainer_take_turns() -> None:
    league = shared(10)
    assert league.state.turns == {"first": "a"}
    assert not league.due("a", 9).turn
    assert league.due("a", 10).turn
    assert (league.side("a").weights, league.side("b").weights) == (None, UNTRAINED)  # The newest weights are a's.
    entering = league.turn("first", "a", Weights("a at 10"), 10)
    assert (entering.id, league.side("a").weights) == ("b", Weights("a at 10"))
    assert league.turn("first", "a", Weights("again"), 10) == entering  # Asked again, it says the same.
    league.turn("first", "b", Weights("b at 10"), 10)
    assert league.turn("first", "c", Weights("c at 10"), 10).weights == Weights("a at 10")
    assert league.side("b").weights == Weights("b at 10")
    assert league.taken_over("a").weights is None


def test_updates_of_all_slices_make_a_period() -> None:
    league = shared(40)
    for _ in range(2):
        for player in ("a", "b", "c"):
            league.turn("first", player, Weights("w"), 40)
    assert not league.due("a", 19).freeze
    assert league.due("a", 20).freeze
    freeze(league, "a")
    assert not league.due("a", 99).freeze


def test_without_slices_the_turn_goes_on_at_a_freeze() -> None:
    league = shared(None)
    assert not league.due("a", 99).turn
    assert (league.due("a", 100).freeze, league.due("a", 100).turn) == (True, True)


def test_a_player_alone_keeps_its_trainer() -> None:
    league = begun()
    assert not league.due("main", 10**6).turn
    assert league.turn("first", "main", Weights("w"), 5).id == "main"
    assert league.side("main").weights is None


def test_another_trainers_player_cannot_be_left() -> None:
    with pytest.raises(LeagueError, match=r"'main' is first's, got trainer 'second'"):
        begun().turn("second", "main", Weights("w"), 1)


def test_turns_go_round() -> None:
    assert [next_turn(["a", "b"], "a"), next_turn(["a", "b"], "b"), next_turn(["a"], "a")] == ["b", "a", "a"]
    with pytest.raises(ValueError, match="got 'x'"):
        next_turn(["a"], "x")


def test_losses_alone_do_not_end_a_period() -> None:
    league = alone(Freezing(every_updates=100, winrate=0.7))
    freeze(league, "main")
    meet(league, "one", "main:1", LOSS, 30)
    assert not league.due("one", 99).freeze
