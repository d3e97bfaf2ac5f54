"""How well scores agree with people, at a level that is named once.

    pooled        one correlation over every item (papers: turn, sample, instance, dataset level)
    by document   one correlation per document over its outputs, averaged over documents (papers: summary level);
                  a document whose scores or ratings are constant has none: it is skipped and counted
    by system     one correlation over the systems' means (papers: system level)

Pure functions of arrays. What NaN means is decided here: with nan="drop" an item without a finite score or rating
is left out of that pair of metric and dimension, and counted; with nan="raise" it is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet.errors import InputError, QuintetError, UnknownName
from quintet.stats.coefficients import COEFFICIENTS, Array, Indices, average_ranks, coefficient, product, standardize

POOLED, BY_DOCUMENT, BY_SYSTEM = LEVELS = ("pooled", "by document", "by system")
STATISTICS = tuple(COEFFICIENTS)
FEWEST = 3
"""Two points always lie on a line: a correlation needs three."""

Nan = Literal["drop", "raise"]


@dataclass(frozen=True)
class Layout:
    """Which document and which system each item belongs to, as codes from 0."""

    n: int
    document: Indices | None = None
    system: Indices | None = None

    @classmethod
    def of(cls, n: int, documents: Sequence[str] | None = None, systems: Sequence[str] | None = None) -> Layout:
        for kind, names in (("document", documents), ("system", systems)):
            if names is not None and len(names) != n:
                raise InputError(f"{n} items but {len(names)} {kind} ids", todo=f"give one {kind} id per item")
        return cls(n, _codes(documents), _codes(systems))

    @cached_property
    def documents(self) -> int:
        return 0 if self.document is None else int(self.document.max(initial=-1)) + 1

    @cached_property
    def systems(self) -> int:
        return 0 if self.system is None else int(self.system.max(initial=-1)) + 1

    @cached_property
    def grid(self) -> Indices:
        """One row per document with the places of its items, filled up with -1."""
        if self.document is None:
            raise QuintetError("a grid of documents was asked for where items have none; check the level first")
        order = np.argsort(self.document, kind="stable")
        sizes = np.bincount(self.document, minlength=self.documents)
        column = np.arange(self.n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        grid = np.full((self.documents, int(sizes.max(initial=0))), -1, dtype=np.intp)
        grid[self.document[order], column] = order
        return grid

    @cached_property
    def membership(self) -> Array:
        """Items by systems, one where the item is the system's."""
        if self.system is None:
            raise QuintetError("systems were asked for where items have none; check the level first")
        return (self.system[:, None] == np.arange(self.systems)).astype(np.float64)

    def check(self, level: str) -> None:
        if level not in LEVELS:
            raise UnknownName("level", level, LEVELS)
        if level == BY_DOCUMENT and self.document is None:
            raise InputError("the level 'by document' needs document ids, and these items have none")
        if level == BY_SYSTEM and self.system is None:
            raise InputError("the level 'by system' needs system ids, and these items have none")
        if level == BY_SYSTEM and self.systems < FEWEST:
            found = "one system" if self.systems == 1 else f"{self.systems} systems"
            raise InputError(
                f"only {found}; a correlation by system needs at least {FEWEST}", todo="use level 'pooled'"
            )


def _codes(names: Sequence[str] | None) -> Indices | None:
    return None if names is None else np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)[1]


@dataclass(frozen=True)
class Weights:
    """How often a resample holds each item, document or system; `None`: each once. Rows are resamples."""

    item: Array | None = None
    document: Array | None = None
    system: Array | None = None

    def of_items(self, layout: Layout, *, document: bool, system: bool) -> Array | None:
        found = self.item
        for wanted, counts, codes in (
            (document, self.document, layout.document),
            (system, self.system, layout.system),
        ):
            if wanted and counts is not None and codes is not None:
                spread = np.take(counts, codes, axis=-1)
                found = spread if found is None else found * spread
        return found


ONCE = Weights()


