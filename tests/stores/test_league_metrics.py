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
    before = dict(asked.league.state.counts)
    asked.play(2)
    restarted = Registry()
    measure_league(asked.league.state, restarted, before)
    told = {part.metric.name: part.summary for part in restarted.whole() if ("outcome", "finished") in part.labels}
    assert told["sparring_league_matches_total"].sum == 2
    assert found["sparring_league_matches_open",].last == 0
    assert found["sparring_league_rating", "main"].last > found["sparring_league_rating", "old"].last
    assert found["sparring_league_win_ratio", "old"].last == 0.0
