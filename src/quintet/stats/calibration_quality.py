"""How good probabilities are: ranking (AUC), squared error (Brier), and whether they mean what they say (ECE)."""

from __future__ import annotations

import numpy as np

from quintet.stats.calibration_threshold import Flags
from quintet.stats.coefficients import Array, average_ranks

BINS = 10


def auc(scores: Array, good: Flags, weights: Array | None = None) -> Array:
    """The chance that a good output scores above a bad one, ties half; weights may add leading axes."""
    mass = np.ones(len(scores)) if weights is None else weights
    ranks = average_ranks(scores, mass)
    goods, bads = (mass * good).sum(axis=-1), (mass * ~good).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ((mass * ranks * good).sum(axis=-1) - goods * (goods + 1.0) / 2.0) / (goods * bads)


def brier(predicted: Array, truth: Array) -> float:
    """Mean squared error; both on the scale 0 to 1."""
    return float(np.mean((predicted - truth) ** 2))


def calibration_error(predicted: Array, truth: Array, bins: int = BINS) -> float:
    """ECE over bins of equal numbers: the mean distance between what was said and what came true."""
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(p) * abs(predicted[p].mean() - truth[p].mean()) for p in parts) / len(predicted))
