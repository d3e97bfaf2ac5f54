"""Puts a report together: one file, no network, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from quintet._version import __version__
from quintet.core.blend import ADDS
from quintet.core.example import Example
from quintet.core.item import Scored
from quintet.core.result import Column, Result
from quintet.core.score import Score, Span
from quintet.io.atomic import Target
from quintet.report.charts import (
    ColumnSummary,
    compare_systems,
    correlations,
    heatmap,
    histogram,
    is_significant,
    means_chart,
    number,
    sparkline,
    summarize,
)
from quintet.report.gather import SHOWN_EXAMPLES, Gathered, Gatherer, gather, pack, payload, span_scales
from quintet.runner.plan import Plan
from quintet.stats.compare import Difference

# The parts of a report that need no script: summary, charts, systems. Every text is escaped where it enters.


def summary_table(summaries: Sequence[ColumnSummary]) -> str:
    head = (
        '<thead><tr><th scope="col">Dimension</th><th scope="col" class="n">Mean</th>'
        '<th scope="col" class="n">95 % interval</th><th scope="col">Distribution</th>'
        '<th scope="col" class="n">Scored</th></tr></thead>'
    )
    return f'<table class="summary">{head}<tbody>{"".join(map(_summary_row, summaries))}</tbody></table>'


def _summary_row(summary: ColumnSummary) -> str:
    found = summary.overall
    missing = f' <span class="warn">{summary.missing} missing</span>' if summary.missing else ""
    lower = "" if summary.column.higher_is_better else ' <span class="soft">(lower is better)</span>'

    def interval(between: str) -> str:
        return f"{number(found.low)}{between}{number(found.high)}" if found.n > 1 else "–"

    question = f'<div class="soft">{escape(summary.column.question)}</div>' if summary.column.question else ""
    return (
        f'<tr><th scope="row">{escape(summary.column.label)}{lower}{question}</th>'
        f'<td class="n big">{number(found.mean)}<span class="narrow" aria-hidden="true">'
        f"{interval('–')}</span></td>"
        f'<td class="n">{interval(" to ")}</td>'
        f"<td>{sparkline(summary)}</td>"
        f'<td class="n">{found.n:,}{missing}</td></tr>'
    )


def signatures(gathered: Gathered) -> str:
    """One line per distinct signature, with the columns it belongs to."""
    owners: dict[str, list[str]] = {}
    for column in gathered.columns:
        owners.setdefault(column.signature, []).append(column.label)
    lines = "".join(
        f"<li><span>{escape(', '.join(labels))}</span><code>{escape(line)}</code></li>"
        for line, labels in owners.items()
    )
    about = "Signatures: what gives the same numbers again"
    return f'<details class="signatures"><summary>{about}</summary><ul>{lines}</ul></details>'


def left_out(gathered: Gathered) -> str:
    if not gathered.left_out:
        return ""
    items = "".join(f"<li><b>{escape(k)}</b>: {escape(v)}</li>" for k, v in gathered.left_out.items())
    return f'<div class="note"><p>Not scored</p><ul>{items}</ul></div>'


def chart_section(gathered: Gathered, summaries: Sequence[ColumnSummary]) -> str:
    means = "".join(_figure(s, means_chart(s)) for s in summaries)
    spread = "".join(_figure(s, histogram(s)) for s in summaries)
    parts = [f'<h3>Means with 95 % intervals</h3><div class="figures wide">{means}</div>']
    parts.append(f'<h3>Distributions</h3><div class="figures">{spread}</div>')
    labels = [column.label for column in gathered.columns]
    if len(labels) > 1 and gathered.rows > 2:
        drawn = heatmap(labels, correlations(gathered))
        parts.append(f'<h3>Rank correlation between dimensions</h3><div class="scroll">{drawn}</div>')
    return "".join(parts)


def _figure(summary: ColumnSummary, drawn: str) -> str:
    return f"<figure><figcaption>{escape(summary.column.label)}</figcaption>{drawn}</figure>" if drawn else ""


def systems_section(gathered: Gathered, summaries: Sequence[ColumnSummary], found: Sequence[Difference]) -> str:
    if not found:
        return ""
    about = (
        '<p class="soft lead">Differences of means, paired by input, with a sign-flip test. '
        "Bold: p &lt; 0.05 after Holm’s correction over all dimensions and pairs.</p>"
    )
    if len(gathered.systems) == 2:
        return about + _two_systems(found)
    blocks = []
    for place, summary in enumerate(summaries):
        mine = [c for c in found if c.dimension == summary.column.label]
        if mine:
            opened = " open" if place == 0 else ""
            name = escape(summary.column.label)
            blocks.append(
                f'<details class="compare"{opened}><summary>{name}</summary>'
                f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{_matrix(summary, mine)}</div>'
                "</details>"
            )
    return about + "".join(blocks)


def _two_systems(found: Sequence[Difference]) -> str:
    first, second = escape(found[0].first), escape(found[0].second)
    rows = "".join(
        f'<tr class="{"sure" if is_significant(c) else ""}"><th scope="row">{escape(c.dimension)}</th>'
        f'<td class="n">{_signed(c.difference)}</td><td class="n">{_signed(c.low)} to {_signed(c.high)}</td>'
        f'<td class="n">{escape(_p(c.p_holm))}</td><td class="n">{c.wins} / {c.ties} / {c.losses}</td></tr>'
        for c in found
    )
    return (
        f'<table class="pairs"><caption>{first} minus {second}</caption><thead><tr><th scope="col">Dimension</th>'
        '<th scope="col" class="n">Difference</th><th scope="col" class="n">95 % interval</th>'
        '<th scope="col" class="n">p (Holm)</th><th scope="col" class="n">Better / same / worse</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _matrix(summary: ColumnSummary, found: Sequence[Difference]) -> str:
    """Row minus column, systems from best to worst."""
    names = [name for name, estimate in summary.by_system if estimate.n]
    cells: dict[tuple[str, str], str] = {}
    for c in found:
        for row, column, sign in ((c.first, c.second, 1.0), (c.second, c.first, -1.0)):
            cells[row, column] = _difference_cell(c, row, column, sign, summary.column.higher_is_better)
    head = "".join(f'<th scope="col" class="n" title="{escape(name)}">{escape(_short(name))}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row" title="{escape(name)}">{escape(_short(name))}</th>'
        + "".join(cells.get((name, other), '<td class="itself"></td>') for other in names)
        + "</tr>"
        for name in names
    )
    top = f'<thead><tr><td class="soft">row − column</td>{head}</tr></thead>'
    return f'<table class="matrix">{top}<tbody>{body}</tbody></table>'


def _difference_cell(c: Difference, row: str, column: str, sign: float, up: bool) -> str:
    difference = sign * c.difference
    low, high = sorted((sign * c.low, sign * c.high))
    kind = "" if not is_significant(c) else "sure better" if (difference > 0) == up else "sure worse"
    about = (
        f"{row} − {column}: {_signed(difference)} ({_signed(low)} to {_signed(high)}), p = {_p(c.p_holm)}, n = {c.n}"
    )
    return f'<td class="n {kind}" title="{escape(about)}">{_signed(difference)}</td>'


def _short(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _signed(value: float) -> str:
    return ("+" if value > 0 and number(value).strip("0.") else "") + number(value)


def _p(value: float) -> str:
    return "< 0.01" if value < 0.01 else f"{value:.2f}"


SCRIPTS = ("theme.js", "payload.js", "dom.js", "text.js", "example.js", "table.js", "lists.js", "page.js")
TITLE = "quintet report"


class ReportWriter:
    """For a run that goes row by row: `write` each, and the file appears when the `with` block ends well."""

    def __init__(
        self, path: str | os.PathLike[str], plan: Plan, title: str = TITLE, shown: int = SHOWN_EXAMPLES
    ) -> None:
        self._plan, self._title = plan, title
        self._gatherer = Gatherer(tuple(plan.described.values()), shown)
        self._target = Target(path)

    def write(self, scored: Scored) -> None:
        self._gatherer.add(scored)

    def __enter__(self) -> ReportWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                page = page_of(self._gatherer.gathered(self._plan.left_out), self._title)
                with self._target.told():
                    self._target.stream.write(page.encode("utf-8"))
                self._target.finish()
        finally:
            self._target.abandon()


def write_report(
    path: str | os.PathLike[str],
    plan: Plan | Result,
    rows: Iterable[Scored] | None = None,
    title: str = TITLE,
    shown: int = SHOWN_EXAMPLES,
    since: str = "",
) -> None:
    """Writes the report of a plan's `rows`, read once, or of a Result. The file appears only when it is whole.

    `since` is the section of what has changed since a baseline (regression_section)."""
    target = Target(path)
    try:
        page = render_report(plan, rows, title, shown, since)
        with target.told():
            target.stream.write(page.encode("utf-8"))
        target.finish()
    finally:
        target.abandon()


def render_report(
    plan: Plan | Result,
    rows: Iterable[Scored] | None = None,
    title: str = TITLE,
    shown: int = SHOWN_EXAMPLES,
    since: str = "",
) -> str:
    columns = plan.columns if isinstance(plan, Result) else plan.described
    if rows is None:
        rows = plan.rows if isinstance(plan, Result) else ()
    return page_of(gather(tuple(columns.values()), rows, plan.left_out, shown), title, since)


def page_of(gathered: Gathered, title: str, since: str = "") -> str:
    summaries = summarize(gathered)
    systems = systems_section(gathered, summaries, compare_systems(gathered))
    script = "".join(asset(name) for name in SCRIPTS)
    parts = {
        "title": escape(_clean(title)),
        "policy": policy(script),
        "style": asset("report.css"),
        "subtitle": escape(_subtitle(gathered)),
        "summary": summary_table(summaries),
        "signatures": signatures(gathered),
        "left_out": left_out(gathered),
        "since": since,
        "since_link": '<a href="#since">Since the baseline</a>' if since else "",
        "charts": chart_section(gathered, summaries),
        "systems": f'<section id="systems"><h2>Systems</h2>{systems}</section>' if systems else "",
        "systems_link": '<a href="#systems">Systems</a>' if systems else "",
        "sample": escape(_sample(gathered)),
        "version": escape(__version__),
        "data": pack(payload(gathered)),
        "script": script,
    }
    page = asset("report.html")
    # One pass over the template: what a text brings in is never searched for marks again.
    pieces = page.split("{{")
    return _clean(pieces[0] + "".join(parts[name] + rest for name, rest in (p.split("}}", 1) for p in pieces[1:])))


def asset(name: str) -> str:
    return files("quintet.report").joinpath("assets", name).read_text(encoding="utf-8")


def policy(script: str) -> str:
    """Only our own script runs and nothing is fetched, even if a text should ever get out of its place."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "base-uri 'none'")
    return "; ".join((*rules, "form-action 'none'"))


