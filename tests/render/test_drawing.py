"""Pictures of arrays of any shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from app.render.drawing import BLUE, PAPER, RED, bars, drawn, heat_map, image


def test_bars_go_to_the_right_where_numbers_are_positive() -> None:
    picture = bars(np.array([2.0, -2.0]))
    assert picture.shape == (32, 360, 3)
    assert tuple(picture[8, 300]) == BLUE
    assert tuple(picture[24, 300]) == PAPER
    assert tuple(picture[24, 190]) == RED


def test_a_grid_is_red_where_positive_and_blue_where_negative() -> None:
    picture = heat_map(np.array([[1.0, 0.0], [0.0, -1.0]]))
    assert picture.shape == (240, 240, 3)
    assert [tuple(picture[y, x]) for y, x in ((0, 0), (0, 239), (239, 239))] == [RED, PAPER, BLUE]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_images_are_shown_as_they_are(dtype: str) -> None:
    pixels = np.zeros((30, 20, 3), dtype)
    pixels[0, 0] = 255 if dtype == "uint8" else 1.0
    shown = image(pixels, 3)
    assert shown.shape == (240, 160, 3)
    assert (shown[:8, :8] == 255).all()
    assert shown.sum() == 3 * 64 * 255


def test_of_a_stack_of_pictures_the_newest_is_shown() -> None:
    stack = np.zeros((4, 84, 84), np.uint8)
    stack[3] = 200
    assert (drawn({"": stack}) == 200).all()


@given(
    st.dictionaries(
        st.sampled_from(["", "map", "units/0"]),
        arrays.arrays(st.sampled_from([np.float32, np.uint8, np.int64]), arrays.array_shapes(min_dims=0, max_dims=4)),
        max_size=3,
    )
)
def test_whatever_an_observation_holds_becomes_a_picture(parts: dict[str, np.ndarray]) -> None:
    picture = drawn(parts)
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
