"""Pictures of numbers: bars for vectors, images as they are, heat maps for grids."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw

from app.render.frame import Image

WIDTH: Final = 360
"""Width of a picture that we draw, in pixels: readable on a phone."""
ROW_HEIGHT: Final = 16
ROWS_MAX: Final = 64
"""Numbers of a vector that are drawn; a longer one is a heat map."""
LABEL_WIDTH: Final = 120
GAP: Final = 6
IMAGE_DIMENSIONS: Final = 3
CHANNELS: Final = (1, 3, 4)
GRID_SIDE: Final = 240
"""Longest side of a heat map."""
SMALLEST_IMAGE: Final = 16
"""Sides from which on an array with few channels is a picture rather than a board."""

PAPER: Final = (250, 250, 248)
INK: Final = (40, 44, 52)
FAINT: Final = (205, 208, 212)
BLUE: Final = (52, 120, 200)
RED: Final = (205, 75, 60)
GREEN: Final = (60, 150, 90)
GOLD: Final = (225, 170, 50)


def canvas(width: int, height: int, color: tuple[int, int, int] = PAPER) -> tuple[Pillow.Image, ImageDraw.ImageDraw]:
    """Returns an empty picture and what draws on it."""
    picture = Pillow.new("RGB", (width, height), color)
    return picture, ImageDraw.Draw(picture)


def pixels(picture: Pillow.Image) -> Image:
    """Returns a picture as an array, uint8 [height, width, 3]."""
    return np.asarray(picture.convert("RGB"), np.uint8)


def drawn(parts: Mapping[str, NDArray[np.generic]]) -> Image:
    """Returns the arrays of an observation as one picture, one below the other with their names.

    Args:
      parts: By path; "" has no name.
    """
    pictures = [_titled(path, _of_array(array)) for path, array in parts.items()]
    return stacked(pictures or [pixels(canvas(WIDTH, ROW_HEIGHT)[0])])


def stacked(pictures: Sequence[Image]) -> Image:
    """Returns pictures one below the other, on paper as wide as the widest."""
    if len(pictures) == 1:
        return pictures[0]
    height = sum(len(one) for one in pictures) + GAP * (len(pictures) - 1)
    whole = np.full((height, max(one.shape[1] for one in pictures), 3), PAPER, np.uint8)
    top = 0
    for one in pictures:
        whole[top : top + len(one), : one.shape[1]] = one
        top += len(one) + GAP
    return whole


def bars(values: NDArray[np.generic], names: Sequence[str] = ()) -> Image:
    """Returns a vector as one bar a number, to the right where it is positive.

    Args:
      values: [numbers].
      names: Of the numbers; the others are called by their place.
    """
    numbers = np.nan_to_num(np.asarray(values, np.float64).reshape(-1))
    picture, draw = canvas(WIDTH, max(1, len(numbers)) * ROW_HEIGHT)
    half = (WIDTH - LABEL_WIDTH) / 2
    middle, largest = LABEL_WIDTH + half, max(1.0, float(np.abs(numbers).max(initial=0.0)))
    draw.line((middle, 0, middle, picture.height), FAINT)
    for at, number in enumerate(numbers.tolist()):
        top, end = at * ROW_HEIGHT, middle + half * number / largest
        name = names[at] if at < len(names) else str(at)
        draw.text((2, top + 2), f"{name[:11]:11} {number:.4g}", INK)
        draw.rectangle((min(middle, end), top + 3, max(middle, end), top + ROW_HEIGHT - 4), BLUE if number > 0 else RED)
    return pixels(picture)


def heat_map(grid: NDArray[np.generic]) -> Image:
    """Returns a grid of numbers, [rows, columns], as squares from blue over white to red; row 0 is the highest."""
    numbers = np.nan_to_num(np.asarray(grid, np.float64))
    largest = max(float(np.abs(numbers).max(initial=0.0)), 1e-12)
    share = np.abs(numbers)[..., None] / largest
    color = np.where((numbers >= 0)[..., None], np.array(RED), np.array(BLUE))
    whole = np.array(PAPER) * (1 - share) + color * share
    side = max(1, GRID_SIDE // max(numbers.shape))
    return np.repeat(np.repeat(whole.astype(np.uint8), side, axis=0), side, axis=1)


def image(array: NDArray[np.generic], channels: int) -> Image:
    """Returns an array with channels as a picture: of four the last one, the newest of a stack.

    Args:
      array: [height, width, channels]; floats from 0 to 1 or whole numbers to 255.
      channels: 1, 3 or 4.
    """
    numbers = np.asarray(array, np.float64)
    if array.dtype.kind == "f" and float(np.nanmax(numbers, initial=0.0)) <= 1:
        numbers = 255 * numbers
    whole = np.nan_to_num(numbers).clip(0, 255).astype(np.uint8)
    colored = whole if channels == CHANNELS[1] else np.repeat(whole[..., -1:], 3, axis=-1)
    times = max(1, GRID_SIDE // max(colored.shape[:2]))
    return np.repeat(np.repeat(colored, times, axis=0), times, axis=1)


def _of_array(array: NDArray[np.generic]) -> Image:
    if array.ndim < 2:  # noqa: PLR2004  # A number or a vector.
        return bars(array) if array.size <= ROWS_MAX else heat_map(_folded(array))
    if array.ndim == 2:  # noqa: PLR2004  # A grid.
        return heat_map(array)
    if array.ndim == IMAGE_DIMENSIONS:
        if array.shape[-1] in CHANNELS and min(array.shape[:2]) >= SMALLEST_IMAGE:
            return image(array, array.shape[-1])
        if array.shape[0] in CHANNELS and min(array.shape[1:]) >= SMALLEST_IMAGE:
            return image(np.moveaxis(array, 0, -1), array.shape[0])
        return _side_by_side([heat_map(plane) for plane in array])
    return heat_map(_folded(array))


def _side_by_side(pictures: Sequence[Image]) -> Image:
    """Returns pictures of one size beside each other."""
    gap = np.full((len(pictures[0]), GAP, 3), PAPER, np.uint8)
    row: list[Any] = [pictures[0]]
    for one in pictures[1:]:
        row += [gap, one]
    return np.concatenate(row, axis=1)


def _folded(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Returns any numbers as a grid that is about square."""
    flat = array.reshape(-1)
    columns = int(np.ceil(np.sqrt(flat.size)))
    grid = np.zeros((int(np.ceil(flat.size / columns)), columns), flat.dtype)
    grid.reshape(-1)[: flat.size] = flat
    return grid


def _titled(title: str, picture: Image) -> Image:
    if not title:
        return picture
    head, draw = canvas(max(picture.shape[1], WIDTH), ROW_HEIGHT)
    draw.text((2, 2), title, INK)
    return stacked([pixels(head), picture])
