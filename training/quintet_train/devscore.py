"""Figures on held-out rows that choose which weights are kept; larger is better for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def accuracy(truth: Sequence[int], guess: Sequence[int]) -> float:
    return float(np.mean(np.asarray(truth) == np.asarray(guess))) if len(truth) else 0.0


def f1(truth: Sequence[int], guess: Sequence[int], label: int) -> float:
    """2TP / (2TP + FP + FN); 0 where the class is neither there nor guessed."""
    t, g = np.asarray(truth) == label, np.asarray(guess) == label
    both, either = 2 * int(np.sum(t & g)), int(np.sum(t)) + int(np.sum(g))
    return both / either if either else 0.0


def f1_sum(truth: Sequence[int], guess: Sequence[int]) -> float:
    """F1 of both classes added: what CTC keeps its D models by."""
    return f1(truth, guess, 0) + f1(truth, guess, 1)


def matthews(truth: Sequence[int], guess: Sequence[int]) -> float:
    """Matthews correlation for two classes, the figure of CoLA; 0 when a margin is empty."""
    t, g = np.asarray(truth, dtype=float), np.asarray(guess, dtype=float)
    return pearson(t, g)


def pearson(truth: ArrayLike, guess: ArrayLike) -> float:
    """0 when either side is constant."""
    t: NDArray[np.float64] = np.asarray(truth, dtype=np.float64)
    g: NDArray[np.float64] = np.asarray(guess, dtype=np.float64)
    if t.size < 2 or np.ptp(t) == 0 or np.ptp(g) == 0:
        return 0.0
    t, g = t - t.mean(), g - g.mean()
    return float((t @ g) / np.sqrt((t @ t) * (g @ g)))


def area_under_curve(truth: Sequence[int], scores: ArrayLike) -> float:
    """Chance that a positive stands above a negative, ties half; 0.5 if a side is missing."""
    t, s = np.asarray(truth), np.asarray(scores, dtype=np.float64)
    good, bad = s[t == 1], s[t == 0]
    if not good.size or not bad.size:
        return 0.5
    above = (good[:, None] > bad[None, :]).mean()
    level = (good[:, None] == bad[None, :]).mean()
    return float(above + level / 2)
