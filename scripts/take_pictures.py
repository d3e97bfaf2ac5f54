"""The pictures of the README: the report, one example of it, and the page of the service, in a real Chromium.

    python scripts/take_pictures.py [FOLDER]        needs the extras serve and test, chromium and chromedriver

The scores in them are those of the bundled models on examples/, so run it again whenever these change.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WIDTH = 1200
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
)
QUINTET = (sys.executable, "-m", "quintet")


def main(folder: Path) -> None:
    with browser() as page, tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report.html"
        command = [*QUINTET, "score", str(ROOT / "examples" / "summarization.jsonl"), "--task", "summarization"]
        subprocess.run([*command, "--report", str(report)], check=True, stdout=subprocess.DEVNULL)
        page.get(report.as_uri())
        until(page, "return document.documentElement.dataset.ready === 'yes'")
        picture(page, folder / "report.png", 1180)
        look_at(page, "ferry-inventive", "consistency", "forty")
        picture(page, folder / "example.png", 960)
        with service() as address:
            page.get(address)
            until(page, "return document.documentElement.dataset.ready === 'yes'")
            page.find_element("id", "sample").click()
            page.find_element("id", "go").click()
            until(page, "return document.querySelector('#state').textContent.startsWith('Done')", 300)
            size(page, 1080)
            tab(page, "#scores", "consistency")
            point_at(page, "#view .output .ev", "nine")
            picture(page, folder / "page.png", 1080)


@contextmanager
def browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size(driver, 1000)
        yield driver
    finally:
        driver.quit()


@contextmanager
def service() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen([*QUINTET, "serve", "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/healthz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://localhost:{port}/"
    finally:
        running.terminate()
        running.wait(60)


def size(page: Any, height: int) -> None:
    metrics = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def until(page: Any, condition: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not page.execute_script(condition):
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain: {condition}")
        time.sleep(0.05)


def look_at(page: Any, row: str, dimension: str, word: str) -> None:
    rows = page.find_elements("css selector", "#table tbody tr")
    page.execute_script("arguments[0].click()", next(line for line in rows if row in line.text))
    tab(page, "dialog", dimension)
    point_at(page, "dialog .output .ev", word)


def tab(page: Any, inside: str, name: str) -> None:
    tabs = page.find_elements("css selector", f"{inside} [role=tab]")
    next(each for each in tabs if name in each.text).click()


def point_at(page: Any, selector: str, word: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    found = [each for each in page.find_elements("css selector", selector) if each.text.strip(".,") == word]
    if found:
        ActionChains(page).move_to_element(found[0]).perform()


def picture(page: Any, path: Path, height: int) -> None:
    size(page, height)
    page.execute_script("scrollTo(0, 0)")
    time.sleep(0.3)
    page.save_screenshot(str(path))
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
