from app.metrics.registry import Registry
from app.stores.league_metrics import measure_league
from tests.deployments.league import Asked


def test_ratings_shares_of_games_won_and_matches_are_measured() -> None:
    registry, asked = Registry(), Asked()
    asked.play(5)
    measure_league(asked.league.state, registry)
    measure_league(asked.league.state, registry)
    found = {(part.metric.name, *(value for _, value in part.labels)): part.summary for part in registry.whole()}
    assert found["sparring_league_matches_total", "finished"].sum == 5
    assert found["sparring_league_matches_open",].last == 0
    assert found["sparring_league_rating", "main"].last > found["sparring_league_rating", "old"].last
    assert found["sparring_league_win_ratio", "old"].last == 0.0
