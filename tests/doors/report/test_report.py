"""The file: same bytes, no network, nothing a text can do to it, small and quick; and the figures in it."""

import json
import math
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import report_rows

import quintet
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.result import Column, Result
from quintet.core.score import Score, Span, no_score
from quintet.errors import InputError
from quintet.report import ReportWriter, html_fragment, render_report, write_report
from quintet.report.charts import compare_systems, correlations, number, summarize, ticks
from quintet.report.gather import gather, payload
from quintet.stats.compare import System, compare
from quintet.stats.significance import mean_interval

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u2028<!--\ud800 {{data}} '\"&"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page)
    return parser.seen


def hostile_rows() -> list[Scored]:
    example = Example(HOSTILE, HOSTILE, id=HOSTILE, system=HOSTILE, group=HOSTILE)
    other = Example("fine", HOSTILE, id="2", system="</title>", group=HOSTILE)
    scores = report_rows.score_by_words(example)
    flagged = {**scores, "fluency": Score(0.5, parts={HOSTILE: 0.5}, flags=(HOSTILE,), cut={HOSTILE: 3})}
    return [Scored(Item(example), flagged), report_rows.row(other)] * 3


def test_same_input_same_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, report_rows.plan(), iter(report_rows.small_rows(2)), "Title")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_row_by_row_gives_the_same_file(tmp_path: Path) -> None:
    rows = report_rows.small_rows(2)
    write_report(tmp_path / "a.html", report_rows.plan(), rows, "Title")
    with ReportWriter(tmp_path / "b.html", report_rows.plan(), "Title") as report:
        for scored in rows:
            report.write(scored)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with pytest.raises(InputError), ReportWriter(tmp_path / "c.html", report_rows.plan()):
        raise InputError("stopped half-way")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_asks_the_network_for_nothing() -> None:
    page = render_report(report_rows.plan(), report_rows.small_rows(2))
    assert not re.search(r"https?://|//cdn|@import|url\(", page)
    for _, attributes in tags(page):
        assert not {"src", "srcset", "data", "action"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")


def test_no_text_becomes_markup() -> None:
    calm = Counter(tags(render_report(report_rows.plan(), hostile_twin(), "plain title")))
    page = render_report(report_rows.plan(), hostile_rows(), HOSTILE)
    assert Counter(tags(page)) == calm
    page.encode("utf-8")


def Counter(seen: list[tuple[str, dict[str, str | None]]]) -> dict[str, int]:  # noqa: N802
    counts: dict[str, int] = {}
    for tag, attributes in seen:
        assert not any(name.startswith("on") for name in attributes)
        counts[tag] = counts.get(tag, 0) + 1
    return counts


def hostile_twin() -> list[Scored]:
    """The same rows in shape, with harmless texts."""
    clean = {"other": "x", "</title>": "y"}
    rows = []
    for scored in hostile_rows():
        example = scored.item.example
        assert example is not None
        system = clean.get(example.system or "", "h")
        mild = Example("a", "b", id="i", system=system, group="g")
        rows.append(Scored(Item(mild), scored.scores))
    return rows


def test_a_notebook_piece_has_no_script_and_no_injected_tag() -> None:
    rows = hostile_rows()
    columns = {label: Column(label, HOSTILE, HOSTILE) for label in rows[0].scores}
    fragment = html_fragment(Result(rows, columns, {HOSTILE: HOSTILE}))
    found = {tag for tag, _ in tags(fragment)}
    assert not found & {"script", "img", "iframe", "object", "link"}
    assert "<script>window" not in fragment
    fragment.encode("utf-8")


def test_notebook_piece_marks_the_weak_words_of_the_lowest_example() -> None:
    rows = report_rows.small_rows(2)
    fragment = html_fragment(Result(rows, {label: Column(label, "sig") for label in rows[0].scores}))
    lowest = min(rows, key=lambda r: r.scores["consistency"].value)
    assert lowest.item.example is not None
    assert lowest.item.example.id in fragment
    assert '<span class="weak" title="' in fragment


def test_notebook_piece_shows_what_a_blend_was_made_of() -> None:
    parts = {"overlap": 0.11, "overlap adds": -0.68, "likelihood": -3.3, "likelihood adds": 0.43}
    spans = (Span(0, 3, 0.1), Span(4, 8, 0.9), Span(0, 8, 0.2, "sentence", note="not entailed"))
    rows = [Scored(Item(Example("Ten men.", "Six", id="1")), {"c": Score(0.1, spans, parts)})]
    page = html_fragment(Result(rows, {"c": Column("c", "c|v:1")}, {}))
    assert re.findall(r"<td>(\w+)</td>", page) == ["overlap", "likelihood"]
    assert "−0.68" in page
    assert "+0.43" in page
    assert '<span class="weak" title="0.100">Ten</span> men.' in page


def test_a_result_keeps_the_direction_of_its_columns() -> None:
    texts = {"best": "The bridge opens in May.", "worst": "A dragon ate it, they say, at noon."}
    rows = [{"id": name, "output": text, "reference": texts["best"]} for name, text in texts.items()]
    result = quintet.score(rows, metrics=["ter", "rouge-1"], cache=False)
    assert {label: c.higher_is_better for label, c in result.columns.items()} == {"ter": False, "rouge-1": True}
    assert result.columns["ter"].question == "How much editing would the output need?"
    data = payload(gather(tuple(result.columns.values()), result.rows))
    assert [(c["label"], c["better"]) for c in data["columns"]] == [("ter", -1), ("rouge-1", 1)]


@pytest.mark.parametrize(("better", "word", "shown"), [(True, "Lowest", "low"), (False, "Highest", "high")])
def test_a_notebook_shows_the_worst_example(better: bool, word: str, shown: str) -> None:
    rows = [
        Scored(Item(Example("Ten men.", id=name)), {"c": Score(value, (Span(0, 3, 0.1),))})
        for name, value in (("low", 0.1), ("high", 0.9))
    ]
    page = html_fragment(Result(rows, {"c": Column("c", "c|v:1", higher_is_better=better)}))
    assert re.search(rf"<b>{word} c</b>: [\d.]+ <span class=\"soft\">{shown}</span>", page)


def test_a_thousand_news_articles_stay_under_five_megabytes(tmp_path: Path) -> None:
    rows = report_rows.many_rows(1000, 700, 60)
    start = time.process_time()
    write_report(tmp_path / "big.html", report_rows.plan(), rows)
    assert (tmp_path / "big.html").stat().st_size < 5_000_000
    assert time.process_time() - start < 30


def test_rows_without_scores_and_reports_without_rows_are_told(tmp_path: Path) -> None:
    labels = [column.label for column in report_rows.plan().columns]
    bad = Scored(Item(None, "row 2: broken"), {label: no_score("row 2: broken") for label in labels})
    page = render_report(report_rows.plan(), [*report_rows.small_rows(1), bad])
    assert "1 missing" in page
    assert "0 examples" in render_report(report_rows.plan(), [])
    infinite = Scored(Item(Example("x", "y", id="1")), {label: Score(-math.inf) for label in labels})
    assert "1 example" in render_report(report_rows.plan(), [infinite])


def test_the_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield report_rows.small_rows(1)[0]
        raise InputError("bad row")

    with pytest.raises(InputError):
        write_report(tmp_path / "r.html", report_rows.plan(), broken())
    assert list(tmp_path.iterdir()) == []


def test_figures_are_those_of_the_values() -> None:
    gathered = gather(tuple(report_rows.plan().described.values()), report_rows.small_rows(6))
    values = gathered.values["consistency"]
    (found,) = (s for s in summarize(gathered) if s.column.label == "consistency")
    assert found.overall.mean == pytest.approx(values.mean())
    assert found.overall.low < values.mean() < found.overall.high
    assert sum(found.counts) == len(values)
    means = [e.mean for _, e in found.by_system]
    assert means == sorted(means, reverse=True)
    scipy = pytest.importorskip("scipy.stats")
    want = scipy.spearmanr(values, gathered.values["fluency"])[0]
    assert correlations(gathered)[0, 2] == pytest.approx(want)


def test_systems_are_compared_by_input_and_corrected_over_everything() -> None:
    rows = report_rows.small_rows(8)
    found = compare_systems(gather(tuple(report_rows.plan().described.values()), rows))
    assert len(found) == 3 * 4
    (one,) = (c for c in found if (c.dimension, c.first, c.second) == ("consistency", "pointer-lead", "tiny-lm"))

    def system(name: str) -> System:
        mine = [r for r in rows if r.item.example and r.item.example.system == name]
        return System(name, {"consistency": [r.scores["consistency"].value for r in mine]})

    (want,) = compare([system("pointer-lead"), system("tiny-lm")])
    assert (one.difference, one.p, one.n) == (pytest.approx(want.difference), want.p, want.n)
    assert one.p_holm >= one.p


def test_systems_without_a_common_input_are_not_compared() -> None:
    rows = [report_rows.row(Example("a b c", f"source {i}", id=str(i), system="AB"[i % 2])) for i in range(10)]
    assert compare_systems(gather(tuple(report_rows.plan().described.values()), rows)) == []
    assert 'id="systems"' not in render_report(report_rows.plan(), rows)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.43, -0.41), (0.0, 1234.5), (1e-7, 3e-7), (5.0, 5.0)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-9 <= t <= high + 1e-9 for t in found)
    if high > low:
        steps = np.diff(found)
        assert np.allclose(steps, steps[0] if len(steps) else 0)


def test_numbers_as_people_write_them() -> None:
    assert [number(v) for v in (0.5, -0.25, -0.0001, math.nan)] == ["0.500", "−0.250", "0.000", "–"]


def test_policy_names_the_script_that_is_there() -> None:
    import base64
    import hashlib

    page = render_report(report_rows.plan(), report_rows.small_rows(1))
    script = page.rsplit("<script>", 1)[1].rsplit("</script>", 1)[0]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in page
    assert json.dumps("{{") not in page


def test_the_same_values_get_the_same_interval_in_any_order() -> None:
    """The terminal gathers by system, the report row by row; both must show one interval."""
    values = np.random.default_rng(1).random(40)
    assert mean_interval(values) == mean_interval(values[::-1])
