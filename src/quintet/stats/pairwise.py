"""Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter", EMNLP).

Of all pairs of items in a group, the share on which the metric says what people say: first better, second better, or
tied (their acc_eq). A metric with real-valued scores hardly ever ties, so two scores count as tied when they differ
by at most epsilon. Tie calibration takes the epsilon, among zero and all differences that occur, with the highest
mean accuracy over the groups; of several, the smallest. It is chosen on the very pairs that are judged, as in the
paper, and is therefore always reported beside the accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quintet.errors import InputError
from quintet.stats.coefficients import Array, Indices

MOST_PAIRS = 4_000_000
"""Above this many, a seeded sample of pairs is judged (2,829 pooled items have about 4 million pairs)."""


@dataclass(frozen=True)
class Accuracy:
    value: float
    epsilon: float
    pairs: int


@dataclass(frozen=True)
class Pairs:
    """Places of the first and second item of every pair, and what each pair weighs in the mean over groups."""

    first: Indices
    second: Indices
    weight: Array


def pairs_within(groups: Indices, seed: int = 0) -> Pairs:
    """Every pair of items of the same group; groups of one item have none and do not count."""
    firsts, seconds, weights = [], [], []
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        first, second = _pairs_of(members, seed)
        if len(first):
            firsts.append(first)
            seconds.append(second)
            weights.append(np.full(len(first), 1.0 / len(first)))
    if not firsts:
        raise InputError("no two items share a group, so there is no pair to judge")
    return Pairs(np.concatenate(firsts), np.concatenate(seconds), np.concatenate(weights) / len(firsts))


def _pairs_of(members: Indices, seed: int) -> tuple[Indices, Indices]:
    n = len(members)
    if n * (n - 1) // 2 <= MOST_PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(seed)
        first = rng.integers(0, n, MOST_PAIRS)
        second = (first + rng.integers(1, n, MOST_PAIRS)) % n
    return members[first], members[second]


def pairwise_accuracy(
    ratings: npt.ArrayLike, scores: npt.ArrayLike, groups: Indices | None = None, calibrate: bool = True
) -> Accuracy:
    """Items without a finite score or rating are left out. `groups`: codes of documents; `None`: one group."""
    people, given = np.asarray(ratings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    here = np.isfinite(people) & np.isfinite(given)
    people, given = people[here], given[here]
    pairs = pairs_within(np.zeros(len(people), dtype=np.intp) if groups is None else groups[here])
    human = np.sign(people[pairs.first] - people[pairs.second])
    difference = given[pairs.first] - given[pairs.second]
    agree = pairs.weight * (human * difference > 0)
    tied = pairs.weight * (human == 0)
    if not calibrate:
        value = float(np.sum(np.where(difference == 0, tied, agree)))
        return Accuracy(value, 0.0, len(difference))
    # In order of |difference|: with epsilon at pair k, pairs up to k are called tied and the rest keep their order.
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    size = np.concatenate([[0.0], size[order]])
    gained = np.concatenate([[0.0], np.cumsum(tied[order] - agree[order])]) + np.sum(agree)
    # Equal differences fall together: only the last of each run is an epsilon.
    allowed = np.append(size[1:] != size[:-1], True)
    best = float(np.max(gained[allowed]))
    # Sums of equal shares differ by rounding; the smallest epsilon among equals must not depend on it.
    place = int(np.flatnonzero(allowed & (gained >= best - 1e-12))[0])
    return Accuracy(float(gained[place]), float(size[place]), len(difference))
