"""What a study is made from: ratings by people and scores by metrics, matched by id."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.core.plain import Cells
from quintet.data.benchmark import Benchmark
from quintet.data.published import author_scores
from quintet.data.rated import canonical, mean_of_rows, own_name
from quintet.errors import InputError, UnknownName
from quintet.io.score_rows import score_rows, stem
from quintet.io.tables import open_table
from quintet.stats.coefficients import Array
from quintet.stats.correlate import Layout

Names = Sequence[str | None]

_TEXTS = ("output", "source", "context", "references", "history", "system_output", "reference", "notes", "evidence")
_NUMBERS = ("index", "row", "line", "seed", "split", "")
NOT_SCORES = frozenset(("id", "metric", "system", "group", "document", "doc_id", "system_id", *_NUMBERS, *_TEXTS))
"""Columns of a file of scores that are not scores, numbers though some may be."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings by dimension, one per item; an item without one has NaN."""

    ids: Sequence[str]
    values: Mapping[str, npt.ArrayLike]
    """Dimension to the rating of each item, or to items by annotators, whose mean is then the rating."""
    annotators: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    """Dimension to items by annotators, where `values` holds the ratings to judge by and single ones are known."""
    documents: Names | None = None
    systems: Names | None = None

    def __post_init__(self) -> None:
        check_ids(self.ids, "ratings")
        for dimension in {**self.values, **self.annotators}:
            rows = len(np.asarray((self.values if dimension in self.values else self.annotators)[dimension]))
            if rows != len(self.ids):
                raise InputError(f"{rows} ratings of {dimension} for {len(self.ids)} items")

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.values)

    def rating(self, dimension: str) -> Array:
        if dimension not in self.values:
            raise UnknownName("dimension", dimension, self.values)
        table = np.asarray(self.values[dimension], dtype=np.float64)
        return mean_of_rows(table) if table.ndim == 2 else table

    def single_ratings(self, dimension: str) -> Array | None:
        """Items by annotators, where at least two are known."""
        table = np.asarray(self.annotators.get(dimension, self.values.get(dimension)), dtype=np.float64)
        return table if table.ndim == 2 and table.shape[1] > 1 else None

    def layout(self) -> Layout:
        return Layout.of(len(self.ids), _complete(self.documents), _complete(self.systems))

    def without(self, systems: Sequence[str]) -> Ratings:
        """The items of all other systems."""
        if not systems:
            return self
        if self.systems is None:
            raise InputError("systems cannot be excluded: these items have no system ids")
        for name in systems:
            if name not in self.systems:
                raise UnknownName("system", name, {s for s in self.systems if s is not None})
        keep = np.array([name not in systems for name in self.systems])
        return self.take(np.flatnonzero(keep))

    def unanimous(self, dimension: str) -> Ratings:
        """The items that several people rated in `dimension` and all alike (GRUEN, Table 9)."""
        table = self.single_ratings(dimension)
        if table is None:
            raise InputError(f"who agrees on {dimension} cannot be told: there are no single ratings")
        given = np.isfinite(table)
        lowest = np.where(given, table, np.inf).min(axis=1)
        alike = np.where(given, table, -np.inf).max(axis=1) == lowest
        return self.take(np.flatnonzero(alike & (given.sum(axis=1) > 1)))

    def take(self, places: npt.NDArray[np.intp]) -> Ratings:
        def some(names: Names | None) -> Names | None:
            return None if names is None else [names[i] for i in places]

        return Ratings(
            ids=[self.ids[i] for i in places],
            values={name: np.asarray(table, dtype=np.float64)[places] for name, table in self.values.items()},
            annotators={name: np.asarray(table, dtype=np.float64)[places] for name, table in self.annotators.items()},
            documents=some(self.documents),
            systems=some(self.systems),
        )


