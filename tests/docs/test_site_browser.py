"""The site in a headless Chromium: it fits, it is accessible, and its search finds."""

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.browser import DESKTOP, PHONE, chromium, looking
from tests.docs.site import build
from tests.http_thread import answering

pytestmark = pytest.mark.browser

PAGES = ("docs/index", "docs/faq", "docs/algorithms", "docs/config-reference", "docs/adr/README", "README")
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def served(folder: Path) -> AbstractContextManager[str]:
    """Serves a folder to this machine, and gives where."""
    return answering(functools.partial(Quiet, directory=str(folder)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build(folder) == ""
    with served(folder) as address:
        yield address


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_fit_and_ask_no_other_host(browser: Browser, site: str, size: Any) -> None:
    with looking(browser, f"{site}/index.html", viewport=size) as looked:
        asked: list[str] = []
        looked.page.on("request", lambda request: asked.append(request.url))
        expect(looked.page).to_have_url(f"{site}/docs/index.html")
        for page in PAGES:
            looked.page.goto(f"{site}/{page}.html")
            wide = looked.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{page} is {wide} px wider than the window"
        assert len(asked) > len(PAGES)
        assert [url for url in asked if not url.startswith((site, "data:"))] == []


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_pages_have_no_serious_fault(browser: Browser, site: str, size: Any, scheme: Any) -> None:
    with looking(browser, f"{site}/docs/index.html", viewport=size, color_scheme=scheme) as looked:
        for page in PAGES:
            looked.page.goto(f"{site}/{page}.html")
            found = Axe().run(looked.page, options={"resultTypes": ["violations"]})
            faults = [fault for fault in found.response["violations"] if fault["impact"] in SERIOUS]
            told = [(fault["id"], [node["html"] for node in fault["nodes"][:3]]) for fault in faults]
            assert told == [], page


def test_the_figure_is_shown(browser: Browser, site: str) -> None:
    with looking(browser, f"{site}/docs/index.html") as looked:
        figure = looked.page.get_by_role("img", name="How data flow")
        expect(figure).to_be_visible()
        assert figure.evaluate("image => image.complete && image.naturalWidth > 0")


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("snapshot_every_ticks", "Config reference"),
        ("challenger shadow", "Release new versions of a model"),
        ("kubernetes", "Kubernetes"),
    ],
)
def test_the_search_finds_a_page(browser: Browser, site: str, words: str, page: str) -> None:
    with looking(browser, f"{site}/docs/index.html") as looked:
        looked.page.get_by_placeholder("Search").first.fill(words)
        looked.page.keyboard.press("Enter")
        expect(looked.page.locator("#search-results li a", has_text=page).first).to_be_visible()


def test_chinese_is_found_by_a_part_of_a_sentence(browser: Browser, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "zh").mkdir(parents=True)
    (docs / "index.md").write_text("# First\n", encoding="utf-8")
    (docs / "zh" / "index.md").write_text("# 快速开始\n\n游戏服务器通过网络连接训练服务。\n", encoding="utf-8")
    assert build(tmp_path / "built", tmp_path) == ""
    with served(tmp_path / "built") as site:
        with looking(browser, f"{site}/search.html?q=训练服务") as looked:
            expect(looked.page.locator("#search-results li a")).to_have_text("快速开始")
            looked.page.goto(f"{site}/search.html?q=训服")
            expect(looked.page.get_by_text("Your search did not match any documents")).to_be_visible()
        with looking(browser, f"{site}/docs/zh/index.html") as looked:
            assert looked.page.locator("html").get_attribute("lang") == "zh-CN"


def test_the_theme_is_switched_and_sections_open_on_a_phone(browser: Browser, site: str) -> None:
    with looking(browser, f"{site}/docs/faq.html", viewport=PHONE) as looked:
        looked.page.locator("label.nav-overlay-icon").click()
        expect(looked.page.get_by_role("link", name="Wire contract").first).to_be_visible()
    with looking(browser, f"{site}/docs/faq.html", color_scheme="light") as looked:
        looked.page.locator(".theme-toggle-content button").click()
        expect(looked.page.locator("body")).to_have_attribute("data-theme", "dark")
        dark = looked.page.evaluate("getComputedStyle(document.body).backgroundColor")
        looked.page.locator(".theme-toggle-content button").click()
        expect(looked.page.locator("body")).to_have_attribute("data-theme", "light")
        assert looked.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
