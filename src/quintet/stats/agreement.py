"""How well people agree with one another: what a metric can hope for.

`ratings` are items by annotators, NaN where someone did not rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet.errors import InputError, UnknownName
from quintet.stats.coefficients import Array, coefficient
from quintet.stats.correlate import FEWEST, POOLED, STATISTICS, Layout, correlate

Scale = Literal["nominal", "ordinal", "interval"]
SCALES = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Agreement:
    values: Mapping[str, float]
    """By statistic, averaged over what was compared."""
    compared: int
    """Pairs of annotators, or annotators against the rest."""
    skipped: int
    """Those with fewer than three common items or constant ratings."""


def as_columns(ratings: npt.ArrayLike) -> Array:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError("agreement needs the ratings of at least two annotators, as items by annotators")
    return table


def pairwise_agreement(ratings: npt.ArrayLike, statistics: Sequence[str] = STATISTICS) -> Agreement:
    """The mean correlation over all pairs of rating columns (USR, Table 1)."""
    table = as_columns(ratings)
    found = []
    pairs = list(combinations(range(table.shape[1]), 2))
    for i, j in pairs:
        here = np.isfinite(table[:, i]) & np.isfinite(table[:, j])
        if here.sum() >= FEWEST:
            found.append([float(coefficient(name)(table[here, i], table[here, j], None)) for name in statistics])
    return _mean(found, statistics, len(pairs), "no two annotators share three items with differing ratings")


def one_against_the_rest(ratings: npt.ArrayLike) -> tuple[Array, Array]:
    """For each annotator: their ratings, and the mean of everyone else's; annotators by items."""
    table = as_columns(ratings).T
    given = np.isfinite(table)
    filled = np.where(given, table, 0.0)
    others = given.sum(axis=0) - given
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (filled.sum(axis=0) - filled) / others
    return table, np.where(others > 0, rest, np.nan)


def human_ceiling(
    ratings: npt.ArrayLike,
    layout: Layout | None = None,
    level: str = POOLED,
    statistics: Sequence[str] = STATISTICS,
) -> Agreement:
    """Leave one annotator out: each as if a metric, judged by the mean of the others; averaged over annotators."""
    single, rest = one_against_the_rest(ratings)
    found = []
    for own, others in zip(single, rest, strict=True):
        if (np.isfinite(own) & np.isfinite(others)).sum() >= FEWEST:
            values = correlate(others, own, layout, level, statistics).values
            found.append([float(values[name][0, 0]) for name in statistics])
    return _mean(found, statistics, len(single), "no annotator shares three items of differing ratings with the others")


def _mean(found: list[list[float]], statistics: Sequence[str], tried: int, otherwise: str) -> Agreement:
    defined = [row for row in found if all(math.isfinite(value) for value in row)]
    if not defined:
        raise InputError(otherwise)
    means = np.mean(defined, axis=0)
    return Agreement(dict(zip(statistics, map(float, means), strict=True)), len(defined), tried - len(defined))


def krippendorff_alpha(ratings: npt.ArrayLike, scale: Scale = "ordinal") -> float:
    """1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Items rated once are left out, as nothing can disagree with them. NaN when all ratings are the same.
    """
    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    table = as_columns(ratings)
    values = np.unique(table[np.isfinite(table)])
    if not len(values):
        raise InputError("no item was rated by two annotators, so agreement cannot be measured")
    counts = np.stack([np.sum(table == value, axis=1) for value in values], axis=1).astype(np.float64)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters > 1], raters[raters > 1]
    if not len(counts):
        raise InputError("no item was rated by two annotators, so agreement cannot be measured")
    # Coincidences: every ordered pair of ratings of an item, each item weighing as much as it has ratings.
    shares = counts / (raters - 1)[:, None]
    observed = shares.T @ counts - np.diag(shares.sum(axis=0))
    totals = observed.sum(axis=1)
    expected = (np.outer(totals, totals) - np.diag(totals)) / (totals.sum() - 1)
    distance = _distances(values, totals, scale)
    by_chance = float(np.sum(expected * distance))
    return 1.0 - float(np.sum(observed * distance)) / by_chance if by_chance > 0 else math.nan


def _distances(values: Array, totals: Array, scale: Scale) -> Array:
    """Squared differences between values."""
    if scale == "nominal":
        return 1.0 - np.eye(len(values))
    # Ordinal: how many ratings lie between, counting half of both ends.
    place = np.cumsum(totals) - totals / 2.0 if scale == "ordinal" else values
    return np.subtract.outer(place, place) ** 2
