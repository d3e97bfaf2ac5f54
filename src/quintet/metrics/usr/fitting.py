"""A USR of one's own: weights by least squares from one's own ratings, written as a file that `usr` and `blend` read.

Path("mine.toml").write_text(fit_blend({"usr-mlm": [...], "usr-dr-context": [...]}, ratings))
quintet score --metric usr:weights=mine.toml#usr
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from quintet.core.blend_text import blend_toml
from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError

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
    columns, target = _complete(scores, ratings)
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0)
    design = np.column_stack([np.ones(len(target)), (columns - means) / spreads])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    rows = [
        _row(metric, metric, means[i], spreads[i], solution[i + 1], (parameters or {}).get(metric))
        for i, metric in enumerate(scores)
    ]
    return blend_toml(name, question, rows, float(solution[0]))


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


def _complete(
    scores: Mapping[str, npt.ArrayLike], ratings: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    names: Sequence[str] = list(scores)
    target = np.asarray(ratings, dtype=np.float64)
    table = [np.asarray(scores[name], dtype=np.float64) for name in names]
    if not names or any(column.shape != target.shape for column in table) or target.ndim != 1:
        raise InputError("scores and ratings must be lists of one length", todo="give one value per rated response")
    columns = np.stack(table, axis=1)
    here = np.isfinite(columns).all(axis=1) & np.isfinite(target)
    if here.sum() <= len(names) + 1:
        raise InputError(f"{int(here.sum())} complete rows are too few to fit {len(names)} weights")
    return columns[here], target[here]
