"""The console in a headless Chromium, over a real listener."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from app.checks.alarm import Alarm
from app.logs.entry import Entry
from app.types import Purpose
from tests.browser import DESKTOP, PHONE, WAIT_MS, chromium, looking
from tests.deployments.console.node import ADMIN_KEY, Node, Open, serving
from tests.recordings.played import write_games

pytestmark = pytest.mark.browser

FIRST_PAINT_MS = 1_000
LOADS = 10
"""With an empty cache each; the fastest counts, since other programs make the others slower."""
HEADINGS = {
    "overview": "The ring",
    "sessions": "Open sessions",
    "league": "Standings",
    "models": "Model main",
    "buffers": "Rows on their way",
    "learning": "Learning curves",
    "metrics": "Metrics",
    "alarms": "Now",
    "recordings": "Recent recordings",
}
"""First heading of each view."""
COUNTED = """(() => {
    const ask = window.fetch;
    window.underWay = 0;
    window.fetch = (...given) => {
        window.underWay += 1;
        return ask(...given).finally(() => { window.underWay -= 1; });
    };
})()"""
"""Counts the requests that nobody has answered yet."""
ANSWERED = "async () => { while (underWay > 0) await new Promise((look) => setTimeout(look, 20)); }"


def figures_asked(node: Node) -> list[str]:
    """Returns the paths that were asked for, without the page's own files: the icon may come late."""
    return [request.path for request in node.asked if not request.path.startswith("/console")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with serving(tmp_path) as running:
        for number in range(60):
            purpose = Purpose.PLAY if number % 3 == 0 else Purpose.TRAIN
            running.sessions[f"match-{number:02d}"] = Open(purpose, seq=number)
        counts = {"overloaded": 3, "rows_pushed": 4_096}
        running.report = replace(running.report, counts=counts, versions={"main": "1.7"}, buffer_links={"rollouts": 1})
        running.play(5_120, 120.5)
        for number in range(1, 20):
            running.learn(number, "main", update_s=0.05, loss=1 / number)
        yield running


def figure(page: Page, name: str) -> str:
    return page.locator(f"[data-figure={name}]").inner_text()


def test_the_overview_shows_the_parts_of_the_config_with_the_figures_of_the_node(browser: Browser, node: Node) -> None:
    with looking(browser, node.url) as looked:
        page = looked.page
        expect(page.locator("[data-part]")).to_have_count(13)
        expect(page.locator("[data-figure=sessions]")).to_have_text("60")
        expect(page.locator("[data-figure=starts]")).to_have_text("1")
        expect(page.locator("[data-figure=return]")).to_have_text("120.5")
        expect(page.get_by_text("5,120 in all")).to_be_visible()
        expect(page.locator("[data-part-figure='trainer:main updates']")).to_have_text("19")
        expect(page.locator("[data-part-figure='model:main plays']")).to_have_text("1.7")
        node.sessions.clear()
        node.play(80, 121.5)
        expect(page.locator("[data-figure=sessions]")).to_have_text("0")
        expect(page.locator("[data-figure=return]")).to_have_text("121")
        expect(page.get_by_text("5,200 in all")).to_be_visible()


def test_the_learning_view_draws_what_trainers_tell(browser: Browser, node: Node) -> None:
    with looking(browser, f"{node.url}#/learning") as looked:
        page = looked.page
        expect(page.get_by_role("img", name="learner/loss")).to_have_accessible_name(re.compile("main 0.1867"))
        update_s = page.get_by_role("img", name="learner/update_s")
        expect(update_s.locator("canvas")).to_be_visible()
        page.locator("summary").click()
        page.get_by_role("checkbox", name="learner/update_s").uncheck()
        expect(update_s).to_have_count(0)
        expect(page.get_by_role("img", name="sparring_episode_return").locator("canvas")).to_be_visible()


def test_it_is_painted_within_a_second(browser: Browser, node: Node) -> None:
    painted_ms: list[float] = []
    while min(painted_ms, default=FIRST_PAINT_MS) >= FIRST_PAINT_MS and len(painted_ms) < LOADS:
        with looking(browser, node.url) as looked:
            looked.page.wait_for_selector("[data-part]")
            entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            painted_ms.append(looked.page.evaluate(entry))
    assert 0 < min(painted_ms) < FIRST_PAINT_MS


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_view_fits_and_has_no_fault_that_axe_finds(browser: Browser, node: Node, size: Any, scheme: Any) -> None:
    with looking(browser, node.url, viewport=size, color_scheme=scheme) as looked:
        for view, heading in HEADINGS.items():
            looked.page.goto(f"{node.url}#/{view}")
            looked.page.get_by_role("heading", name=heading, exact=True).first.wait_for()
            wide = looked.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{view} is {wide} px wider than the window"
            found = Axe().run(looked.page, options={"resultTypes": ["violations"]})
            assert found.violations_count == 0, f"{view}: {found.generate_report()}"


def test_a_session_is_found_by_game_by_purpose_by_page_and_by_its_id(browser: Browser, node: Node) -> None:
    with looking(browser, f"{node.url}#/sessions") as looked:
        page = looked.page
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Next").click()
        expect(rows).to_have_count(10)
        page.get_by_label("Purpose").select_option("play")
        expect(rows).to_have_count(20)
        page.get_by_label("Game").fill("match-03")
        page.keyboard.press("Enter")
        expect(rows).to_have_count(1)
        page.get_by_label("Session", exact=True).fill("match-42")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Session match-42")).to_be_visible()
        expect(page.get_by_text("Steps answered")).to_be_visible()
        node.sessions.clear()
        expect(page.get_by_text("No replica that answers holds this session")).to_be_visible()
        # Who is silent stands behind it.
        expect(page.get_by_text("no replica holds session 'match-42'")).to_be_visible()


def test_a_service_that_is_away_is_said_to_be_and_asked_again(browser: Browser, node: Node) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(node.url)
        expect(page.locator("[data-figure=sessions]")).to_have_text("60")
        context.set_offline(True)
        away = page.get_by_text("The service does not answer; what is shown is old.")
        expect(away).to_be_visible(timeout=WAIT_MS)
        assert figure(page, "sessions") == "60"
        context.set_offline(False)
        expect(away).to_be_hidden(timeout=WAIT_MS)
    finally:
        context.close()


def test_a_hidden_tab_asks_nothing_and_a_shown_one_asks_at_once(browser: Browser, node: Node) -> None:
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    with looking(browser, node.url) as looked:
        page = looked.page
        page.add_init_script(COUNTED)
        page.reload()
        page.wait_for_selector("[data-part]")
        page.evaluate(hide % "true")
        page.evaluate(ANSWERED)  # What was asked before is on its way still.
        before = figures_asked(node)
        page.wait_for_timeout(2_500)
        assert figures_asked(node) == before
        node.sessions.clear()
        node.play(1, 1.0)
        page.evaluate((hide % "false") + "document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("[data-figure=sessions]")).to_have_text("0")


def test_a_guarded_service_is_shown_to_who_gives_a_key_until_the_tab_is_closed(browser: Browser, node: Node) -> None:
    node.guarded = True
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(node.url)
        expect(page.get_by_role("heading", name="A key is needed")).to_be_visible()
        page.get_by_role("button", name="Key").click()
        page.get_by_label("Key", exact=True).fill(ADMIN_KEY)
        page.get_by_label("Secret").fill("a secret of sixteen characters")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-part]")
        assert all(len(one.fields["token"]) == 64 for one in node.asked[-1:])
        page.reload()
        page.wait_for_selector("[data-part]")
        other = context.new_page()
        other.goto(node.url)
        expect(other.get_by_role("heading", name="A key is needed")).to_be_visible()
    finally:
        context.close()


def test_a_session_is_recorded_and_stopped_by_who_gives_a_key_alone(browser: Browser, node: Node) -> None:
    with looking(browser, f"{node.url}#/sessions/match-07") as looked:
        page = looked.page
        expect(page.get_by_text("To record or stop it, give a key")).to_be_visible()
        expect(page.get_by_role("button", name="Stop this session")).to_have_count(0)
        page.evaluate(f"sessionStorage.setItem('sparring-key', JSON.stringify({{key: '{ADMIN_KEY}', secret: 's'}}))")
        page.reload()
        page.get_by_role("button", name="Record this session").click()
        expect(page.get_by_text("It is recorded from now on.")).to_be_visible()
        page.get_by_role("button", name="Stop this session").click()
        expect(page.get_by_text("No replica that answers holds this session")).to_be_visible()
    assert node.recorders.asked == [("match-07", 0)]
    (step,) = node.stopped
    assert (step.session, str(step.kind)) == ("match-07", "stop")
    assert step.credentials is not None
    assert step.credentials.key == ADMIN_KEY


def test_the_keyboard_reaches_the_content_and_every_view(browser: Browser, node: Node) -> None:
    with looking(browser, node.url) as looked:
        page = looked.page
        page.wait_for_selector("[data-part]")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.get_by_role("link", name="Sessions", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Sessions", exact=True)).to_have_attribute("aria-current", "page")
        expect(page).to_have_title("Sessions – Sparring")


def test_the_colours_that_were_chosen_stay(browser: Browser, node: Node) -> None:
    with looking(browser, node.url, color_scheme="light") as looked:
        page = looked.page
        background = "getComputedStyle(document.documentElement).backgroundColor"
        light = page.evaluate(background)
        page.get_by_role("button", name="Colours: light; change to dark").click()
        assert page.evaluate(background) != light
        page.reload()
        page.get_by_role("button", name="Colours: dark; change to light").wait_for()
        assert page.evaluate(background) != light


def test_what_is_not_there_says_how_it_would_be(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, with_league=False) as node, looking(browser, f"{node.url}#/league") as looked:
        page = looked.page
        expect(page.get_by_text("There is no league in this config: add league: to it.")).to_be_visible()
        page.goto(f"{node.url}#/sessions")
        expect(page.get_by_text("No game is played now.")).to_be_visible()
        page.goto(f"{node.url}#/alarms")
        expect(page.get_by_text("Nothing is wrong.")).to_be_visible()
        page.goto(f"{node.url}#/recordings")
        expect(page.get_by_text("No game was recorded yet on this node.")).to_be_visible()


def test_a_recorded_game_is_played_in_a_frame_that_may_do_nothing_else(
    browser: Browser, node: Node, tmp_path: Path
) -> None:
    node.do(write_games(tmp_path / "recordings" / "player-1.parquet", [5]))
    with looking(browser, f"{node.url}#/recordings") as looked:
        page = looked.page
        page.get_by_role("link", name="g0-agent-player").click()
        player = page.frame_locator("iframe")
        expect(player.get_by_text("g0-agent-player").first).to_be_visible()
        expect(player.get_by_role("slider").first).to_be_visible()
        assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"


def test_errors_of_all_processes_are_listed_the_newest_first(browser: Browser, node: Node) -> None:
    for number in (1, 2):
        trace = "Traceback (most recent call last):\nValueError: no such file" if number == 2 else None
        node.log(
            Entry(
                number, "error", f"app.part{number}", "t.t", "learner main 0", f"s{number}", f"broken {number}", trace
            )
        )
    with looking(browser, f"{node.url}#/alarms") as looked:
        rows = looked.page.get_by_role("table", name="Errors and warnings").locator("tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("broken 2")
        rows.first.get_by_text("broken 2").click()
        expect(rows.first.get_by_text("ValueError: no such file")).to_be_visible()
        looked.page.get_by_role("link", name="s1").click()
        expect(looked.page.get_by_role("heading", name="Session s1")).to_be_visible()


def test_what_checks_found_is_listed_and_counted(browser: Browser, node: Node) -> None:
    alarm = Alarm("finite", "finite", "drop", "main", "replica one", "reward", math.nan, "finite numbers", 2.0, 1.0, 7)
    node.do(node.alarms.report([alarm]))
    with looking(browser, f"{node.url}#/alarms") as looked:
        row = looked.page.get_by_role("table", name="Alarms of the checks").locator("tbody tr")
        expect(row).to_contain_text("drop7main, rewardnan")
        looked.page.goto(f"{node.url}#/overview")
        expect(looked.page.locator("[data-figure=alarms]")).to_have_text("1")


def test_alarms_tell_what_is_wrong_and_what_was_refused(browser: Browser, node: Node) -> None:
    node.report = replace(node.report, degraded="blocked in on_tick (agents.py:3)", ready=False)
    with looking(browser, f"{node.url}#/alarms") as looked:
        expect(looked.page.get_by_text("the event loop stands still: blocked in on_tick")).to_be_visible()
        expect(looked.page.get_by_role("row", name="overloaded 3")).to_be_visible()
        looked.page.goto(f"{node.url}#/overview")
        expect(looked.page.locator("[data-figure=alarms]")).to_have_text("2")
