from app.config.release import Release, RollBack
from app.metrics.names import SHADOW_AGREED, SHADOW_COMPARED
from app.metrics.registry import Registry
from app.releases.plan import Named, Plan, Wishes, played_as
from app.releases.statistics import Cohort, ShadowStatistics, Statistics
from app.stores.release_state import Growth, ModelState

CHAMPION, CHALLENGER = played_as(1), played_as(2)


def tried() -> ModelState:
    release = Release(challenger="challenger", share=0.2, roll_back=RollBack(max_error_rate=0.01, min_ticks=100))
    state = ModelState(release, wishes=Wishes(Named(1), Named(2)), usable={1, 2})
    state.decide()
    return state


def test_a_challenger_that_fails_is_rolled_back_once_and_stays_so() -> None:
    state = tried()
    assert state.plan == Plan(CHAMPION, CHALLENGER, 0.2)
    state.add(Growth({Cohort(CHALLENGER, CHALLENGER): Statistics(ticks=100, errors=50)}, {}))
    found = state.judge()
    assert found is not None
    assert found[0] == 2
    state.decide()
    assert state.plan == Plan(CHAMPION)
    assert state.unmarked == state.rolled_back == {2: found[1]}
    assert state.judge() is None
    state.decide()
    assert state.plan == Plan(CHAMPION)


def test_another_version_is_tried_after_a_roll_back() -> None:
    state = tried()
    state.rolled_back[2] = "bad"
    state.wishes, state.usable = Wishes(Named(1), Named(3)), {1, 2, 3}
    state.decide()
    assert state.plan == Plan(CHAMPION, played_as(3), 0.2)


def test_the_errors_of_the_champion_cost_the_challenger_nothing() -> None:
    state = tried()
    state.add(Growth({Cohort(CHAMPION, CHALLENGER): Statistics(ticks=1000, errors=1000)}, {}))
    assert state.judge() is None


def test_only_what_is_named_and_neither_loaded_nor_barred_is_missing() -> None:
    state = tried()
    state.wishes = Wishes(Named(4), Named(5, "bad"), Named(6))
    state.refuse(6, "broken")
    assert state.missing() == [Named(4)]


def test_a_version_is_refused_and_counted_once() -> None:
    state = tried()
    assert state.refuse(2, "broken")
    assert not state.refuse(2, "broken")
    assert state.counts["versions_refused"] == 1
    assert state.as_dict()["refused"] == {"0.2": "broken"}


def test_what_shadows_agreed_on_is_measured_by_model_and_version_once() -> None:
    state, registry = tried(), Registry()
    for _ in range(2):
        state.add_shadow(CHALLENGER, ShadowStatistics(compared=10, agreed=9))
        state.measure(registry, "main")
    found = {part.metric.name: (dict(part.labels), part.summary.sum) for part in registry.growth()}
    labels = {"model": "main", "version": str(CHALLENGER)}
    assert found == {SHADOW_COMPARED.name: (labels, 20), SHADOW_AGREED.name: (labels, 18)}
