"""What a loader gives back: examples and, for each dimension, ratings in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.example import Example
from quintet.data.dimension_names import canonical

Floats = NDArray[np.float64]
Unit = Literal["example", "group"]


@dataclass(frozen=True, eq=False)
class Rated:
    examples: tuple[Example, ...]
    ratings: Mapping[str, Floats]
    annotators: Mapping[str, Floats] = field(default_factory=dict)
    original_names: Mapping[str, str] = field(default_factory=dict)
    unit: Unit = "example"
    raters: Sequence[Sequence[str]] | None = None
    """Who gave each rating: for every example the persons behind the columns of `annotators`, where that is known."""
    rescaled: bool = False
    """True where a variant left the scale that the catalogue names."""


def number(value: Any) -> float:
    """NaN for what is not a rating: null, an empty cell, FED's "N/A (no errors)"."""
    try:
        return float(value) if value is not None else math.nan
    except (TypeError, ValueError):
        return math.nan


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """One array per name, NaN where a row lacks it; names in the order of their first appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([number(row.get(name)) for row in rows]) for name in names}


def annotator_table(lists: Sequence[Iterable[Any]]) -> Floats:
    """(items, annotators): the k-th rating of each item in column k, short lists filled with NaN."""
    rows = [[number(value) for value in ratings] for ratings in lists]
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for index, ratings in enumerate(rows):
        table[index, : len(ratings)] = ratings
    return table


def mean_of_rows(table: Floats) -> Floats:
    """Mean over the ratings that are there; NaN for an item without any."""
    present = ~np.isnan(table)
    count = present.sum(axis=1)
    total = np.where(present, table, 0.0).sum(axis=1)
    # Ratings that are equal on paper must be tied, whatever the order of summation.
    return np.where(count > 0, np.round(total / np.maximum(count, 1), 10), np.nan)


def from_means(examples: Iterable[Example], rows: Sequence[Mapping[str, Any]], source: str = "") -> Rated:
    """From rows of {name in the file: mean rating}."""
    found = columns(rows)
    names = {canonical(name, source): name for name in found}
    return Rated(tuple(examples), {new: found[old] for new, old in names.items()}, original_names=names)


def from_lists(
    examples: Iterable[Example], rows: Sequence[Mapping[str, Sequence[Any]]], source: str = "", unit: Unit = "example"
) -> Rated:
    """From rows of {name in the file: ratings of each annotator}; the rating of an item is their mean."""
    names = {canonical(name, source): name for row in rows for name in row}
    tables = {new: annotator_table([row.get(old, ()) for row in rows]) for new, old in names.items()}
    several = {name: table for name, table in tables.items() if table.shape[1] > 1}
    return Rated(tuple(examples), {name: mean_of_rows(t) for name, t in tables.items()}, several, names, unit)
