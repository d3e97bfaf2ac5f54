"""The page at `/` in a real Chromium: paste, judge, look at the evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from browser_control import colours, resize, wait
from service_process import REPEATS, ServiceProcess

Open = Callable[[str], Any]


def judge(page: Any, output: str) -> None:
    page.find_element("css selector", "#task option[value=text]").click()
    area = page.find_element("css selector", "#field-output")
    page.execute_script("arguments[0].value = arguments[1]", area, output)
    page.find_element("id", "go").click()
    wait(page, "return document.querySelector('#state').textContent.startsWith('Done')")


def test_paste_and_see_scores_and_evidence(service: ServiceProcess, open_page: Open) -> None:
    page = open_page(service.url)
    judge(page, "🌉 " + REPEATS)
    names = [tab.text for tab in page.find_elements("css selector", "#scores [role=tab] span:first-child")]
    assert "non-redundancy" in names
    page.find_elements("css selector", "#scores [role=tab]")[names.index("non-redundancy")].click()
    assert "−0.200" in page.find_element("css selector", "#scores [aria-selected=true]").text
    pair = page.find_element("css selector", "#view .ev.pair")
    assert pair.text.startswith("The old bridge is closed for long")
    pair.click()
    assert page.find_element("css selector", "#view .lit-other").text.endswith(
        "The old bridge is closed for repair today."
    )


def test_hostile_paste_stays_text(service: ServiceProcess, open_page: Open) -> None:
    page = open_page(service.url)
    judge(page, "<img src=x onerror=window.hacked=1></textarea><script>window.hacked=1</script>")
    assert page.execute_script("return window.hacked") is None
    assert "onerror" in page.find_element("css selector", "#view .output .text").text


def test_phone_and_dark(service: ServiceProcess, open_page: Open, chromium: Any) -> None:
    resize(chromium, 375, 780)
    colours(chromium, "dark")
    page = open_page(service.url)
    judge(page, REPEATS)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 375
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(19, 20, 23)"


def test_an_empty_output_is_said(service: ServiceProcess, open_page: Open) -> None:
    page = open_page(service.url)
    page.find_element("id", "go").click()
    assert "no output" in page.find_element("id", "state").text
