"""Several choices at once."""

from collections.abc import Sequence

from app.models.distributions.categorical import Categorical


def multi_discrete(choices: Sequence[int]) -> tuple[Categorical, ...]:
    """Returns an action of several independent choices, of so many each: a tuple with a leaf a choice.

    So each choice has a mask and a column of its own.

    Raises:
      ValueError: There is none, or one has no choices.
    """
    if not choices:
        raise ValueError("a multi-discrete action needs at least one choice, got none")
    return tuple(Categorical(count) for count in choices)
