"""Seeds that derive from one."""

import hashlib


def derive(seed: int, *parts: int | str) -> int:
    """Returns a seed below 2^63 for one purpose; equal parts give equal seeds, on any machine."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1
