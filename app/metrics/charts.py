"""What TensorBoard shows beside scalars, made out of arrays: histograms, images, moving images and graphs."""

import io
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

BUCKETS: Final = 30
"""Buckets of a histogram: as many as TensorBoard draws."""
GREY_OR_COLOUR: Final = (1, 3, 4)
"""Channels that a picture may have."""


class Histogram(NamedTuple):
    """How values are spread."""

    min: float
    max: float
    number: int
    """How many."""
    sum: float
    sum_squares: float
    limits: tuple[float, ...]
    """Upper bound of each bucket."""
    buckets: tuple[int, ...]
    """Values in each."""


class Picture(NamedTuple):
    """An encoded image."""

    height: int
    width: int
    channels: int
    encoded: bytes
    """PNG, or an animated GIF."""


class Node(NamedTuple):
    """One operation of a network."""

    name: str
    """Parts that belong together have the beginning in common, up to a slash."""
    operation: str
    inputs: tuple[str, ...] = ()
    """Names of the nodes whose results it takes."""
    shape: tuple[int, ...] | None = None
    """Of its result; None where it has none, or several."""


def histogram_of(values: NDArray[Any]) -> Histogram | None:
    """Returns how finite values are spread; None where there is none."""
    flat = np.asarray(values, np.float64).reshape(-1)
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return None
    low, high = float(flat.min()), float(flat.max())
    parts = np.arange(1, BUCKETS + 1) / BUCKETS
    limits = np.clip(
        np.maximum.accumulate(low * (1 - parts) + high * parts), low, high
    )  # The difference of the two might overflow.
    limits[-1] = high
    counts = np.bincount(np.searchsorted(limits[:-1], flat), minlength=BUCKETS)
    with np.errstate(over="ignore"):
        total, squares = float(flat.sum()), float(np.square(flat).sum())
    return Histogram(low, high, flat.size, total, squares, tuple(limits.tolist()), tuple(counts.tolist()))


def picture_of(image: NDArray[Any]) -> Picture:
    """Returns an image as PNG.

    Args:
      image: [H, W], [H, W, C] or [C, H, W] with 1, 3 or 4 channels; uint8, or other numbers, which are spread over
        grey values from the smallest to the largest.

    Raises:
      ValueError: It is none.
    """
    from PIL import Image  # noqa: PLC0415  (0.1 s, which few processes need)

    pixels = pixels_of(image)
    stream = io.BytesIO()
    Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(stream, "PNG")
    height, width, channels = pixels.shape
    return Picture(height, width, channels, stream.getvalue())


def film_of(frames: NDArray[Any], frames_per_s: float) -> Picture:
    """Returns images as one that moves: an animated GIF, which TensorBoard plays without end.

    Args:
      frames: One image behind another, [T, …] as of ``picture_of``; other numbers than uint8 are spread together.
      frames_per_s: How fast they follow.

    Raises:
      ValueError: There is none, or they are no images.
    """
    from PIL import Image  # noqa: PLC0415  (as above)

    frames = np.asarray(frames)
    if frames.ndim < 3 or not len(frames):  # noqa: PLR2004  (time, height, width)
        raise ValueError(f"a film has frames, height and width, got shape {frames.shape}")
    shown = [pixels_of(frame) for frame in _spread(frames)]
    images = [Image.fromarray(one.squeeze(-1) if one.shape[-1] == 1 else one[..., :3]) for one in shown]
    stream = io.BytesIO()
    images[0].save(stream, "GIF", save_all=True, append_images=images[1:], duration=round(1000 / frames_per_s), loop=0)
    height, width, channels = shown[0].shape
    return Picture(height, width, channels, stream.getvalue())


def pixels_of(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns an image as uint8, [H, W, C].

    Raises:
      ValueError: It is none; the message says what is allowed.
    """
    found = np.asarray(image)
    if found.ndim == 2:  # noqa: PLR2004  (height and width)
        found = found[..., None]
    if found.ndim == 3 and found.shape[-1] not in GREY_OR_COLOUR and found.shape[0] in GREY_OR_COLOUR:  # noqa: PLR2004
        found = np.moveaxis(found, 0, -1)
    if found.ndim != 3 or found.shape[-1] not in GREY_OR_COLOUR or 0 in found.shape:  # noqa: PLR2004
        raise ValueError(f"an image is [H, W], [H, W, C] or [C, H, W] with 1, 3 or 4 channels; got {image.shape}")
    return _spread(found)


def _spread(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns numbers as bytes: those that are bytes as they are, others from the smallest, 0, to the largest, 255."""
    if numbers.dtype == np.uint8:
        return numbers
    finite = np.nan_to_num(np.asarray(numbers, np.float64))
    low, high = float(finite.min()), float(finite.max())
    scaled = (finite - low) / (high - low) if high > low else np.zeros_like(finite)
    return np.rint(255 * scaled).astype(np.uint8)


def is_image(shape: Sequence[int]) -> bool:
    """Returns whether arrays of a shape can be shown as images: large enough to see something."""
    smallest = 4
    if len(shape) == 2:  # noqa: PLR2004  (height and width)
        return min(shape) >= smallest
    if len(shape) != 3:  # noqa: PLR2004  (with channels)
        return False
    first, last = shape[0], shape[-1]
    sides = shape[:2] if last in GREY_OR_COLOUR else shape[1:] if first in GREY_OR_COLOUR else (0,)
    return min(sides) >= smallest