@dataclass(frozen=True)
class View:
    """Values and weights with the axis to correlate over last, at one level and for one resample or many."""

    layout: Layout
    level: str
    weights: Weights = ONCE
    mask: npt.NDArray[np.bool_] | None = None
    """The items that count; `None`: all."""

    @cached_property
    def inner(self) -> Array:
        """Weights beside the values that `arrange` returns."""
        if self.level == POOLED:
            return self._items(document=True, system=True)
        if self.level == BY_DOCUMENT:
            grid = self.layout.grid
            return np.where(grid >= 0, np.take(self._items(document=False, system=True), grid, axis=-1), 0.0)
        present = np.where(self._mass > 0, 1.0, 0.0)
        return present if self.weights.system is None else present * self.weights.system

    def arrange(self, values: Array) -> Array:
        filled = values if self.mask is None else np.where(self.mask, values, 0.0)
        if self.level == POOLED:
            return filled
        if self.level == BY_DOCUMENT:
            return np.where(self.layout.grid >= 0, np.take(filled, self.layout.grid, axis=-1), 0.0)
        total = (self._items(document=True, system=False) * filled) @ self.layout.membership
        # Means that are equal on paper must be tied: without this the order of summation would rank them.
        unit = max(float(np.abs(filled).max(initial=0.0)), 1e-300)
        return np.round(total / np.where(self._mass > 0, self._mass, 1.0) / unit, 12) * unit

    def finish(self, coefficients: Array) -> Array:
        """The mean over documents that have a correlation, each as often as the resample holds it."""
        if self.level != BY_DOCUMENT:
            return coefficients
        kept = np.isfinite(coefficients)
        counts = np.ones(self.layout.documents) if self.weights.document is None else self.weights.document
        total = np.sum(counts * np.where(kept, coefficients, 0.0), axis=-1)
        number = np.sum(counts * kept, axis=-1)
        return total / np.where(number > 0, number, np.nan)

    @cached_property
    def _mass(self) -> Array:
        return self._items(document=True, system=False) @ self.layout.membership

    def _items(self, *, document: bool, system: bool) -> Array:
        counts = self.weights.of_items(self.layout, document=document, system=system)
        here = np.ones(self.layout.n) if self.mask is None else self.mask.astype(np.float64)
        return here if counts is None else counts * here


@dataclass
class Correlator:
    """Correlates many pairs of vectors under one resample; what two pairs share is computed once."""

    layout: Layout
    level: str
    statistic: str
    weights: Weights = ONCE
    _views: dict[bytes, View] = field(default_factory=dict)
    _ratings: dict[tuple[int, bytes], Array] = field(default_factory=dict)
    _last: tuple[Array, bytes, Array] | None = None

    def __post_init__(self) -> None:
        coefficient(self.statistic)

    def pair(self, score: Array, rating: Array, rating_key: int) -> Array:
        """Per document at the level `by document`, otherwise one number; resamples lead."""
        mask = np.isfinite(score) & np.isfinite(rating)
        name = mask.tobytes() if not mask.all() else b""
        if name not in self._views:
            self._views[name] = View(self.layout, self.level, self.weights, mask if name else None)
        view = self._views[name]
        if self.statistic == "kendall":
            return COEFFICIENTS["kendall"](view.arrange(score), view.arrange(rating), view.inner)
        if (rating_key, name) not in self._ratings:
            self._ratings[rating_key, name] = self._standard(view, rating)
        # Scores come grouped: one is kept, so that memory does not grow with the number of metrics.
        if self._last is None or self._last[0] is not score or self._last[1] != name:
            self._last = (score, name, self._standard(view, score))
        return product(self._last[2], self._ratings[rating_key, name], view.inner)

    def finish(self, coefficients: Array) -> Array:
        return View(self.layout, self.level, self.weights).finish(coefficients)

    def _standard(self, view: View, values: Array) -> Array:
        arranged = view.arrange(values)
        if self.statistic == "spearman":
            arranged = average_ranks(arranged, view.inner)
        return standardize(arranged, view.inner)


