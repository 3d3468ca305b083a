"""How the search takes texts apart: English by words and their stems, Chinese by pairs of characters."""

import re
from typing import Final

from sphinx.search.en import SearchEnglish

CHINESE: Final = "\u4e00-\u9fff"
_RUNS: Final = re.compile(rf"[{CHINESE}]+|[^\W{CHINESE}]+")


class Words(SearchEnglish):
    """English, with each two neighbours of a run of Chinese characters as one more word.

    Chinese has no blanks between words, most of which have two characters.
    """

    lang = "en-zh"
    language_name = "English"  # Also the name of its stemmer in JavaScript.
    js_splitter_code = """
var splitQuery = (query) =>
  (query.match(/[\\u4e00-\\u9fff]+|[^\\u4e00-\\u9fff]+/gu) ?? []).flatMap((run) =>
    /^[\\u4e00-\\u9fff]/.test(run)
      ? Array.from({length: Math.max(run.length - 1, 1)}, (_, at) => run.slice(at, at + 2))
      : run.split(/[^\\p{Letter}\\p{Number}_\\p{Emoji_Presentation}]+/gu).filter((word) => word));
"""

    def split(self, text: str) -> list[str]:
        """Returns the words of a text."""
        return [word for run in _RUNS.findall(text) for word in _words(run)]


def _words(run: str) -> list[str]:
    if not re.match(f"[{CHINESE}]", run):
        return [run]
    return [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
