import pytest
from pydantic import ValidationError

from app.config.models import Batching


@pytest.mark.parametrize("sizes", [[8, 1], [1, 1], [], [0, 8]])
def test_sizes_that_do_not_rise_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValidationError, match="pad_to"):
        Batching.model_validate({"pad_to": sizes})