@dataclass(frozen=True, eq=False)
class Scores:
    """What one metric says: by dimension, or one number per item for all of them."""

    metric: str
    values: npt.ArrayLike | Mapping[str, npt.ArrayLike]
    ids: Sequence[str] | None = None
    """`None`: in the order of the ratings, and just as many."""
    signature: str | Mapping[str, str] = ""
    """One line, or one for each dimension."""
    source: str = ""
    """The file they came from, for errors."""

    def __post_init__(self) -> None:
        if self.ids is not None:
            check_ids(self.ids, self.source or f"scores of {self.metric}")

    def signature_of(self, dimension: str) -> str:
        known = self.signature if isinstance(self.signature, str) else self.signature.get(dimension, "")
        return known or self.metric

    def rows(self, dimensions: Sequence[str], items: Sequence[str], known: Sequence[str]) -> list[Array | None]:
        """One row per dimension in the order of `items`; ids may be among `known` but nowhere else."""
        places = self._places(items, known)
        if not isinstance(self.values, Mapping):
            return [self._row(self.values, places)] * len(dimensions)
        return [self._row(self.values[d], places) if d in self.values else None for d in dimensions]

    def _row(self, values: npt.ArrayLike, places: npt.NDArray[np.intp]) -> Array:
        row = np.asarray(values, dtype=np.float64)
        expected = len(places) if self.ids is None else len(self.ids)
        if row.shape != (expected,):
            raise InputError(
                f"{row.size} scores for {expected} items", self.source or self.metric, "give one score per item"
            )
        return row[places]

    def _places(self, items: Sequence[str], known: Sequence[str]) -> npt.NDArray[np.intp]:
        if self.ids is None:
            if len(items) != len(known):
                raise InputError("scores without ids cannot be matched once systems are excluded", self.metric)
            return np.arange(len(items))
        where = {name: place for place, name in enumerate(self.ids)}
        missing = [name for name in items if name not in where]
        strangers = sorted(set(where) - set(known))
        if missing or strangers:
            raise _mismatch(self.source or f"scores of {self.metric}", items, missing, strangers)
        return np.array([where[name] for name in items], dtype=np.intp)


