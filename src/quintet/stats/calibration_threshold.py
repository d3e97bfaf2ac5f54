"""Where to draw the line between outputs to accept and to refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet.errors import InputError
from quintet.stats.coefficients import Array

Flags = npt.NDArray[np.bool_]
Kind = Literal["balanced accuracy", "precision", "recall"]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Aim:
    """What a threshold is chosen for: the best balanced accuracy, or most of the one once the other is reached."""

    kind: Kind = "balanced accuracy"
    target: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "balanced accuracy" else f"{self.kind} of at least {self.target:g}"


@dataclass(frozen=True, slots=True)
class Quality:
    balanced_accuracy: float
    precision: float
    recall: float


def quality(accepted: Flags, good: Flags, weights: Array | None = None) -> Quality:
    """Precision: the share of accepted outputs that are good. Recall: the share of good outputs that are accepted."""
    mass = np.ones(len(good)) if weights is None else weights
    hits, kept = float(mass[accepted & good].sum()), float(mass[accepted].sum())
    goods, bads = float(mass[good].sum()), float(mass[~good].sum())
    recall = hits / goods if goods else math.nan
    refused = 1.0 - (kept - hits) / bads if bads else math.nan
    return Quality((recall + refused) / 2.0, hits / kept if kept else math.nan, recall)


def choose(scores: Array, good: Flags, aim: Aim, weights: Array | None = None) -> float:
    """The threshold, halfway between two scores; more is better. NaN with one class, or where none reaches the aim."""
    mass = np.ones(len(scores)) if weights is None else weights
    here = mass > 0
    places, inverse = np.unique(scores[here], return_inverse=True)
    goods = np.bincount(inverse, mass[here] * good[here], len(places))
    bads = np.bincount(inverse, mass[here] * ~good[here], len(places))
    if goods.sum() == 0 or bads.sum() == 0 or len(places) < 2:
        return math.nan
    # Entry k: what is accepted when everything from place k on is.
    hits, slips = np.cumsum(goods[::-1])[::-1], np.cumsum(bads[::-1])[::-1]
    recall, precision = hits / goods.sum(), hits / (hits + slips)
    merit = {
        "balanced accuracy": (recall + 1.0 - slips / bads.sum()) / 2.0,
        "precision": np.where(precision >= aim.target - _ROUNDING, recall, -1.0),
        "recall": np.where(recall >= aim.target - _ROUNDING, precision, -1.0),
    }[aim.kind]
    best = np.flatnonzero(merit >= merit.max() - _ROUNDING)
    if merit.max() < 0.0:
        return math.nan
    # Of equally good places the one in the middle is the least chance's child.
    place = int(best[len(best) // 2])
    return float(places[0] if place == 0 else (places[place - 1] + places[place]) / 2.0)


def check_aim(precision: float | None, recall: float | None) -> Aim:
    if precision is not None and recall is not None:
        raise InputError("both a precision and a recall were asked for", todo="give --precision or --recall")
    for kind, target in (("precision", precision), ("recall", recall)):
        if target is None:
            continue
        if not 0.0 < target <= 1.0:
            raise InputError(f"a {kind} of {target:g}", f"--{kind}", "give a number above 0 and up to 1")
        return Aim("precision" if kind == "precision" else "recall", target)
    return Aim()
