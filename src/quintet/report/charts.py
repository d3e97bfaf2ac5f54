"""Charts as inline SVG. Colours come from the page's style sheet, so they follow light, dark and print."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations

import numpy as np

from quintet.core.result import Column
from quintet.report.gather import Array, Gathered
from quintet.stats.coefficients import spearman
from quintet.stats.compare import Difference, System, compare
from quintet.stats.correlate import FEWEST
from quintet.stats.significance import holm, mean_interval

# The figures of a report: means with intervals, distributions, correlations, systems against one another.

MOST_BINS = 24
SIGNIFICANT = 0.05
MOST_SYSTEMS = 24
"""More systems than this are charted but not compared with one another."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95 % bootstrap interval; a single value has none, and is shown alone."""

    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnSummary:
    column: Column
    overall: Estimate
    missing: int
    median: float
    edges: Array
    """Bounds of the histogram's bins; empty where there are no values."""
    counts: tuple[int, ...]
    by_system: tuple[tuple[str, Estimate], ...]
    """Best first."""


def estimate(values: Array) -> Estimate:
    known = values[np.isfinite(values)]
    if not len(known):
        return Estimate(0, math.nan, math.nan, math.nan)
    low, high = mean_interval(known) if len(known) > 1 else (float(known[0]), float(known[0]))
    return Estimate(len(known), float(known.mean()), low, high)


def summarize(gathered: Gathered) -> list[ColumnSummary]:
    return [_summarize(column, gathered) for column in gathered.columns]


def _summarize(column: Column, gathered: Gathered) -> ColumnSummary:
    values = gathered.values[column.label]
    known = values[np.isfinite(values)]
    counts, edges = (
        np.histogram(known, _bins(len(known)), _range(column, known)) if len(known) else (np.zeros(0), np.zeros(0))
    )
    by_system = [(name, estimate(values[gathered.system == i])) for i, name in enumerate(gathered.systems)]
    sign = -1.0 if column.higher_is_better else 1.0
    by_system.sort(key=lambda pair: (math.isnan(pair[1].mean), sign * pair[1].mean, pair[0]))
    return ColumnSummary(
        column=column,
        overall=estimate(values),
        missing=int(np.isnan(values).sum()),
        median=float(np.median(known)) if len(known) else math.nan,
        edges=edges,
        counts=tuple(int(c) for c in counts),
        by_system=tuple(by_system),
    )


def _bins(n: int) -> int:
    """Few values in many bins would look like a comb."""
    return max(5, min(MOST_BINS, round(2.5 * math.sqrt(n))))


def _range(column: Column, known: Array) -> tuple[float, float]:
    """The dimension's own range, so that histograms stand on one axis; where it has none, what the values fill."""
    low, high = float(known.min()), float(known.max())
    if column.high is not None and math.isfinite(column.low):
        return min(column.low, low), max(column.high, high)
    return (low - 0.5, high + 0.5) if high - low < 1e-9 else (low, high)


def correlations(gathered: Gathered) -> Array:
    """Spearman between columns over the rows that have both; NaN where there is none."""
    labels = [column.label for column in gathered.columns]
    found = np.full((len(labels), len(labels)), np.nan)
    for i, j in combinations(range(len(labels)), 2):
        x, y = gathered.values[labels[i]], gathered.values[labels[j]]
        both = np.isfinite(x) & np.isfinite(y)
        if both.sum() >= 3:
            found[i, j] = found[j, i] = float(spearman(x[both], y[both]))
    np.fill_diagonal(found, 1.0)
    return found


def compare_systems(gathered: Gathered) -> list[Difference]:
    """Every two systems on every column, paired by input; Holm's correction is over all of them.

    What shares too few inputs is left out.
    """
    if not 2 <= len(gathered.systems) <= MOST_SYSTEMS:
        return []
    systems = [_system(gathered, place) for place in range(len(gathered.systems))]
    down = [column.label for column in gathered.columns if not column.higher_is_better]
    found: list[Difference] = []
    for first, second in combinations(systems, 2):
        both = [d for d in first.values if np.isfinite(np.add(first.values[d], second.values[d])).sum() >= FEWEST]
        if both:
            found += compare([first, second], both, lower_is_better=down)
    corrected = holm([each.p for each in found]) if found else ()
    return [dataclasses.replace(each, p_holm=float(p)) for each, p in zip(found, corrected, strict=True)]


