"""What ``bench league`` says of matches."""

from train.bench.league_matches import told_matches


def test_the_slowest_matchmaker_counts() -> None:
    told = told_matches({"fast": [0.1] * 5, "slow": [1.1] * 5}, [2.0] * 5)
    assert (told["within"], told["ratio"], told["measured"]) == (False, 0.55, True)
    assert told_matches({"fast": [0.1] * 5}, [2.0] * 5)["within"]
