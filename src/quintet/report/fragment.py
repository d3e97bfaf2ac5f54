"""A result as a piece of HTML for notebooks: the summary, the chart of means, and the weakest example with evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from quintet.core.blend import ADDS
from quintet.core.example import Example
from quintet.core.item import Scored
from quintet.core.result import Column, Result
from quintet.core.score import Score, Span
from quintet.report import sections
from quintet.report.charts import means_chart, number
from quintet.report.gather import Gathered, gather
from quintet.report.payload import span_scales
from quintet.report.statistics import summarize

SHOWN_CHARACTERS = 2000
FAINT = 0.4
POINTED_AT = ("not entailed", "unsupported", "reads badly", "unlikely", "order")
POINTED_AT += ("contradicted", "not in the source", "cannot tell", "at fault")
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
    parts = [_STYLE, sections.summary_table(summaries), sections.left_out(gathered)]
    if len(gathered.systems) > 1:
        parts += [f"<div><b>{escape(s.column.label)}</b>{means_chart(s)}</div>" for s in summaries]
    parts.append(_weakest(gathered))
    parts.append(sections.signatures(gathered))
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
        f'<td class="n">{_signed(pulls[name]) if name in pulls else ""}</td></tr>'
        for name, value in sorted(plain, key=lambda part: pulls.get(part[0], 0.0))
    )
    head = '<tr><th>Sub-score</th><th class="n">value</th><th class="n">adds</th></tr>' if pulls else ""
    return f"<table>{head}{rows}</table>" if rows else ""


def _signed(value: float) -> str:
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
