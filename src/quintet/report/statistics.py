"""The figures of a report: means with intervals, distributions, correlations, systems against one another."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from quintet.core.result import Column
from quintet.report.gather import Array, Gathered
from quintet.stats.coefficients import spearman
from quintet.stats.compare import Difference, System, compare
from quintet.stats.correlate import FEWEST
from quintet.stats.significance import holm, mean_interval

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
