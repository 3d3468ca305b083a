"""Keeps access keys, tokens and passwords out of logs."""

import os
import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "***"
SHORTEST: Final = 6
"""Characters of the shortest secret that is looked for: a shorter one would blot out words, and is none."""
ENVIRONMENT: Final = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_KEY)$")
"""Variables whose values are secrets."""

_NAMED = re.compile(
    r"(?i)\b(authorization|password|passwd|secret|token)(['\"]?\s*[=:]\s*['\"]?(?:bearer |basic )?)[^\s'\",;&)}\]]+"
)
_IN_URL = re.compile(r"//[^/@\s]+@")


class Secrets:
    """Knows what must not be shown."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def hide(self, *values: str | None) -> None:
        """Blots these texts out from now on; None and what is too short to be a secret is passed over."""
        new = {value for value in values if value is not None and len(value) >= SHORTEST} - self._known
        if not new:
            return
        self._known |= new
        longest_first = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def hide_environment(self, environment: Mapping[str, str]) -> None:
        """Blots out the values of variables whose names say that they are secret."""
        self.hide(*(value for name, value in environment.items() if ENVIRONMENT.search(name)))

    def covered(self, text: str) -> str:
        """Returns a text without secrets: neither those that are known, nor what is named like one."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        if "@" in text:
            text = _IN_URL.sub(f"//{HIDDEN}@", text)
        return _NAMED.sub(rf"\1\2{HIDDEN}", text)

    def covered_tree(self, value: object) -> object:
        """Returns mappings, lists and texts without secrets; a text whose key is named like one is hidden whole."""
        if isinstance(value, str):
            return self.covered(value)
        if isinstance(value, Mapping):
            return {key: HIDDEN if _hides(key, one) else self.covered_tree(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.covered_tree(one) for one in value]
        return value


def _hides(key: object, value: object) -> bool:
    return isinstance(value, str) and value != "" and ENVIRONMENT.search(str(key).upper()) is not None


SECRETS: Final = Secrets()
"""Those of this process."""
SECRETS.hide_environment(os.environ)
