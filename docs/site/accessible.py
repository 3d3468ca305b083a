"""What pages lack for readers who use a keyboard or hear them."""

import re
from collections.abc import Mapping
from typing import Final

LACKS: Final[Mapping[str, str]] = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'class="caption" role="heading">': 'class="caption" role="heading" aria-level="2">',
}
"""What Sphinx and its theme write, and what is written instead: what may be wider than the window can be reached by
keyboard, and captions say how deep they stand."""
_OVERVIEW: Final = re.compile(r'<p>(?=<img [^>]*src="[^"]*overview\.svg")')


def accessible(html: str) -> str:
    """Returns a part of a page with what it lacks."""
    for written, better in LACKS.items():
        html = html.replace(written, better)
    return _OVERVIEW.sub('<p tabindex="0">', html)
