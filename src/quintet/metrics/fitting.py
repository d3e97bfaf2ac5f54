"""Weights of linear ensembles by least squares from ratings, written as files that `usr`, `im2` and `blend` read.

Path("mine.toml").write_text(fit_blend({"usr-mlm": [...], "usr-dr-context": [...]}, ratings))
quintet score --metric usr:weights=mine.toml#usr
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


def complete(columns: Sequence[npt.ArrayLike], ratings: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Features as a table and ratings, of the rows that lack neither (NaN: missing)."""
    target = np.asarray(ratings, dtype=np.float64)
    table = [np.asarray(column, dtype=np.float64) for column in columns]
    if not table or any(column.shape != target.shape for column in table) or target.ndim != 1:
        raise InputError("scores and ratings must be lists of one length", todo="give one value per rated response")
    features = np.stack(table, axis=1)
    here = np.isfinite(features).all(axis=1) & np.isfinite(target)
    if here.sum() <= len(table) + 1:
        raise InputError(f"{int(here.sum())} complete rows are too few to fit {len(table)} weights")
    return features[here], target[here]


def least_squares(features: Floats, target: Floats) -> tuple[float, Floats]:
    """Intercept and a weight per feature."""
    design = np.column_stack([np.ones(len(target)), features])
    solution = np.asarray(np.linalg.lstsq(design, target, rcond=None)[0], dtype=np.float64)
    return float(solution[0]), solution[1:]


# USR: one regression on z-scores.

QUESTION = "How good is this response overall?"
FEATURES: Mapping[str, Mapping[str, str]] = {
    "topical-chat": {
        "Understandable": "usr-mlm",
        "Natural": "usr-mlm",
        "Maintains Context": "usr-dr-context",
        "Engaging": "usr-dr-context",
        "Uses Knowledge": "usr-dr-fact",
    },
    "personachat": {
        "Understandable": "usr-mlm",
        "Natural": "usr-dr-context",
        "Maintains Context": "usr-dr-context",
        "Engaging": "usr-dr-context",
        "Uses Knowledge": "usr-dr-context",
    },
}
"""Which sub-metric stands for which quality (section 5: the best one on that corpus)."""


def fit_blend(
    scores: Mapping[str, npt.ArrayLike],
    ratings: npt.ArrayLike,
    *,
    name: str = "usr",
    question: str = QUESTION,
    parameters: Mapping[str, Cells] | None = None,
) -> str:
    """Ordinary least squares of `ratings` on z-scored `scores` (metric name to values), as the text of a blend file.

    Rows where a score or rating is missing (NaN) are left out; a score that never varies gets no weight. Means and
    deviations are stored, so that nothing is fitted to the texts that are scored later.
    """
    columns, target = complete(list(scores.values()), ratings)
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0)
    intercept, weights = least_squares((columns - means) / spreads, target)
    rows = [
        _row(metric, metric, means[i], spreads[i], weights[i], (parameters or {}).get(metric))
        for i, metric in enumerate(scores)
    ]
    return blend_toml(name, question, rows, intercept)


def fit_by_annotator(scores: Mapping[str, npt.ArrayLike], ratings: Mapping[str, npt.ArrayLike]) -> str:
    """One regression for each person (section 3.5, Figure 2), each a table of one file: `usr:weights=FILE.toml#A1`.

    `ratings` has a value for every row, NaN where the person did not rate it.
    """
    return "\n".join(fit_blend(scores, values, name=person) for person, values in ratings.items())


def blend_of_qualities(
    weights: Mapping[str, float],
    intercept: float,
    constants: Mapping[str, tuple[float, float]],
    *,
    features: str = "topical-chat",
    name: str = "usr",
) -> str:
    """The paper's own way: weights of the five qualities, learnt from human ratings alone, on the sub-metrics.

    `weights` is what `quintet.stats.agreement.regress` gives; `constants` holds (mean, deviation) of each sub-metric.
    """
    table = FEATURES[features]
    unknown = [quality for quality in weights if quality not in table]
    if unknown:
        raise InputError(f"no sub-metric stands for {unknown[0]!r}", todo=f"known: {', '.join(table)}")
    rows = [_row(table[quality], quality, *constants[table[quality]], weight) for quality, weight in weights.items()]
    return blend_toml(name, QUESTION, rows, intercept)


def constants_of(scores: Mapping[str, npt.ArrayLike]) -> dict[str, tuple[float, float]]:
    """Mean and population deviation of each sub-metric, as the released script takes them."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    return {name: (float(np.nanmean(v)), float(np.nanstd(v)) or 1.0) for name, v in arrays.items()}


def _row(
    metric: str, label: str, mean: float, spread: float, weight: float, parameters: Cells | None = None
) -> JsonObject:
    row: JsonObject = {"metric": metric, "label": label}
    row |= {"shift": float(mean), "scale": float(spread), "weight": float(weight)}
    return {**row, "parameters": dict(parameters)} if parameters else row


# IM2: two levels, by the procedure of the authors' (deleted) regression script.
#
# For each data set and quality: ordinary least squares with an intercept of the mean rating on the sub-metrics of the
# quality's category. Coefficients are averaged over data sets, rounded to two decimals, negative ones set to 0, the
# intercept dropped. Sub-metric weights come from the qualities of a category, the weights of the three categories from
# ratings of overall quality (paper, appendix A.4).

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
    mean = np.mean([least_squares(*complete(list(columns.T), ratings))[1] for columns, ratings in regressions], axis=0)
    return np.maximum(np.round(mean, DECIMALS), 0.0)


def quantile_constants(values: npt.ArrayLike) -> JsonObject:
    """USL-H's scaling of a likelihood: the first quartile of a validation set becomes 0, the third 1."""
    low, high = np.nanquantile(np.asarray(values, dtype=np.float64), [0.25, 0.75])
    return {"shift": float(low), "scale": float(high - low) or 1.0, "clip": [0.0, 1.0]}


def _normalised(row: Cells, one: RatedSet) -> Floats:
    if row["metric"] not in one.scores:
        raise InputError(f"data set {one.name} has no scores of {row['metric']}", todo="score every sub-metric first")
    low, high = row.get("clip", (-np.inf, np.inf))
    raw = np.asarray(one.scores[row["metric"]], dtype=np.float64)
    return np.clip((raw - row.get("shift", 0.0)) / row.get("scale", 1.0), low, high)


def _table(name: str, base: str, rows: Sequence[JsonObject], weights: Floats) -> str:
    fitted = [{**row, "weight": float(weight)} for row, weight in zip(rows, weights, strict=True)]
    return blend_toml(name, read_table(base)["question"], fitted)
