import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from app.metrics.charts import film_of, histogram_of, is_image, picture_of, pixels_of


def test_a_histogram_tells_bounds_sums_and_how_many_lie_below_each_limit() -> None:
    found = histogram_of(np.array([0.0, 1.0, 1.0, 3.0]))
    assert found is not None
    assert (found.min, found.max, found.number, found.sum, found.sum_squares) == (0, 3, 4, 5, 11)
    assert found.limits[-1] == 3
    assert [(limit, count) for limit, count in zip(found.limits, found.buckets, strict=True) if count] == [
        (pytest.approx(0.1), 1),
        (pytest.approx(1.0), 2),
        (3.0, 1),
    ]


@given(arrays.arrays(np.float64, st.integers(0, 30)))
def test_a_histogram_counts_each_finite_value_once_whatever_the_values_are(values: np.ndarray) -> None:
    finite = values[np.isfinite(values)]
    found = histogram_of(values)
    assert (0 if found is None else found.number) == finite.size
    if found is not None:
        assert sum(found.buckets) == finite.size
        assert (found.min, found.max) == (finite.min(), finite.max())
        assert list(found.limits) == sorted(found.limits)


def read(encoded: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded)))


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 3), (5, 6, 4)])
def test_bytes_come_back_as_the_same_pixels(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    found = picture_of(image)
    assert (found.height, found.width, found.channels) == (5, 6, shape[2] if len(shape) == 3 else 1)
    np.testing.assert_array_equal(read(found.encoded).reshape(shape), image)


def test_channels_may_come_first_and_other_numbers_are_spread_over_the_greys() -> None:
    image = np.stack([np.full((5, 6), value) for value in (-1.0, 0.0, 1.0)])
    np.testing.assert_array_equal(pixels_of(image)[0, 0], [0, 128, 255])
    assert pixels_of(np.full((5, 6), 7.0)).max() == 0


def test_what_is_no_image_is_refused_with_its_shape() -> None:
    with pytest.raises(ValueError, match=r"got \(7, 7, 7\)"):
        picture_of(np.zeros((7, 7, 7)))
    with pytest.raises(ValueError, match=r"got shape \(0, 5, 5\)"):
        film_of(np.zeros((0, 5, 5)), 10)


def test_a_film_has_a_frame_for_each_image_and_its_pace() -> None:
    frames = np.zeros((4, 8, 8, 3), np.uint8)
    frames[:, :, :, 0] = np.array([0, 80, 160, 240])[:, None, None]
    found = film_of(frames, 10.0)
    film = Image.open(io.BytesIO(found.encoded))
    assert (film.n_frames, film.info["duration"], film.info["loop"]) == (4, 100, 0)
    film.seek(3)
    assert film.convert("RGB").getpixel((0, 0)) == (240, 0, 0)


def test_shapes_of_images_are_told_from_vectors_and_grids_that_are_too_small() -> None:
    assert [is_image(shape) for shape in [(84, 84), (84, 84, 3), (4, 84, 84), (1, 6, 7)]] == [True] * 4
    assert [is_image(shape) for shape in [(4,), (3, 3), (84, 84, 7), (3, 3, 3), (2, 84, 84, 3)]] == [False] * 5
