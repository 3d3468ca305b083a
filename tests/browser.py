"""Debian's Chromium, driven by Playwright: what the browser tests look through."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

CHROMIUM: Final = Path("/usr/bin/chromium")
WAIT_MS: Final = 15_000
"""Longest wait for what a page is to show, on a busy machine."""
DESKTOP: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
MISSING: Final = "status of 404"
"""In what a browser says of an answer that tells that there is nothing."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Runs a browser without a window; root has no sandbox."""
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        expect.set_options(timeout=WAIT_MS)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=args)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Looked:
    """A page, and what the browser complained of: scripts that failed, and what the policy kept out."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def text_of(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()


@contextmanager
def looking(browser: Browser, url: str, **options: Any) -> Iterator[Looked]:
    """Opens a page in a window of its own; the end of the block closes it, and no complaint is left unseen."""
    context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce"} | options)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    looked = Looked(page)

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and MISSING not in message.text:
            looked.complaints.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: looked.complaints.append(str(error)))
    try:
        page.goto(url)
        yield looked
    finally:
        context.close()
    assert looked.complaints == []