def _subtitle(gathered: Gathered) -> str:
    count = f"{gathered.rows:,} example{'' if gathered.rows == 1 else 's'}"
    systems = f" · {len(gathered.systems)} systems" if len(gathered.systems) > 1 else ""
    return f"{count}{systems} · {len(gathered.columns)} dimension{'' if len(gathered.columns) == 1 else 's'}"


def _sample(gathered: Gathered) -> str:
    if len(gathered.kept) == gathered.rows:
        return ""
    return (
        f"{len(gathered.kept):,} of {gathered.rows:,} examples are listed here: the worst and best of each dimension "
        "and a random sample. All figures above are over all rows."
    )


def _clean(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


# A result as a piece of HTML for notebooks: the summary, the chart of means, and the weakest example with evidence.

SHOWN_CHARACTERS = 2000
FAINT = 0.4
POINTED_AT = ("not entailed", "unsupported", "reads badly", "unlikely", "order",
              "contradicted", "not in the source", "cannot tell", "at fault")  # fmt: skip
"""As in assets/text.js: evidence that is given only where something is wrong."""

_STYLE = """<style>
.quintet{--q-weak:214 84 12;--q-soft:#777;--q-line:#8884;--q-bar:#8fa6e0;--q-dot:#2b55c4;max-width:900px;font-size:14px}
.quintet table{border-collapse:collapse;margin:4px 0 8px}
.quintet th,.quintet td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--q-line);background:none}
.quintet .n{text-align:right;font-variant-numeric:tabular-nums}.quintet .soft{color:var(--q-soft);font-weight:400}
.quintet svg{display:block;max-width:100%;height:auto;font-size:12px}.quintet svg text{fill:currentColor}
.quintet svg .soft,.quintet svg .tick{fill:var(--q-soft)}.quintet .grid{stroke:var(--q-line)}
.quintet .whisker{stroke:var(--q-bar);stroke-width:5;stroke-linecap:round}.quintet .dot{fill:var(--q-dot)}
.quintet .column{fill:var(--q-bar)}.quintet .text{white-space:pre-wrap;line-height:1.6;max-width:75ch}
.quintet .weak{background:rgb(var(--q-weak)/.25);border-bottom:2px solid rgb(var(--q-weak)/.8)}
.quintet .narrow{display:none}.quintet code{font-size:12px;overflow-wrap:anywhere}.quintet .spark{width:112px}
</style>"""


def html_fragment(result: Result) -> str:
    """For `_repr_html_`: no script, no id, nothing that could reach beyond its own box."""
    gathered = gather(tuple(result.columns.values()), result.rows, result.left_out)
    summaries = summarize(gathered)
    parts = [_STYLE, summary_table(summaries), left_out(gathered)]
    if len(gathered.systems) > 1:
        parts += [f"<div><b>{escape(s.column.label)}</b>{means_chart(s)}</div>" for s in summaries]
    parts.append(_weakest(gathered))
    parts.append(signatures(gathered))
    whole = f'<div class="quintet">{"".join(parts)}</div>'
    return whole.encode("utf-8", "replace").decode("utf-8")


def _weakest(gathered: Gathered) -> str:
    """The example with the worst score among those that can show why."""
    for column in gathered.columns:
        able = [
            (scored.scores[column.label].value, position, scored)
            for position, scored in gathered.kept
            if scored.scores[column.label].spans and not scored.scores[column.label].missing
        ]
        if able:
            sign = 1 if column.higher_is_better else -1
            value, _, scored = min(able, key=lambda entry: (sign * entry[0], entry[1]))
            return _example(scored, column, value, span_scales(gathered)[column.label])
    return ""


def _example(scored: Scored, column: Column, value: float, scale: dict[str, list[float]]) -> str:
    example = scored.item.example
    if example is None:
        return ""
    label, worst = column.label, "Lowest" if column.higher_is_better else "Highest"
    weak = [s for s in scored.scores[label].spans if s.field == "output" and _is_weak(s, scale)]
    weak = [s for s in weak if s.kind == "word"] or weak  # a word says more than the sentence around it
    return (
        f'<p><b>{worst} {escape(label)}</b>: {number(value)} <span class="soft">{escape(example.id)}</span></p>'
        f'<div class="text">{marked(example, weak)}</div>{_breakdown(scored.scores[label])}'
    )


def _breakdown(score: Score) -> str:
    """Sub-scores; of a blend what each signal added, from what lowered it most to what raised it most."""
    pulls = {name.removesuffix(ADDS): value for name, value in score.parts.items() if name.endswith(ADDS)}
    plain = [(name, value) for name, value in score.parts.items() if not name.endswith(ADDS)]
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n soft">{number(value)}</td>'
        f'<td class="n">{_cell(pulls[name]) if name in pulls else ""}</td></tr>'
        for name, value in sorted(plain, key=lambda part: pulls.get(part[0], 0.0))
    )
    head = '<tr><th>Sub-score</th><th class="n">value</th><th class="n">adds</th></tr>' if pulls else ""
    return f"<table>{head}{rows}</table>" if rows else ""


