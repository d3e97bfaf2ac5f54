"""How well people agree with one another: what a metric can hope for.

`ratings` are items by annotators, NaN where someone did not rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet.core.plain import JsonObject
from quintet.errors import InputError, UnknownName
from quintet.stats.coefficients import Array, coefficient, spearman
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


# What people mean by "overall": USR's human analysis (Mehri and Eskenazi 2020, section 3.5 and Figure 2).
#
# A linear regression maps the ratings of single qualities, z-scored, to the overall rating. The softmax of its weights
# says how much each quality counts; one regression per annotator shows that people define quality differently.


@dataclass(frozen=True)
class Regression:
    weights: Mapping[str, float]
    """Points of the overall rating per standard deviation of the quality."""
    softmax: Mapping[str, float]
    """The weights of Figure 2: positive, with a sum of one."""
    intercept: float
    n: int
    r_squared: float
    spearman: float
    """Between the regression's prediction and the overall rating (USR: .9654)."""


def regress(qualities: Mapping[str, npt.ArrayLike], overall: npt.ArrayLike) -> Regression:
    """Least squares over the items that have every rating. A quality that never varies gets a weight of zero."""
    names = list(qualities)
    columns = np.stack([np.asarray(qualities[name], dtype=np.float64).ravel() for name in names], axis=1)
    target = np.asarray(overall, dtype=np.float64).ravel()
    if len(columns) != len(target):
        raise InputError(f"{len(columns)} ratings of the qualities but {len(target)} overall")
    here = np.isfinite(columns).all(axis=1) & np.isfinite(target)
    columns, target = columns[here], target[here]
    if len(target) <= len(names) + 1:
        raise InputError(f"{len(target)} complete ratings are too few for a regression on {len(names)} qualities")
    design = np.column_stack([np.ones(len(target)), _z_scores(columns)])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    predicted = design @ solution
    rest = float(np.sum((target - predicted) ** 2))
    total = float(np.sum((target - target.mean()) ** 2))
    return Regression(
        weights=dict(zip(names, map(float, solution[1:]), strict=True)),
        softmax=dict(zip(names, map(float, _softmax(np.asarray(solution[1:], dtype=np.float64))), strict=True)),
        intercept=float(solution[0]),
        n=len(target),
        r_squared=1.0 - rest / total if total > 0 else float("nan"),
        # Equal ratings must stay tied in spite of rounding.
        spearman=float(spearman(np.round(predicted, 9), target)),
    )


def weigh(qualities: Mapping[str, npt.ArrayLike], weights: Mapping[str, float], intercept: float = 0.0) -> Array:
    """What a regression with these weights predicts: the intercept and the weighted sum of z-scores."""
    columns = np.stack([np.asarray(qualities[name], dtype=np.float64) for name in weights], axis=1)
    return intercept + _z_scores(columns) @ np.array(list(weights.values()))


def regress_by_annotator(
    qualities: Mapping[str, npt.ArrayLike],
    overall: npt.ArrayLike,
    who: Sequence[Sequence[str]] | None = None,
) -> dict[str, Regression]:
    """One regression per annotator. All ratings are items by columns; `who` names the person behind each rating.

    Without `who` a column stands for a person, which is only right where the columns were not dealt out anew per item.
    """
    target = np.asarray(overall, dtype=np.float64)
    if target.ndim != 2:
        raise InputError("regressions by annotator need ratings as items by annotators")
    if who is None:
        names = np.broadcast_to([f"column {i + 1}" for i in range(target.shape[1])], target.shape)
    else:
        names = np.asarray(who, dtype=str)
    if names.shape != target.shape:
        raise InputError(f"ratings are {target.shape[0]} by {target.shape[1]}, names of annotators are not")
    tables = {name: np.asarray(table, dtype=np.float64) for name, table in qualities.items()}
    return {
        str(person): regress({name: table[names == person] for name, table in tables.items()}, target[names == person])
        for person in np.unique(names)
    }


def _z_scores(columns: Array) -> Array:
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _softmax(weights: Array) -> Array:
    raised = np.exp(weights - weights.max())
    return np.asarray(raised / raised.sum())


def agreement_and_weights(
    name: str, annotators: Mapping[str, Array], raters: Sequence[Sequence[str]] | None
) -> JsonObject:
    """Agreement by dimension, and the weight of each quality in `overall`: of all raters and of each."""
    single = {d: table for d, table in annotators.items() if table.shape[1] > 1}
    if not single:
        raise InputError(f"{name} has no single ratings, only means", todo="see quintet data --show for what it has")
    agreement = {
        d: {**dict(pairwise_agreement(table).values), "alpha": krippendorff_alpha(table)} for d, table in single.items()
    }
    weights = {}
    if "overall" in single and len(single) > 2:
        qualities = {d: table for d, table in single.items() if d != "overall"}
        by_person = regress_by_annotator(qualities, single["overall"], raters)
        found = {"all": regress(qualities, single["overall"]), **by_person}
        weights = {who: asdict(regression) for who, regression in found.items()}
    return {"agreement": agreement, "overall": weights}
