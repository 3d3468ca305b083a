"""The console of a real service, in a headless Chromium: its figures are those of the metric query."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.browser import chromium, looking

from .service import Cluster, Service, playing, wait_until
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.browser, pytest.mark.long]

GAMES = 4
WATCHED_S = 8.0
"""Seconds for which an idle page is watched: long enough that a hundredth of a core is eight ticks of the kernel."""
IDLE_SHARE = 0.01
"""Of one core: what an idle page may cost the replica that answers it."""
LOOKS = 3
"""A look may meet something else that the replica does; what a page itself costs is there at each."""


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "console") as running:
        yield running


def value(service: Service, name: str, reduction: str, **fields: str) -> float:
    """Returns one figure of the metric query."""
    query = {"name": name, "by": "", "reduce": reduction} | fields
    series: list[dict[str, Any]] = service.http.get("/metrics/query", params=query).json()["series"]
    return float(series[0]["values"][reduction])


def shown(page: Page, selector: str) -> str:
    return page.locator(selector).first.inner_text()


def test_the_page_shows_the_figures_of_the_metric_query_while_games_are_learned_from(
    service: Service, tmp_path: Path
) -> None:
    with playing(service.url, games=GAMES), training(service, tmp_path):
        updates(service, lambda found: len(found) > 3, "updates")
        with chromium() as browser, looking(browser, f"{service.url}/console") as looked:
            page = looked.page
            expect(page.locator("[data-figure=sessions]")).to_have_text(str(GAMES))
            expect(page.locator("[data-figure=ticks]")).to_have_text(re.compile(r"^[1-9][\d,.]* /s$"))
            page.goto(f"{service.url}/console#/learning")
            expect(page.locator("canvas").first).to_be_visible()
            page.goto(f"{service.url}/console#/models")
            expect(page.get_by_role("table", name="Versions of main").locator("tbody tr").first).to_be_visible()
    wait_until(lambda: value(service, "sparring_sessions", "total") == 0, "all games are over")
    with chromium() as browser, looking(browser, f"{service.url}/console") as looked:
        page = looked.page
        expect(page.locator("[data-figure=sessions]")).to_have_text("0")
        expect(page.locator("[data-figure=starts]")).to_have_text(re.compile(r"\d"))
        ticks, starts = (value(service, f"sparring_{name}_total", "sum") for name in ("ticks", "starts"))
        learned = value(service, "sparring_updates_total", "sum", by="trainer")
        assert shown(page, "[data-figure=starts]") == f"{starts:,.0f}"
        expect(page.get_by_text(f"{ticks:,.0f} in all")).to_be_visible()
        expect(page.locator("[data-part-figure='trainer:main updates']")).to_have_text(f"{learned:,.0f}")


def test_an_idle_page_costs_the_service_next_to_nothing(service: Service) -> None:
    process = psutil.Process(service.status()["pid"])
    costs = []
    with chromium() as browser:
        while min(costs, default=1.0) >= IDLE_SHARE and len(costs) < LOOKS:
            before = _busy(process, browser.new_page())
            with looking(browser, f"{service.url}/console") as looked:
                looked.page.wait_for_selector("[data-part]")
                costs.append(_busy(process, looked.page) - before)
    assert min(costs) < IDLE_SHARE


def _busy(process: psutil.Process, page: Page) -> float:
    """Returns the share of a core that a process uses while a page is looked at."""
    start = process.cpu_times()
    page.wait_for_timeout(WATCHED_S * 1000)
    end = process.cpu_times()
    return (end.user + end.system - start.user - start.system) / WATCHED_S
