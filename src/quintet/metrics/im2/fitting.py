"""IM2's weights from one's own ratings, by the procedure of the authors' (deleted) regression script.

For each data set and quality: ordinary least squares with an intercept of the mean rating on the sub-metrics of the
quality's category. Coefficients are averaged over data sets, rounded to two decimals, negative ones set to 0, the
intercept dropped. Sub-metric weights come from the qualities of a category, the weights of the three categories from
ratings of overall quality (paper, appendix A.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quintet.core.blend import read_table
from quintet.core.blend_text import blend_toml
from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError
from quintet.metrics.im2.inputs import CATEGORIES, OVERALL, route

Floats = npt.NDArray[np.float64]
OVERALL_QUALITY = "overall"
DECIMALS = 2


@dataclass(frozen=True, eq=False)
class RatedSet:
    """One data set: sub-metric scores and mean ratings, both with one value per response (NaN: missing)."""

    name: str
    scores: Mapping[str, npt.ArrayLike]
    ratings: Mapping[str, npt.ArrayLike]


def fit_two_levels(
    sets: Sequence[RatedSet], *, name: str = "fitted", base: str = "im2/published", unrated: str = "refuse"
) -> str:
    """The text of a file for `im2:weights=FILE.toml#fitted`; constants (shift, scale, clip) are those of `base`.

    A category that no data set rates is refused, or with `unrated="base"` keeps the weights of `base`.
    """
    texts, categories = [], []
    for category in CATEGORIES:
        rows = [dict(row) for row in read_table(f"{base}/{category}")["signals"]]
        columns = {one.name: np.stack([_normalised(row, one) for row in rows], axis=1) for one in sets}
        qualities = [(one, quality) for one in sets for quality in one.ratings if route(quality) == category]
        if qualities or unrated == "refuse":
            weights = average_weights([(columns[one.name], one.ratings[quality]) for one, quality in qualities])
        else:
            weights = np.array([float(row["weight"]) for row in rows])
        texts.append(_table(f"{name}/{category}", f"{base}/{category}", rows, weights))
        categories.append({set_name: table @ weights for set_name, table in columns.items()})
    rows = [dict(row) for row in read_table(f"{base}/{OVERALL}")["signals"]]
    overall = [
        (np.stack([scores[one.name] for scores in categories], axis=1), ratings)
        for one in sets
        for quality, ratings in one.ratings.items()
        if quality.lower() == OVERALL_QUALITY
    ]
    texts.append(_table(f"{name}/{OVERALL}", f"{base}/{OVERALL}", rows, average_weights(overall)))
    return "\n".join(texts)


def leave_one_out(
    sets: Sequence[RatedSet], *, name: str = "fitted", base: str = "im2/published", unrated: str = "refuse"
) -> Iterator[tuple[str, str]]:
    """For each data set: its name, and weights fitted on all the others, as `fit_two_levels` does."""
    for left in sets:
        others = [one for one in sets if one.name != left.name]
        yield left.name, fit_two_levels(others, name=name, base=base, unrated=unrated)


def average_weights(regressions: Sequence[tuple[Floats, npt.ArrayLike]]) -> Floats:
    """One regression per (scores, ratings); mean of the coefficients, rounded, negative ones set to 0."""
    if not regressions:
        raise InputError("no ratings to fit these weights to", todo="give ratings of qualities of every category")
    mean = np.mean([_least_squares(columns, ratings) for columns, ratings in regressions], axis=0)
    return np.maximum(np.round(mean, DECIMALS), 0.0)


def quantile_constants(values: npt.ArrayLike) -> JsonObject:
    """USL-H's scaling of a likelihood: the first quartile of a validation set becomes 0, the third 1."""
    low, high = np.nanquantile(np.asarray(values, dtype=np.float64), [0.25, 0.75])
    return {"shift": float(low), "scale": float(high - low) or 1.0, "clip": [0.0, 1.0]}


def _least_squares(columns: Floats, ratings: npt.ArrayLike) -> Floats:
    target = np.asarray(ratings, dtype=np.float64)
    if len(target) != len(columns):
        raise InputError(f"{len(target)} ratings for {len(columns)} scores")
    here = np.isfinite(columns).all(axis=1) & np.isfinite(target)
    if here.sum() <= columns.shape[1] + 1:
        raise InputError(f"{int(here.sum())} complete rows are too few to fit {columns.shape[1]} weights")
    design = np.column_stack([np.ones(int(here.sum())), columns[here]])
    return np.asarray(np.linalg.lstsq(design, target[here], rcond=None)[0][1:], dtype=np.float64)


def _normalised(row: Cells, one: RatedSet) -> Floats:
    if row["metric"] not in one.scores:
        raise InputError(f"data set {one.name} has no scores of {row['metric']}", todo="score every sub-metric first")
    low, high = row.get("clip", (-np.inf, np.inf))
    raw = np.asarray(one.scores[row["metric"]], dtype=np.float64)
    return np.clip((raw - row.get("shift", 0.0)) / row.get("scale", 1.0), low, high)


def _table(name: str, base: str, rows: Sequence[JsonObject], weights: Floats) -> str:
    fitted = [{**row, "weight": float(weight)} for row, weight in zip(rows, weights, strict=True)]
    return blend_toml(name, read_table(base)["question"], fitted)
