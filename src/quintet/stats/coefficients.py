"""Pearson, Spearman and Kendall's tau-b over the last axis, for many vectors and many resamples at once.

Every function takes weights: an item of weight w counts w times. A bootstrap resample is then a row of weights, a
missing value is a weight of zero, and ranks in a resample come from one sort of the original values. Values under a
zero weight must be finite but do not matter. Where a correlation is undefined (constant values) the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from quintet.errors import UnknownName

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_CONSTANT = 1e-26
"""A sum of squares this small beside the values' own is rounding: they differ by less than 1e-13 of their size."""
_PAIRWISE_LIMIT = 64
"""Up to this length Kendall compares every pair; above it, it merges."""


def average_ranks(values: Array, weights: Array | None = None) -> Array:
    """Ranks from 1, ties sharing their mean rank; weights may add leading axes."""
    order = np.argsort(values, axis=-1, kind="stable")
    start, end = _tie_bounds(values, order)
    if weights is None:
        return (start + end + 1) / 2.0
    mass = np.cumsum(_take(weights, order), axis=-1)
    mass = np.concatenate([np.zeros_like(mass[..., :1]), mass], axis=-1)
    return (_take(mass, start) + _take(mass, end) + 1.0) / 2.0


def _tie_bounds(values: Array, order: Indices) -> tuple[Indices, Indices]:
    """For each item: how many values lie below its own, and how many lie below or level."""
    n = values.shape[-1]
    ordered = np.take_along_axis(values, order, axis=-1)
    position = np.broadcast_to(np.arange(n), ordered.shape)
    begins = np.ones(ordered.shape, dtype=bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones(ordered.shape, dtype=bool)
    ends[..., :-1] = begins[..., 1:]
    start = np.maximum.accumulate(np.where(begins, position, 0), axis=-1)
    end = np.minimum.accumulate(np.where(ends, position + 1, n)[..., ::-1], axis=-1)[..., ::-1]
    back = np.argsort(order, axis=-1)
    return np.take_along_axis(start, back, axis=-1), np.take_along_axis(end, back, axis=-1)


def _take(array: Array, index: Indices) -> Array:
    if index.ndim == 1:
        return np.take(array, index, axis=-1)
    leading = np.broadcast_shapes(array.shape[:-1], index.shape[:-1])
    array = np.broadcast_to(array, (*leading, array.shape[-1]))
    return np.take_along_axis(array, np.broadcast_to(index, (*leading, index.shape[-1])), axis=-1)


def standardize(values: Array, weights: Array) -> Array:
    """Centred, with a weighted sum of squares of one: the weighted product of two such vectors is their correlation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.sum(weights * values, axis=-1, keepdims=True) / np.sum(weights, axis=-1, keepdims=True)
        centred = values - mean
        weighted = weights * centred
        spread = np.einsum("...i,...i->...", weighted, centred)[..., None]
        size = spread + np.sum(weights, axis=-1, keepdims=True) * mean**2
        return centred / np.sqrt(np.where(spread > _CONSTANT * size, spread, np.nan))


def product(x: Array, y: Array, weights: Array) -> Array:
    """The correlation of two vectors that went through `standardize`."""
    return np.clip(np.einsum("...i,...i->...", weights * x, y), -1.0, 1.0)


def pearson(x: Array, y: Array, weights: Array | None = None) -> Array:
    weights = np.ones(x.shape[-1]) if weights is None else weights
    return product(standardize(x, weights), standardize(y, weights), weights)


def spearman(x: Array, y: Array, weights: Array | None = None) -> Array:
    weights = np.ones(x.shape[-1]) if weights is None else weights
    return pearson(average_ranks(x, weights), average_ranks(y, weights), weights)


def kendall(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Tau-b: (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y)."""
    weights = np.ones(x.shape[-1]) if weights is None else weights
    if x.shape[-1] <= _PAIRWISE_LIMIT:
        return kendall_by_pairs(x, y, weights)
    if x.ndim == y.ndim == 1:
        return kendall_by_merging(x, y, weights)
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1], weights.shape[:-1])
    rows = [np.broadcast_to(a, (*leading, x.shape[-1])).reshape(-1, x.shape[-1]) for a in (x, y, weights)]
    return np.array([kendall_by_merging(*row) for row in zip(*rows, strict=True)]).reshape(leading)


def kendall_by_pairs(x: Array, y: Array, weights: Array) -> Array:
    sign_x = np.sign(x[..., :, None] - x[..., None, :])
    sign_y = np.sign(y[..., :, None] - y[..., None, :])

    def total(signs: Array) -> Array:
        return np.sum((weights[..., None, :] @ signs)[..., 0, :] * weights, axis=-1)

    return _tau_b(total(sign_x * sign_y), total(np.abs(sign_x)), total(np.abs(sign_y)))


def kendall_by_merging(x: Array, y: Array, weights: Array) -> Array:
    """As `kendall_by_pairs` for two long vectors and any number of rows of weights.

    After a sort by x (ties by y) the discordant pairs are the inversions of y, counted while merging sorted blocks as
    in Knight (1966). The merges depend on the values only, so that all rows of weights go through them together.
    """
    order = np.lexsort((y, x))
    y_code = np.unique(y, return_inverse=True)[1][order]
    x_code = np.unique(x, return_inverse=True)[1][order]
    mass = weights[..., order]
    all_pairs = np.sum(mass, axis=-1) ** 2
    tied_x, tied_y = _tied_pairs(x_code, mass), _tied_pairs(y_code, mass)
    tied_both = _tied_pairs(x_code * (y_code.max() + 1) + y_code, mass)
    # Twice the number of pairs throughout; the factor falls out of the ratio.
    concordant_or_not = all_pairs - tied_x - tied_y + tied_both
    return _tau_b(concordant_or_not - 4.0 * _inversions(y_code, mass), all_pairs - tied_x, all_pairs - tied_y)


def _tau_b(balance: Array, untied_x: Array, untied_y: Array) -> Array:
    scale = np.sqrt(untied_x) * np.sqrt(untied_y)
    return np.clip(balance / np.where(scale > 0, scale, np.nan), -1.0, 1.0)


def _tied_pairs(codes: Indices, mass: Array) -> Array:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.sum(np.add.reduceat(mass[..., order], starts, axis=-1) ** 2, axis=-1)


def _inversions(codes: Indices, mass: Array) -> Array:
    n = len(codes)
    position = np.arange(n)
    count = np.zeros(mass.shape[:-1])
    size = 1
    while size < n:
        block = position // (2 * size)
        # Stable: of equal codes the left half comes first, so that ties are no inversions.
        order = np.lexsort((codes, block))
        in_left = (order // size) % 2 == 0
        here = mass[..., order]
        left = np.cumsum(np.where(in_left, here, 0.0), axis=-1)
        last = np.minimum((block + 1) * 2 * size, n) - 1
        larger = left[..., last] - left
        count += np.einsum("...i,...i->...", np.where(in_left, 0.0, here), larger)
        size *= 2
    return count


Coefficient = Callable[[Array, Array, Array | None], Array]
COEFFICIENTS: dict[str, Coefficient] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def coefficient(name: str) -> Coefficient:
    """The function behind a statistic's name; an unknown name is refused, never guessed."""
    if name not in COEFFICIENTS:
        raise UnknownName("statistic", name, COEFFICIENTS)
    return COEFFICIENTS[name]
