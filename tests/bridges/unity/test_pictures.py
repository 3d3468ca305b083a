"""Compressed pictures of a Unity game."""

from zlib import crc32

import numpy as np
import pytest

from app.bridges.errors import BridgeError
from app.bridges.unity.pictures import SIGNATURE, read_pictures

from .pictures import png, pngs, random_pixels


@pytest.mark.parametrize("channels", [3, 4, 5, 6])
def test_a_compressed_sensor_tells_what_it_would_tell_uncompressed(channels: int) -> None:
    pixels = random_pixels(5, 7, channels)
    found = read_pictures(pngs(pixels), [5, 7, channels], [])
    np.testing.assert_allclose(found, pixels / 255, rtol=1e-6)
    assert found.dtype == np.float32


def test_channels_that_come_first_stay_first() -> None:
    pixels = random_pixels(5, 7, 4)
    found = read_pictures(pngs(pixels), [4, 5, 7], [])
    np.testing.assert_allclose(found, np.moveaxis(pixels, 2, 0) / 255, rtol=1e-6)


def test_a_grey_sensor_is_the_mean_of_its_picture() -> None:
    pixels = random_pixels(5, 7, 3)
    np.testing.assert_allclose(
        read_pictures(png(pixels), [5, 7, 1], []), pixels.mean(2, keepdims=True) / 255, rtol=1e-6
    )


def test_a_grey_sensor_of_several_pictures_is_the_mean_of_the_first() -> None:
    first, second = random_pixels(5, 7, 3), np.zeros((5, 7, 3), np.uint8)
    found = read_pictures(png(first) + png(second), [5, 7, 1], [])
    np.testing.assert_allclose(found, first.mean(2, keepdims=True) / 255, rtol=1e-6)


def test_channels_are_averaged_into_what_they_are_mapped_to() -> None:
    pixels = random_pixels(2, 3, 6)
    found = read_pictures(pngs(pixels), [2, 3, 2], [0, 0, 0, 1, -1, -1])
    np.testing.assert_allclose(found[..., 0], pixels[..., :3].mean(2) / 255, rtol=1e-6)
    np.testing.assert_allclose(found[..., 1], pixels[..., 3] / 255, rtol=1e-6)


GOOD = png(random_pixels(5, 7, 3))
HEAD = 33
"""Bytes of a picture's signature and its first chunk."""
EMPTY_PROFILE = b"\0\0\0\0iCCP" + crc32(b"iCCP").to_bytes(4, "big")
"""A colour profile of no bytes, on which Pillow fails with an IndexError."""


@pytest.mark.parametrize(
    ("data", "shape", "mapping", "message"),
    [
        (b"", [5, 7, 3], [], "it has no picture"),
        (b"GIF89a", [5, 7, 3], [], "picture 1 is no PNG"),
        (GOOD + b"x", [5, 7, 3], [], "picture 2 is no PNG"),
        (GOOD[:-1], [5, 7, 3], [], "breaks off"),
        (SIGNATURE + (2**31).to_bytes(4, "big") + b"IHDR", [5, 7, 3], [], "breaks off"),
        (SIGNATURE + b"\0\0\0\0IEND\0\0\0\0", [5, 7, 3], [], "cannot be read"),
        (GOOD.replace(b"IDAT", b"IDOT"), [5, 7, 3], [], "cannot be read"),
        (GOOD[:HEAD] + EMPTY_PROFILE + GOOD[HEAD:], [5, 7, 3], [], "cannot be read"),
        (png(random_pixels(50, 70, 3)), [5, 7, 3], [], "50 × 70; allowed is the size of its shape"),
        (GOOD, [105], [], r"its shape is \(105,\)"),
        (GOOD, [5, 7, 0], [], "allowed are three sizes from 1 on"),
        (GOOD, [-3, 5, 7], [], "allowed are three sizes from 1 on"),
        (png(random_pixels(3, 5, 3)) + png(random_pixels(5, 5, 3)), [3, 5, 5], [], "several sizes; .* 3 × 5"),
        (png(np.full((5, 7), 40_000, np.uint16)), [5, 7, 3], [], "16 bits; allowed are 8"),
        (png(random_pixels(2, 2, 3), 30_000, 30_000), [30_000, 30_000, 3], [], "cannot be read: Image size"),
        (png(random_pixels(2, 2, 3), 4_000, 4_000), [4_000, 4_000, 3], [], "allowed are 16777216 numbers"),
        (2 * png(random_pixels(2, 2, 3), 2_000, 2_000), [2_000, 2_000, 6], [], "allowed are 16777216 numbers"),
        (GOOD, [5, 7, 4], [], "have 3 channels; allowed are the 4"),
        (GOOD, [5, 7, 3], [0, 1], "its mapping of channels is"),
        (GOOD, [5, 7, 2], [0, 2, -1], "without a gap"),
        (GOOD, [5, 7, 3], [-1, -1, -1], "without a gap"),
        (GOOD, [5, 7, 3], [0, 1, -1], "have 2 channels; allowed are the 3"),
        (png(random_pixels(1, 1, 3)) * 257, [1, 1, 771], [], "allowed are 1 to 256"),
    ],
)
def test_what_is_no_such_picture_is_told(data: bytes, shape: list[int], mapping: list[int], message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        read_pictures(data, shape, mapping)


def test_pictures_that_came_broken_are_told_and_nothing_else_happens() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        broken = bytearray(GOOD)
        for at in rng.integers(0, len(GOOD), 3):
            broken[at] = rng.integers(0, 256)
        try:
            assert read_pictures(bytes(broken), [5, 7, 3], []).shape == (5, 7, 3)
        except BridgeError:
            continue
