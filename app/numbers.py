"""Numbers in a request's query."""

import math

from app.errors import BadRequestError


def finite(name: str, text: str | None) -> float | None:
    """Returns the number that a field of a query holds; None where it is not there.

    Raises:
      BadRequestError: It is none, or not finite.
    """
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRequestError(f"{name} is {text[:40]!r}; allowed is a finite number")
    return number