def is_significant(each: Difference) -> bool:
    return each.p_holm < SIGNIFICANT


def _system(gathered: Gathered, place: int) -> System:
    """One system's mean per input and column; NaN where it has no output or no score."""
    inputs = int(gathered.group.max(initial=-1)) + 1
    values = {}
    for column in gathered.columns:
        scores = gathered.values[column.label]
        here = np.isfinite(scores) & (gathered.system == place)
        count = np.bincount(gathered.group[here], minlength=inputs)
        total = np.bincount(gathered.group[here], scores[here], minlength=inputs)
        values[column.label] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return System(gathered.systems[place], values)


Scale = Callable[[float], float]

_ROW = 24
_WIDTH = 448
_NAMES = 132
_FIGURES = 104
_CELL = 78


def number(value: float, digits: int = 3) -> str:
    """With a true minus sign, and a dash for what is missing."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "\u2212") if float(text) != 0 else text.lstrip("-")


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between `low` and `high`."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    size = 10.0 ** math.floor(math.log10(span / count))
    step = next((m * size for m in (1, 2, 2.5, 5, 10) if span / (m * size) <= count), 10 * size)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def means_chart(summary: ColumnSummary) -> str:
    """One dot per system with its 95 % interval, best on top."""
    rows = list(summary.by_system) if len(summary.by_system) > 1 else [("all", summary.overall)]
    rows = [(name, estimate) for name, estimate in rows if estimate.n]
    if not rows:
        return ""
    low, high = _domain(summary.column, min(e.low for _, e in rows), max(e.high for _, e in rows))
    height = len(rows) * _ROW + 30
    left, right = _NAMES, _WIDTH - _FIGURES

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    marks = [_axis(ticks(low, high), x, 6, height - 24, height - 8)]
    for place, (name, estimate) in enumerate(rows):
        marks.append(_mean_row(name, estimate, x, 18 + place * _ROW))
    spoken = "; ".join(
        f"{name} {number(e.mean)}" + (f" ({number(e.low)} to {number(e.high)})" if e.n > 1 else "")
        for name, e in rows[:12]
    )
    return _svg(_WIDTH, height, f"Mean {summary.column.label} by system: {spoken}", marks, "means")


def _mean_row(name: str, estimate: Estimate, x: Scale, y: float) -> str:
    shown = name if len(name) <= 19 else name[:18] + "…"
    half = f"±{number((estimate.high - estimate.low) / 2)}" if estimate.n > 1 else ""
    return (
        f'<g class="mean"><title>{escape(name)}: {number(estimate.mean)} '
        + (f"({number(estimate.low)} to {number(estimate.high)}), " if estimate.n > 1 else "")
        + f"n = {estimate.n}</title>"
        f'<text x="{_NAMES - 12}" y="{y + 4}" text-anchor="end">{escape(shown)}</text>'
        f'<line class="whisker" x1="{x(estimate.low):.1f}" x2="{x(estimate.high):.1f}" y1="{y}" y2="{y}"/>'
        f'<circle class="dot" cx="{x(estimate.mean):.1f}" cy="{y}" r="4.5"/>'
        f'<text class="figure" x="{_WIDTH - 4}" y="{y + 4}" text-anchor="end">{number(estimate.mean)}'
        f'<tspan class="soft" dx="5">{half}</tspan></text></g>'
    )


def histogram(summary: ColumnSummary, width: int = 340, height: int = 132) -> str:
    """How many examples got which value; a line marks the median."""
    if not summary.counts:
        return ""
    low, high = float(summary.edges[0]), float(summary.edges[-1])
    floor, margin = height - 22, 18

    def x(value: float) -> float:
        return margin + (value - low) / (high - low) * (width - 2 * margin)

    marks = [_axis(ticks(low, high), x, 8, floor, height - 6)]
    marks += _bars(summary.counts, width, floor, margin, 8, 1.0)
    middle = x(summary.median)
    marks.append(f'<line class="median" x1="{middle:.1f}" x2="{middle:.1f}" y1="4" y2="{floor}"/>')
    spoken = f"Distribution of {summary.column.label}: {number(low)} to {number(high)}, median {number(summary.median)}"
    return _svg(width, height, spoken, marks, "histogram")


def sparkline(summary: ColumnSummary) -> str:
    if not summary.counts:
        return ""
    return _svg(112, 26, "", _bars(summary.counts, 112, 25, 1, 1, 0.5), "spark", hidden=True)


def _bars(counts: Sequence[int], width: int, floor: float, margin: int, top: int, gap: float) -> list[str]:
    most = max(counts)
    step = (width - 2 * margin) / len(counts)
    bars = []
    for place, count in enumerate(counts):
        tall = 0.0 if not count else max(1.0, count / most * (floor - top))
        left = margin + place * step
        bars.append(
            f'<rect class="column" x="{left:.1f}" y="{floor - tall:.1f}" width="{step - gap:.1f}" height="{tall:.1f}">'
            f"<title>{count}</title></rect>"
        )
    return bars


def heatmap(labels: Sequence[str], table: Array) -> str:
    """Rank correlation between dimensions, numbers written out so that colour is not needed."""
    names = 130
    top = 34
    width, height = names + _CELL * len(labels), top + 34 * len(labels)
    marks = []
    for i, label in enumerate(labels):
        shown = escape(label if len(label) <= 17 else label[:16] + "…")
        above = escape(label if len(label) <= 11 else label[:10] + "…")
        marks.append(f'<text x="{names - 10}" y="{top + 34 * i + 21}" text-anchor="end">{shown}</text>')
        middle = names + _CELL * i + _CELL / 2
        marks.append(
            f'<text x="{middle}" y="{top - 12}" text-anchor="middle">{above}<title>{escape(label)}</title></text>'
        )
        for j in range(len(labels)):
            marks.append(_cell(float(table[i, j]), names + _CELL * j, top + 34 * i, i == j))
    return _svg(width, height, "Rank correlation between dimensions", marks, "heatmap")


def _cell(value: float, x: float, y: float, itself: bool) -> str:
    kind = "itself" if itself else "negative" if value < 0 else "positive"
    shade = 0.0 if math.isnan(value) or itself else min(1.0, abs(value)) * 0.75
    text = "" if itself else number(value, 2)
    strong = " strong" if shade > 0.5 else ""
    return (
        f'<rect class="cell {kind}" x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="32" rx="3" '
        f'fill-opacity="{shade:.2f}"/>'
        f'<text class="figure{strong}" x="{x + _CELL / 2}" y="{y + 21}" text-anchor="middle">{text}</text>'
    )


def _axis(marks: Sequence[float], x: Scale, top: float, floor: float, words: float) -> str:
    step = abs(marks[1] - marks[0]) if len(marks) > 1 else 0.1
    digits = max(0, min(4, -math.floor(math.log10(step) + 1e-9))) if step > 0 else 1
    digits += step > 0 and abs(round(step, digits) - step) > 1e-9
    return "".join(
        f'<line class="grid" x1="{x(m):.1f}" x2="{x(m):.1f}" y1="{top}" y2="{floor}"/>'
        f'<text class="tick" x="{x(m):.1f}" y="{words}" text-anchor="middle">{number(m, digits)}</text>'
        for m in marks
    )


def _domain(column: Column, low: float, high: float) -> tuple[float, float]:
    """Dimensions of the same range are drawn on the same axis, or charts beside one another would mislead."""
    if column.high is not None and math.isfinite(column.low):
        return min(column.low, low), max(column.high, high)
    return _padded(low, high)


def _padded(low: float, high: float) -> tuple[float, float]:
    room = 0.06 * (high - low) or 0.05
    return low - room, high + room


def _svg(width: float, height: float, spoken: str, marks: Sequence[str], kind: str, hidden: bool = False) -> str:
    voice = 'aria-hidden="true"' if hidden else f'role="img" aria-label="{escape(spoken)}"'
    return f'<svg class="chart {kind}" viewBox="0 0 {width} {height}" width="{width}" {voice}>{"".join(marks)}</svg>'
