import pytest

from app.errors import BadRequestError
from app.numbers import finite


@pytest.mark.parametrize(("text", "number"), [(None, None), ("0", 0.0), ("-2.5e3", -2500.0)])
def test_a_finite_number_is_read(text: str | None, number: float | None) -> None:
    assert finite("level", text) == number


@pytest.mark.parametrize("text", ["", "ten", "nan", "inf", "-inf", "1e999"])
def test_what_is_no_finite_number_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(BadRequestError, match=rf"level is '{text}'; allowed is a finite number"):
        finite("level", text)
