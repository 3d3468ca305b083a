"""Who plays what in one update."""

import pytest

from app.algorithms.evolution import Pair
from app.config.evolution import EvolutionConfig
from train.evolution.play import PRESENT, Candidate, Played, Share
from train.evolution.population import evaluation, pairs, population, population_metrics, returns_of

SETTINGS = EvolutionConfig.model_validate(
    {"model": "main", "env": "CartPole-v1", "pairs": 5, "games": 2, "sigma": 0.3, "tasks": {"pairs": 2}}
)


def test_each_noise_is_played_with_both_signs_and_all_play_the_same_games() -> None:
    shares = population(SETTINGS, seed=0, updates=3)
    assert [len(share.candidates) for share in shares] == [4, 4, 2]
    candidates = [candidate for share in shares for candidate in share.candidates]
    assert [candidate.scale for candidate in candidates] == [0.3, -0.3] * 5
    assert [plus.seed for plus in candidates[::2]] == [minus.seed for minus in candidates[1::2]]
    assert len({candidate.seed for candidate in candidates}) == 5
    assert len({share.game_seeds for share in shares}) == 1
    assert len(set(shares[0].game_seeds)) == 2


def test_a_population_follows_from_the_runs_seed_and_the_update_however_it_is_cut() -> None:
    shares = population(SETTINGS, 0, 3)
    assert shares == population(SETTINGS, 0, 3)
    assert shares != population(SETTINGS, 1, 3)
    assert shares != population(SETTINGS, 0, 4)
    tasks = SETTINGS.tasks.model_copy(update={"pairs": 5})
    (whole,) = population(SETTINGS.model_copy(update={"tasks": tasks}), 0, 3)
    assert whole.candidates == sum((share.candidates for share in shares), ())


def test_pairs_hold_the_means_of_the_games_of_both_signs() -> None:
    shares = [Share((Candidate(7, 1), Candidate(7, -1)), (0, 1)), Share((Candidate(9, 1), Candidate(9, -1)), (0, 1))]
    played = [Played(((1, 3), (10, 20)), 34), Played(((0, 0), (5, 6)), 11)]
    assert pairs(shares, played) == [Pair(7, 2, 15), Pair(9, 0, 5.5)]


def test_an_evaluation_plays_each_of_its_games_once_with_the_present_weights() -> None:
    shares = evaluation(SETTINGS)
    assert [seed for share in shares for seed in share.game_seeds] == list(range(1_000_000, 1_000_020))
    assert {share.candidates for share in shares} == {(PRESENT,)}
    assert max(len(share.game_seeds) for share in shares) == 4


def test_returns_are_those_of_all_games_in_order() -> None:
    assert returns_of([Played(((1, 2),), 3), Played(((3,), (4,)), 7)]) == [1, 2, 3, 4]


def test_metrics_tell_mean_deviation_and_ends() -> None:
    found = population_metrics([Pair(0, 1, 3), Pair(1, 5, 7)])
    assert found == {"mean_return": 4, "return_std": pytest.approx(5**0.5), "return_min": 1, "return_max": 7}
