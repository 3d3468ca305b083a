"""How Sphinx makes the site out of the pages of this repository; ``make docs`` calls it with the root as source."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from accessible import accessible
from pages import INDEX, SUFFIX, Site
from sphinx.application import Sphinx
from words import Words

project = "Sparring"
project_copyright = "Sparring's authors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = INDEX
source_suffix = {SUFFIX: "markdown"}
include_patterns = ["*.md", "docs/**"]
exclude_patterns = ["THIRD_PARTY_NOTICES.md", "docs/site", *(f"{name}*" for name in ("[.]", "[!.dA-Z]", "deployments"))]

myst_heading_anchors = 6  # Anchors of headings are GitHub's.
myst_enable_extensions = ["html_image"]
suppress_warnings = ["misc.highlighting_failure"]  # Examples leave parts out with an ellipsis.
highlight_language = "text"

html_theme = "furo"
html_title = "Sparring"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["root"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_search_language = Words.lang
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"


def _with_sections(app: Sphinx, page: str, text: list[str]) -> None:
    text[0] += Site.of(Path(app.srcdir)).toctrees(page)


def _pages_with_sections(app: Sphinx, *_: object) -> list[str]:
    """Returns the pages to read again, since what hangs below them may have changed without them."""
    return list(Site.of(Path(app.srcdir)).navigation)


def _in_its_language(_app: Sphinx, page: str, _template: str, context: dict[str, object], _tree: object) -> None:
    if page.startswith("docs/zh/") or page.endswith(".zh"):
        context["language"] = "zh-CN"


def _made_accessible(_app: Sphinx, _page: str, _template: str, context: dict[str, object], _tree: object) -> None:
    for part in ("body", "furo_navigation_tree"):
        context[part] = accessible(str(context.get(part, "")))


def setup(app: Sphinx) -> None:
    """Adds navigation, what pages lack, their language, and search in English and Chinese."""
    app.add_search_language(Words)
    app.connect("source-read", _with_sections)
    app.connect("env-get-outdated", _pages_with_sections)
    app.connect("html-page-context", _in_its_language)
    app.connect("html-page-context", _made_accessible, priority=900)  # After the theme's own.