def check_ids(ids: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InputError(f"the id {name!r} occurs twice", where, "ids must be unique to match scores and ratings")
        seen.add(name)


def _complete(names: Names | None) -> Sequence[str] | None:
    """Ids that some items lack cannot group the items."""
    return None if names is None or any(name is None for name in names) else [str(name) for name in names]


def _mismatch(where: str, items: Sequence[str], missing: list[str], strangers: list[str]) -> InputError:
    parts = []
    if missing:
        parts.append(f"{len(missing)} of {len(items)} rated items have no score (first: {missing[0]!r})")
    if strangers:
        parts.append(f"{len(strangers)} scored ids are not rated (first: {strangers[0]!r})")
    return InputError(" and ".join(parts), where, "scores are matched by id; write the ids of the rated items")


def read_scores(
    rows: Sequence[Cells],
    dimensions: Sequence[str],
    metric: str = "scores",
    source: str = "",
    given: bool = False,
) -> list[Scores]:
    """Scores from the rows of a file: `id` and columns of numbers.

    A column named like a dimension belongs to `metric` (or to the row's own `metric` column in long files); a column
    `NAME/DIMENSION` to the metric NAME; any other column of numbers is a metric that answers every dimension, called
    by its column, or by `metric` where that name was `given` by a person.
    """
    if not rows:
        raise InputError("no scores", source)
    lacking = sum(1 for row in rows if row.get("id") in (None, ""))
    if lacking:
        raise InputError(
            f"{lacking} of {len(rows)} rows have no id", source, "scores are matched by id; add the column"
        )
    by_metric: dict[str, list[Cells]] = {}
    for row in rows:
        by_metric.setdefault(str(row.get("metric") or metric), []).append(row)
    return [one for name, own in by_metric.items() for one in _scores_of(own, dimensions, name, source, given)]


def _scores_of(rows: list[Cells], dimensions: Sequence[str], metric: str, source: str, given: bool) -> list[Scores]:
    ids = [str(row["id"]) for row in rows]
    tables: dict[str, dict[str, Array]] = {}
    alone: dict[str, Array] = {}
    columns = dict.fromkeys(key for row in rows for key in row if _may_be_score(key))
    for column in columns:
        cells = [row.get(column) for row in rows]
        name, slash, dimension = column.rpartition("/")
        answers = column in dimensions or (bool(slash) and dimension in dimensions)
        if not answers and not any(_is_number(cell) for cell in cells):
            continue
        values = np.array([_number(cell, column, place, source) for place, cell in enumerate(cells)])
        if not np.isfinite(values).any():
            raise InputError(f"column {column!r} holds no number", source, "leave it out or fill it")
        if column in dimensions:
            tables.setdefault(metric, {})[column] = values
        elif answers:
            tables.setdefault(name, {})[dimension] = values
        else:
            alone[column] = values
    found = [Scores(name, table, ids, source=source) for name, table in tables.items()]
    # A column that never changes beside others that do is a setting, not a score.
    varied = {column: values for column, values in alone.items() if len(np.unique(values[np.isfinite(values)])) > 1}
    for column, values in (varied or ({} if found else alone)).items():
        name = column if not given else metric if len(varied) <= 1 and not found else f"{metric}/{column}"
        found.append(Scores(name, values, ids, source=source))
    if not found:
        raise InputError("no column of numbers", source, f"name columns {', '.join(dimensions)} or by metric")
    return found


def _may_be_score(column: str) -> bool:
    return column not in NOT_SCORES and not column.lower().startswith("unnamed:")


def _is_number(cell: object) -> bool:
    """True for what a CSV file writes as text, too."""
    if isinstance(cell, str):
        try:
            return math.isfinite(float(cell))
        except ValueError:
            return False
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _number(cell: Any, column: str, place: int, source: str) -> float:
    if cell is None or cell == "":
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        where = f"{source}, row {place + 1}" if source else f"row {place + 1}"
        raise InputError(f"{str(cell)[:40]!r} in column {column!r} is not a number", where) from None


# A benchmark as the judge sees it: ratings without texts, and scores that others made for its items.

AUTHORS = "authors"
"""Stands for the scores that the authors of UniEval and CTC released."""


def ratings_of(benchmark: Benchmark) -> Ratings:
    """Ids, ratings, documents, systems."""
    units = benchmark.unit_examples()
    return Ratings(
        ids=[e.id for e in units],
        values={name: benchmark.per_unit(values) for name, values in benchmark.ratings.items()},
        annotators={name: benchmark.rows_per_unit(table) for name, table in benchmark.annotators.items()},
        documents=[e.group for e in units],
        systems=[e.system for e in units],
    )


def own_dimensions(dims: Sequence[str] | None, benchmarks: Sequence[Benchmark]) -> list[str] | None:
    """Dimensions as they are called here; one that no set has is refused."""
    if dims is None:
        return None
    known = {dimension for benchmark in benchmarks for dimension in benchmark.dimensions}
    asked = [name if name in known else canonical(name) for name in dims]
    for name in asked:
        if name not in known:
            raise UnknownName("dimension", name, known)
    return asked


def foreign_scores(path: str | Path, called: str, benchmark: Benchmark, folder: str | Path | None) -> list[Scores]:
    """Scores made elsewhere: a file in any table format, matched by id, or those that authors released."""
    if str(path) != AUTHORS:
        return _read_file(path, called, benchmark)
    ids = [e.id for e in benchmark.examples]
    found = author_scores(benchmark.name, folder)
    return [Scores(metric, values, ids, f"{metric} (released predictions)") for metric, values in found.items()]


def _read_file(path: str | Path, called: str, benchmark: Benchmark) -> list[Scores]:
    with open_table(str(path)) as table:
        rows = score_rows(table, [(e.id, e.output) for e in benchmark.examples])
    rows = [{own_name(key, benchmark.dimensions): value for key, value in row.items()} for row in rows]
    return read_scores(rows, benchmark.dimensions, called or stem(str(path)), str(path), given=bool(called))
