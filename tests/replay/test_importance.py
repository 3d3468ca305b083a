import numpy as np
import pytest

from app.replay.importance import importance_weights


def test_weights_by_hand() -> None:
    # N = 4: (4/2)^-1 = 0.5, (4/8)^-1 = 2, (4/4)^-1 = 1; over the largest, 2.
    probabilities = np.array([0.5, 0.125, 0.25])
    assert importance_weights(probabilities, 4, 1.0).tolist() == [0.25, 1.0, 0.5]
    np.testing.assert_allclose(importance_weights(probabilities, 4, 0.5), [0.5, 1.0, 0.5**0.5], rtol=1e-7)
    assert importance_weights(probabilities, 4, 0.0).tolist() == [1.0, 1.0, 1.0]


def test_rows_of_one_chance_weigh_the_same() -> None:
    assert importance_weights(np.full(5, 1 / 300), 300, 0.4).tolist() == [1.0] * 5


def test_no_rows_have_no_weights() -> None:
    assert importance_weights(np.zeros(0), 4, 0.4).shape == (0,)


@pytest.mark.parametrize(
    ("probabilities", "rows", "beta", "message"),
    [
        ([0.0, 0.5], 4, 0.5, r"probabilities in \(0, 1\]"),
        ([float("nan")], 4, 0.5, r"probabilities in \(0, 1\]"),
        ([1.5], 4, 0.5, r"probabilities in \(0, 1\]"),
        ([0.5], 0, 0.5, "got 0 and 0.5"),
        ([0.5], 4, 1.5, "got 4 and 1.5"),
    ],
)
def test_impossible_weights_are_refused(probabilities: list[float], rows: int, beta: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        importance_weights(np.array(probabilities), rows, beta)
