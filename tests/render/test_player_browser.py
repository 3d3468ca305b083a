"""The page of a recorded game in a headless Chromium."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from app.recordings.reading import Episode, read_episode
from app.render.player import player_html
from tests.browser import DESKTOP, PHONE, chromium, looking
from tests.recordings.played import write_games

pytestmark = pytest.mark.browser

TICKS = 12


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("replay")
    page = folder / "game.html"
    page.write_text(player_html(recorded(folder, TICKS)), encoding="utf-8")
    return page.as_uri()


def recorded(folder: Path, ticks: int) -> Episode:
    """Records a game, in a thread: this one has Playwright's event loop."""
    with ThreadPoolExecutor(1) as pool:
        path = pool.submit(asyncio.run, write_games(folder / "player.parquet", [ticks])).result()
    return read_episode(path, 0)


def now(page: Page) -> str:
    return page.locator("#now").inner_text()


def test_a_game_plays_to_its_end(browser: Browser, url: str) -> None:
    with looking(browser, url) as looked:
        page = looked.page
        assert now(page).startswith(f"step 1 · 1/{TICKS + 1}")
        expect(page.locator("#charts canvas")).to_have_count(4)
        page.get_by_label("Speed").select_option(label="16×")
        page.get_by_role("button", name="Play", exact=False).first.click()
        expect(page.locator("#now")).to_contain_text(f"{TICKS + 1}/{TICKS + 1}")
        expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
        expect(page.locator("#numbers")).to_contain_text(f"return so far\n{sum(range(TICKS + 1))}", use_inner_text=True)


def test_the_keyboard_steps_and_chooses_the_render(browser: Browser, url: str) -> None:
    with looking(browser, url) as looked:
        page = looked.page
        page.keyboard.press("ArrowRight")
        assert now(page).startswith("step 2 ·")
        expect(page.locator("#choices .taken")).to_have_count(1)
        expect(page.locator("#choices")).to_contain_text("73.1 %")
        page.keyboard.press("Shift+ArrowRight")
        assert now(page).startswith("step 12 ·")
        page.keyboard.press("Home")
        assert now(page).startswith("step 1 ·")
        expect(page.locator("#picture img")).to_have_attribute("src", re.compile("^data:image/png"))
        page.keyboard.press("2")
        expect(page.locator("#picture pre")).to_contain_text('"observation"')
        page.locator("#timeline").fill("3")
        assert now(page).startswith("step 4 ·")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_fits_and_has_no_fault_that_axe_finds(browser: Browser, url: str, size: Any, scheme: Any) -> None:
    with looking(browser, url, viewport=size, color_scheme=scheme) as looked:
        wide = looked.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        found = Axe().run(looked.page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()


def test_what_a_render_gives_runs_no_script_and_loads_nothing(browser: Browser, tmp_path: Path) -> None:
    episode = recorded(tmp_path, 1)
    bad = "<b id='x'>bold</b><img src='http://127.0.0.1:9/x.png' onerror=\"document.title='run'\">"
    path = tmp_path / "bad.html"
    path.write_text(player_html(episode, {"bad": lambda _: bad}), encoding="utf-8")
    context = browser.new_context()
    try:
        page = context.new_page()
        failed: list[str | None] = []
        page.on("requestfailed", lambda request: failed.append(request.failure))
        page.goto(path.as_uri())
        expect(page.locator("#x")).to_have_text("bold")
        assert page.title() != "run"
        assert failed == ["csp"]  # The policy kept it in: nobody was asked.
    finally:
        context.close()
