"""A real browser for the report and the page of the service."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_control import colours, resize, wait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
    "--window-size=1280,900",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="browser tests drive Chromium through selenium")
    binary, service = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or service is None:
        pytest.skip("no Chromium with ChromeDriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser at desktop size, in light colours, with an empty log; a page that complains fails the test."""
    resize(chromium, 1280, 900)
    colours(chromium, "light")
    chromium.get_log("browser")
    yield chromium
    complaints = [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]
    chromium.get("about:blank")
    assert not complaints


@pytest.fixture
def open_page(browser: Any) -> Callable[[Path | str], Any]:
    def open_it(where: Path | str) -> Any:
        browser.get(where.as_uri() if isinstance(where, Path) else where)
        wait(browser, "return document.documentElement.dataset.ready === 'yes'")
        return browser

    return open_it
