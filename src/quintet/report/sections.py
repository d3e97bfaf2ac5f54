"""The parts of a report that need no script: summary, charts, systems. Every text is escaped where it enters."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from quintet.report.charts import heatmap, histogram, means_chart, number, sparkline
from quintet.report.gather import Gathered
from quintet.report.statistics import ColumnSummary, correlations, is_significant
from quintet.stats.compare import Difference


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
