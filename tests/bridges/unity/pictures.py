"""Compressed pictures as Unity sends them: a PNG for three channels, padded with black."""

import struct
import zlib
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.bridges.unity import unity_pb2 as pb


def pngs(pixels: NDArray[np.uint8]) -> bytes:
    """Returns [height, width, channels] as PNGs."""
    spare = -pixels.shape[2] % 3
    padded = np.pad(pixels, ((0, 0), (0, 0), (0, spare)))
    return b"".join(png(padded[..., first : first + 3]) for first in range(0, padded.shape[2], 3))


def png(pixels: NDArray[np.uint8 | np.uint16], width: int | None = None, height: int | None = None) -> bytes:
    """Returns a picture; with a width and a height it claims to be as large."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    written = file.getvalue()
    if width is None or height is None:
        return written
    head = b"IHDR" + struct.pack(">II", width, height) + written[24:29]
    return written[:12] + head + struct.pack(">I", zlib.crc32(head)) + written[33:]


def eye(pixels: NDArray[np.uint8], shape: Sequence[int], mapping: Sequence[int] = ()) -> pb.Observation:
    """Returns a visual sensor."""
    return pb.Observation(name="eye", shape=shape, compression=1, pngs=pngs(pixels), channel_mapping=mapping)


def random_pixels(*shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)
