"""Compressed pictures of a Unity game's visual sensors: PNGs of three channels each, one behind the other."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.bridges.errors import BridgeError

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
"""What a PNG begins with (ISO/IEC 15948, 5.2)."""
COLOURS: Final = 3
"""Channels of one picture."""
MAX_PICTURES: Final = 256
"""Pictures of one observation; more is no sensor."""
MAX_NUMBERS: Final = 2**24
"""Numbers of the pictures of one observation: what a message holds uncompressed, and small files may unpack to more."""

_LENGTH, _CHUNK = 4, 12
"""Bytes of a chunk's length, and of a chunk without its data."""
_END: Final = b"IEND"


def read_pictures(pngs: bytes, shape: Sequence[int], mapping: Sequence[int]) -> NDArray[np.float32]:
    """Returns what the pictures show as the sensor would tell it uncompressed: numbers from 0 to 1, of this shape.

    The channels are last, or first as from version 3 of the game's package on; the pictures' size tells which.

    Args:
      pngs: The pictures.
      shape: What the game says of its sensor: [height, width, channels] or [channels, height, width].
      mapping: For each channel of the pictures the one that it is averaged into, below 0 for none. Empty: they follow
        each other, what is beyond the sensor's channels was added to fill the last picture, and a sensor of one
        channel is the mean of its first picture's.

    Raises:
      BridgeError: They are no PNGs, or not of this shape.
    """
    if len(shape) != COLOURS or min(shape) < 1:
        raise BridgeError(f"its shape is {tuple(shape)}; allowed are three sizes from 1 on")
    parts = _split(pngs)
    pictures = [_decoded(png, shape, MAX_NUMBERS // len(parts)) for png in parts]
    height, width = pictures[0].shape[:2]
    if any(picture.shape != pictures[0].shape for picture in pictures):
        raise BridgeError(f"its pictures have several sizes; allowed is that of the first, {height} × {width}")
    last = tuple(shape[:2]) == (height, width)
    wanted = shape[2] if last else shape[0]
    if len(mapping) > 0:
        channels = _mapped(np.concatenate(pictures, axis=2), mapping)
    elif wanted == 1:
        channels = pictures[0].mean(axis=2, keepdims=True)
    else:
        channels = np.concatenate(pictures, axis=2)[..., :wanted]
    if channels.shape[2] != wanted:
        raise BridgeError(f"its pictures have {channels.shape[2]} channels; allowed are the {wanted} of its shape")
    return np.ascontiguousarray(channels if last else np.moveaxis(channels, 2, 0), np.float32)


def _split(pngs: bytes) -> list[bytes]:
    """Returns each picture's bytes, by the lengths of its chunks."""
    found: list[bytes] = []
    begin = 0
    while begin < len(pngs):
        if not pngs.startswith(SIGNATURE, begin) or len(found) == MAX_PICTURES:
            raise BridgeError(
                f"its picture {len(found) + 1} is no PNG; allowed are 1 to {MAX_PICTURES}, and nothing else"
            )
        end = _end(pngs, begin + len(SIGNATURE))
        found.append(pngs[begin:end])
        begin = end
    if not found:
        raise BridgeError("it has no picture; allowed is at least one")
    return found


def _end(pngs: bytes, at: int) -> int:
    """Returns where the picture ends whose first chunk is here."""
    for end, kind in _chunks(pngs, at):
        if kind == _END:
            return end
    raise BridgeError("its picture breaks off; allowed are whole PNGs")


def _chunks(pngs: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yields where each whole chunk ends, and its kind."""
    while at + _CHUNK <= len(pngs):
        end = at + _CHUNK + int.from_bytes(pngs[at : at + _LENGTH], "big")
        if end <= len(pngs):
            yield end, pngs[at + _LENGTH : at + 2 * _LENGTH]
        at = end


def _decoded(png: bytes, shape: Sequence[int], numbers_max: int) -> NDArray[np.float32]:
    """Returns [height, width, colour]; the size is compared before it is unpacked, since a small file may be huge."""
    from PIL import Image  # noqa: PLC0415  # Games without pictures need none.

    try:
        with Image.open(BytesIO(png), formats=["PNG"]) as picture:
            _check(picture.size, picture.mode, shape, numbers_max)
            pixels = np.array(picture.convert("RGB"), np.float32)
    except BridgeError:
        raise
    except Exception as error:  # Pillow's readers of chunks raise whatever they trip over, IndexError among it.
        raise BridgeError(f"its picture cannot be read: {error}") from error
    pixels /= 255
    return pixels


def _check(size: tuple[int, int], mode: str, shape: Sequence[int], numbers_max: int) -> None:
    width, height = size
    if (height, width) not in (tuple(shape[:2]), tuple(shape[1:])):
        raise BridgeError(f"its picture is {height} × {width}; allowed is the size of its shape {tuple(shape)}")
    if height * width * COLOURS > numbers_max:
        raise BridgeError(
            f"its picture is {height} × {width}; allowed are {MAX_NUMBERS} numbers of all pictures of a sensor"
        )
    if mode.startswith("I"):  # Grey in 16 bits, of which Pillow would make white.
        raise BridgeError("its picture has grey values of 16 bits; allowed are 8")


def _mapped(channels: NDArray[np.float32], mapping: Sequence[int]) -> NDArray[np.float32]:
    """Returns the mean of the channels that are mapped to each one."""
    used = sorted({target for target in mapping if target >= 0})
    if len(mapping) != channels.shape[2] or not used or used != list(range(len(used))):
        raise BridgeError(
            f"its mapping of channels is {list(mapping)[:20]}; allowed is a number for each of the pictures' "
            f"{channels.shape[2]} channels, below 0 or from 0 on without a gap"
        )
    targets = np.asarray(mapping)
    means = [channels[..., targets == target].mean(axis=2) for target in used]
    averaged: NDArray[np.float32] = np.stack(means, axis=2).astype(np.float32)
    return averaged