@dataclass(frozen=True)
class Correlation:
    """Arrays of the shape metrics by dimensions."""

    values: Mapping[str, Array]
    """By statistic."""
    n: npt.NDArray[np.int64]
    """Items that were used."""
    groups: npt.NDArray[np.int64]
    """What the correlation ran over or was averaged over: items, documents, systems."""
    skipped: npt.NDArray[np.int64]
    """Documents without a correlation."""
    dropped: npt.NDArray[np.int64]
    """Items without a finite score or rating."""


Rows = Sequence[Sequence[Array | None]]
"""Scores by metric and dimension, each one number per item; `None`: this metric does not judge that dimension."""


def correlate(
    ratings: npt.ArrayLike,
    scores: npt.ArrayLike,
    layout: Layout | None = None,
    level: str = POOLED,
    statistics: Sequence[str] = STATISTICS,
    nan: Nan = "drop",
) -> Correlation:
    """`ratings`: dimensions by items; `scores`: metrics by items, or metrics by dimensions by items."""
    people, rows = tables(ratings, scores)
    return correlate_rows(people, rows, layout or Layout(people.shape[1]), level, statistics, nan)


def correlate_rows(
    people: Array,
    rows: Rows,
    layout: Layout,
    level: str,
    statistics: Sequence[str] = STATISTICS,
    nan: Nan = "drop",
    names: Sequence[Sequence[str]] | None = None,
) -> Correlation:
    """`names`: what to call each pair in an error."""
    layout.check(level)
    shape = (len(rows), len(people))
    values = {name: np.full(shape, np.nan) for name in statistics}
    counts = {name: np.zeros(shape, dtype=np.int64) for name in ("n", "groups", "skipped", "dropped")}
    correlators = {name: Correlator(layout, level, name) for name in statistics}
    for m, d in np.ndindex(shape):
        row = rows[m][d]
        if row is None:
            continue
        here = np.isfinite(row) & np.isfinite(people[d])
        counts["n"][m, d] = kept = int(here.sum())
        counts["dropped"][m, d] = layout.n - kept
        _check_pair(kept, layout.n, nan, names[m][d] if names else "")
        for name, correlator in correlators.items():
            found = correlator.pair(row, people[d], d)
            values[name][m, d] = correlator.finish(found)
            counts["groups"][m, d] = _groups(level, layout, here, found)
            counts["skipped"][m, d] = layout.documents - counts["groups"][m, d] if level == BY_DOCUMENT else 0
    return Correlation(values, **counts)


def tables(ratings: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[Array, Rows]:
    """As float arrays, dimensions by items, and as rows; a metric without scores by dimension has one row for all."""
    people = np.atleast_2d(np.asarray(ratings, dtype=np.float64))
    given = np.asarray(scores, dtype=np.float64)
    rows = [[row] * len(people) for row in np.atleast_2d(given)] if given.ndim < 3 else [list(m) for m in given]
    for metric in rows:
        if len(metric) != len(people) or metric[0].shape != people[0].shape:
            raise InputError(
                f"ratings are {people.shape[0]} dimensions by {people.shape[1]} items, scores are for "
                f"{len(metric)} by {len(metric[0])}",
                todo="give one score per rated item",
            )
    return people, rows


def _check_pair(kept: int, n: int, nan: Nan, where: str) -> None:
    if nan == "raise" and kept < n:
        what = f"{n - kept} of {n} items lack a score or a rating"
        raise InputError(what, where, "fill them, or let them be dropped with nan='drop'")
    if kept < FEWEST:
        what = f"only {kept} of {n} items have both a score and a rating; a correlation needs at least {FEWEST}"
        raise InputError(what, where)


def _groups(level: str, layout: Layout, here: npt.NDArray[np.bool_], found: Array) -> int:
    if level == BY_DOCUMENT:
        return int(np.isfinite(found).sum())
    if level == BY_SYSTEM and layout.system is not None:
        return len(np.unique(layout.system[here]))
    return int(here.sum())
