"""What people mean by "overall": USR's human analysis (Mehri and Eskenazi 2020, section 3.5 and Figure 2).

A linear regression maps the ratings of single qualities, z-scored, to the overall rating. The softmax of its weights
says how much each quality counts; one regression per annotator shows that people define quality differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.errors import InputError
from quintet.stats.agreement import krippendorff_alpha, pairwise_agreement
from quintet.stats.coefficients import Array, spearman


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
) -> dict[str, Any]:
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
