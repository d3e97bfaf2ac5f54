"""The report as people use it: a real Chromium opens the file from disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_rows
from browser_control import colours, resize, wait

from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.score import Score, Span
from quintet.report import write_report

Open = Callable[[Path], Any]
LIGHT_PAPER, DARK_PAPER = "rgb(250, 249, 246)", "rgb(19, 20, 23)"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "small.html"
    write_report(path, report_rows.plan(), report_rows.small_rows(10), "News summaries")
    return path


def all_of(page: Any, selector: str) -> list[Any]:
    return page.find_elements("css selector", selector)


def one(page: Any, selector: str) -> Any:
    return page.find_element("css selector", selector)


def column(page: Any, number: int) -> list[float]:
    cells = all_of(page, f"#table tbody tr td:nth-child({number}) span:first-child")
    return [float(cell.text.replace("−", "-")) for cell in cells]


def press(page: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(page).send_keys(*keys).perform()


def paper(page: Any) -> str:
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_sort_by_click_and_by_choice(open_page: Open, small: Path) -> None:
    page = open_page(small)
    assert len(all_of(page, "#table tbody tr")) == 50
    one(page, "#table thead button[data-key='0']").click()
    first = column(page, 4)
    assert first == sorted(first)
    assert one(page, "#table th:nth-child(4)").get_attribute("aria-sort") == "ascending"
    one(page, "#table thead button[data-key='0']").click()
    assert column(page, 4) == sorted(column(page, 4), reverse=True)
    one(page, "#order option[value='2:up']").click()
    assert column(page, 6) == sorted(column(page, 6))


def test_filter_by_word_system_range_and_notes(open_page: Open, small: Path) -> None:
    page = open_page(small)
    one(page, "#query").send_keys("MUSEUM")
    texts = [row.text for row in all_of(page, "#table tbody tr")]
    assert texts
    assert all("museum" in text for text in texts)
    one(page, "#filters button[type=reset]").click()
    assert one(page, "#count").text == "120 examples"
    one(page, "#system option[value='2']").click()
    assert {cell.text for cell in all_of(page, "#table td.system")} == {"tiny-lm"}
    one(page, "#dimension option[value='0']").click()
    one(page, "#from").send_keys("0.4")
    one(page, "#to").send_keys("0.7")
    values = column(page, 4)
    assert values
    assert all(0.4 <= value <= 0.7 for value in values)
    one(page, "#filters button[type=reset]").click()
    one(page, "#flagged").click()
    assert all(row.text.count("were not seen") for row in all_of(page, "#table tbody tr"))


def test_pages(open_page: Open, small: Path) -> None:
    page = open_page(small)
    first = one(page, "#table tbody tr").get_attribute("data-index")
    one(page, "#after").click()
    one(page, "#after").click()
    assert one(page, "#page").text == "Page 3 of 3"
    assert len(all_of(page, "#table tbody tr")) == 20
    assert one(page, "#table tbody tr").get_attribute("data-index") != first
    assert not one(page, "#after").is_enabled()


def test_hover_shows_what_supports_a_word(open_page: Open, small: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page = open_page(small)
    all_of(page, "#ends-tabs [role=tab]")[0].click()
    one(page, "#ends-lists .item").click()
    word = one(page, "dialog .output .ev.weak")
    ActionChains(page).move_to_element(word).perform()
    lit = one(page, "dialog .source .lit-other")
    told = one(page, "dialog .told").text
    assert word.text in told
    assert lit.text in told
    assert "lit" in word.get_attribute("class").split()
    assert lit.value_of_css_property("background-color") != one(page, "dialog .source .text").value_of_css_property(
        "background-color"
    )


def test_everything_by_keyboard(open_page: Open, small: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = open_page(small)
    page.execute_script("document.querySelector('#flagged').focus()")
    for _ in range(20):
        press(page, Keys.TAB)
        if page.execute_script("return !!document.activeElement.closest('tbody')"):
            break
    press(page, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.execute_script("return document.activeElement.rowIndex") == 3
    press(page, Keys.ENTER)
    assert page.execute_script("return document.querySelector('dialog').open")
    title = one(page, "#example-title").text
    all_of(page, "dialog [role=tab]")[0].click()
    page.execute_script("document.querySelector('dialog [role=tab]').focus()")
    press(page, Keys.TAB)
    assert page.execute_script("return document.activeElement.classList.contains('ev')")
    start = page.execute_script("return document.activeElement.textContent")
    press(page, Keys.ARROW_RIGHT)
    assert page.execute_script("return document.activeElement.textContent") != start
    assert page.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    one(page, "#example-after").send_keys(Keys.ARROW_RIGHT)
    assert one(page, "#example-title").text != title
    press(page, Keys.ESCAPE)
    assert not page.execute_script("return document.querySelector('dialog').open")
    assert page.execute_script("return document.activeElement.rowIndex") == 3


def test_dimension_tabs_show_breakdown_pairs_and_other_systems(open_page: Open, small: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = open_page(small)
    all_of(page, "#ends-tabs [role=tab]")[3].click()
    one(page, "#ends-lists .item").click()
    assert "sentences" in one(page, "dialog .parts").text
    pair = one(page, "dialog .ev.pair")
    pair.click()
    assert all_of(page, "dialog .output .lit-other")
    tab = all_of(page, "dialog [role=tab]")[3]
    tab.send_keys(Keys.HOME)
    assert one(page, "dialog [role=tab][aria-selected=true] span").text == "consistency"
    assert "names backed" in one(page, "dialog .parts").text
    title = one(page, "#example-title").text
    one(page, "dialog .siblings .item").click()
    assert one(page, "#example-title").text != title


def test_a_blend_shows_what_lowered_and_raised_it_and_words_inside_a_sentence(open_page: Open, tmp_path: Path) -> None:
    text = "Ten people drowned."
    spans = (
        Span(0, 3, 0.1, other=("source", 0, 3)),
        Span(4, 10, 0.9),
        Span(11, 19, 0.2),
        Span(0, 19, 0.45, "sentence", note="not entailed"),
    )
    parts = {"likelihood": -3.3, "overlap": 0.11, "likelihood adds": 0.43, "overlap adds": -0.68}
    labels = [column.label for column in report_rows.plan().columns]
    rows = [Scored(Item(Example(text, "Six men", id="1")), {label: Score(0.5, spans, parts) for label in labels})]
    write_report(tmp_path / "b.html", report_rows.plan(), rows)
    page = open_page(tmp_path / "b.html")
    one(page, "#table tbody tr").click()
    shown = [part.text.split() for part in all_of(page, "dialog .blend .part")]
    assert shown == [["overlap", "0.110", "−0.68"], ["likelihood", "−3.300", "+0.43"]]
    assert [all_of(page, f"dialog .pull.{way}") != [] for way in ("down", "up")] == [True, True]
    # The sentence is underlined as weak; blanks between its words are not painted as if they were weak words.
    assert [piece.text for piece in all_of(page, "dialog .output .ev")] == ["Ten", "people", "drowned."]
    assert len(all_of(page, "dialog .output .gap.inside")) == 2
    assert all_of(page, "dialog .weakest .chip")[-1].text.startswith("Ten people drowned.")


def test_light_dark_and_the_switch(open_page: Open, small: Path, chromium: Any) -> None:
    page = open_page(small)
    assert paper(page) == LIGHT_PAPER
    colours(chromium, "dark")
    assert paper(page) == DARK_PAPER
    one(page, "#theme").click()
    assert paper(page) == LIGHT_PAPER
    one(page, "#theme").click()
    colours(chromium, "light")
    assert paper(page) == DARK_PAPER
    assert one(page, "#theme").get_attribute("aria-label") == "Colours: dark"
    one(page, "#theme").click()
    assert paper(page) == LIGHT_PAPER


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(open_page: Open, small: Path, chromium: Any, scheme: str) -> None:
    """Contrast of at least 4.5 to 1 (WCAG AA) for texts on their ground."""
    colours(chromium, scheme)
    page = open_page(small)
    one(page, "#ends-lists .item").click()
    for selector in (
        ".subtitle",
        ".summary .soft",
        "#count",
        "dialog .text",
        ".told",
        ".flags span",
        ".bar nav a",
        ".chip b",
    ):
        ratio = page.execute_script(CONTRAST, selector)
        assert ratio is None or ratio >= 4.5, f"{selector}: {ratio:.2f}"


CONTRAST = """
const element = document.querySelector(arguments[0]);
if (!element) return null;
const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const layers = [];
for (let e = element; e; e = e.parentElement) layers.push(channels(getComputedStyle(e).backgroundColor));
let ground = [255, 255, 255];
for (const [r, g, b, a = 1] of layers.reverse()) ground = ground.map((c, i) => c * (1 - a) + [r, g, b][i] * a);
const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = (c) => c.slice(0, 3).map((v) => linear(v / 255))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground)].sort((x, y) => y - x);
return (a + 0.05) / (b + 0.05);
"""


def test_the_interval_stays_on_a_phone(open_page: Open, small: Path, chromium: Any) -> None:
    page = open_page(small)
    interval = one(page, ".summary tbody td:nth-child(3)").text.replace(" to ", "–")
    assert not one(page, ".summary .narrow").is_displayed()
    resize(chromium, 375, 780)
    assert one(page, ".summary .narrow").text == interval


def test_a_phone_has_no_sideways_scroll(open_page: Open, small: Path, chromium: Any) -> None:
    resize(chromium, 375, 780)
    page = open_page(small)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 375
    row = one(page, "#table tbody tr")
    assert row.size["width"] <= 375
    row.click()
    output, source = one(page, "dialog .panel.output"), one(page, "dialog .panel.source")
    assert source.location["y"] > output.location["y"] + output.size["height"] - 1
    assert page.execute_script("const d = document.querySelector('dialog'); return d.scrollWidth - d.clientWidth") <= 0
    # It opens at the dimension in which the row stands worst, which may have no words.
    next(tab for tab in all_of(page, "dialog .tabs button") if tab.text.startswith("consistency")).click()
    one(page, "dialog .ev.weak, dialog .ev").click()
    assert one(page, "dialog .told b").text


def test_hostile_texts_stay_texts(open_page: Open, tmp_path: Path) -> None:
    from test_report import HOSTILE, hostile_rows

    write_report(tmp_path / "h.html", report_rows.plan(), hostile_rows(), HOSTILE)
    page = open_page(tmp_path / "h.html")
    one(page, "#table tbody tr").click()
    for tab in range(4):
        all_of(page, "dialog [role=tab]")[tab].click()
    assert page.execute_script("return window.hacked") is None
    assert not all_of(page, "dialog img, table img, main img")
    shown = "return document.querySelector('dialog .panel.output .text').textContent.includes('onerror=window.hacked')"
    assert page.execute_script(shown)


def test_offsets_after_an_emoji(open_page: Open, tmp_path: Path) -> None:
    text, source = "😀😀 bridge 🌉 closed", "🌧 the bridge 😀 shut"
    start, there = text.index("closed"), source.index("shut")
    spans = (Span(start, start + 6, 0.1, other=("source", there, there + 4)), Span(3, 9, 0.9))
    labels = [column.label for column in report_rows.plan().columns]
    rows = [Scored(Item(Example(text, source, id="1")), {label: Score(0.5, spans) for label in labels})]
    write_report(tmp_path / "e.html", report_rows.plan(), rows)
    page = open_page(tmp_path / "e.html")
    one(page, "#table tbody tr").click()
    pieces = all_of(page, "dialog .output .ev")
    assert [piece.text for piece in pieces] == ["bridge", "closed"]
    pieces[1].click()
    assert one(page, "dialog .lit-other").text == "shut"


def test_a_link_leads_to_an_example(open_page: Open, small: Path, browser: Any) -> None:
    browser.get("about:blank")
    browser.get(small.as_uri() + "#example-7")
    wait(browser, "return document.documentElement.dataset.ready === 'yes'")
    assert "row 7" in one(browser, "dialog .example-head").text


def test_the_address_can_be_followed_on_the_open_page(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.execute_script("location.hash = '#example-9'")
    wait(page, "return document.querySelector('dialog').open")
    assert "row 9" in one(page, "dialog .example-head").text
    page.execute_script("location.hash = '#summary'")
    wait(page, "return !document.querySelector('dialog').open")


def test_it_opens_at_the_worst_dimension(open_page: Open, tmp_path: Path) -> None:
    labels = [column.label for column in report_rows.plan().columns]
    values = dict.fromkeys(labels, 0.9) | {labels[1]: 0.1}
    rows = [Scored(Item(Example("a b", "a", id=str(k))), {n: Score(v) for n, v in values.items()}) for k in range(3)]
    write_report(tmp_path / "w.html", report_rows.plan(), rows)
    page = open_page(tmp_path / "w.html")
    assert one(page, "#ends-tabs [aria-selected=true]").text == labels[1]
    one(page, "#table tbody tr").click()
    assert one(page, "dialog [role=tab][aria-selected=true] span").text == labels[1]


def test_print_shows_all_and_no_controls(open_page: Open, small: Path) -> None:
    page = open_page(small)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert page.execute_script(shown, ".filters") == "none"
    assert page.execute_script(shown, ".top") == "none"
    assert page.execute_script(shown, ".summary") != "none"
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert not all_of(page, "details:not([open])")
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert all_of(page, "details:not([open])")


def test_a_thousand_examples_open_in_under_two_seconds(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "big.html"
    write_report(path, report_rows.plan(), report_rows.many_rows(1000, 700, 60))
    start = time.perf_counter()
    page = open_page(path)
    assert time.perf_counter() - start < 2
    start = time.perf_counter()
    one(page, "#query").send_keys("news-99")
    assert one(page, "#count").text == "11 of 1,000 examples"
    assert time.perf_counter() - start < 2