def _cell(value: float) -> str:
    return ("+" if value > 0 else "") + number(value, 2)


def _is_weak(span: Span, scale: dict[str, list[float]]) -> bool:
    if not math.isfinite(span.value):
        return False
    if span.kind == "pair":
        return span.value < 0
    if span.note == "supported":
        return False
    if span.note in POINTED_AT:
        return True
    low, high = scale.get(span.kind, [0.0, 0.0])
    return high - low > 1e-9 and (span.value - low) / (high - low) < FAINT


def marked(example: Example, spans: Sequence[Span]) -> str:
    """The output with weak pieces marked; overlapping pieces are marked once."""
    text, done, pieces = example.output[:SHOWN_CHARACTERS], 0, []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        start, end = max(span.start, done), min(span.end, len(text))
        if start >= end:
            continue
        told = f"{number(span.value)}{_support(example, span)}"
        pieces.append(
            f'{escape(text[done:start])}<span class="weak" title="{escape(told)}">{escape(text[start:end])}</span>'
        )
        done = end
    more = "…" if len(example.output) > len(text) else ""
    return "".join(pieces) + escape(text[done:]) + more


def _support(example: Example, span: Span) -> str:
    if span.other is None:
        return ""
    field, start, end = span.other
    return f" ~ {example.text(field)[start:end][:80]} ({field})"
