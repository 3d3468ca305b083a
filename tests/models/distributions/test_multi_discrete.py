import pytest

from app.models.distributions.categorical import Categorical
from app.models.distributions.multi_discrete import multi_discrete


def test_several_choices_are_a_leaf_each() -> None:
    assert multi_discrete([3, 2]) == (Categorical(3), Categorical(2))


@pytest.mark.parametrize("choices", [[], [3, 0]])
def test_no_choice_is_refused(choices: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one choice"):
        multi_discrete(choices)
