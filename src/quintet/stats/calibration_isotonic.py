"""Isotonic regression: the rising values closest to the given ones; neighbours that fall are pooled (Barlow 1972)."""

from __future__ import annotations

import numpy as np

from quintet.stats.coefficients import Array, Indices


def pool(values: Array, weights: Array) -> tuple[Array, Indices]:
    """Means of the pooled blocks, strictly rising, and how many neighbours each holds. Weights are positive."""
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while means and means[-1] >= mean:
            before, more = means.pop(), masses.pop()
            # Equal values stay exactly equal, so that rounding makes no new steps.
            mean = mean if before == mean else (before * more + mean * mass) / (more + mass)
            mass, count = mass + more, count + counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return np.array(means), np.array(counts, dtype=np.intp)


def isotonic(values: Array, weights: Array | None = None) -> Array:
    """The least-squares fit that never falls, one value for each given one."""
    means, counts = pool(values, np.ones(len(values)) if weights is None else weights)
    return np.repeat(means, counts)


def centred_knots(scores: Array, labels: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """A rising map as knots: each block at the mean of its scores (Oron and Flournoy 2017), joined by lines.

    Unlike the plain steps it keeps the order of scores inside, and it was closer to smooth truths from 50 labels on.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    here = weights > 0
    places, inverse = np.unique(scores[here], return_inverse=True)
    mass: Array = np.bincount(inverse, weights[here]).astype(np.float64)
    means = np.bincount(inverse, weights[here] * labels[here]) / mass
    blocks, counts = pool(means, mass)
    starts = np.cumsum(counts) - counts
    return np.add.reduceat(places * mass, starts) / np.add.reduceat(mass, starts), blocks


def apply_knots(knots: tuple[Array, Array], scores: Array) -> Array:
    """Lines between the knots, flat outside; NaN stays NaN."""
    return np.where(np.isfinite(scores), np.interp(scores, *knots), np.nan)
