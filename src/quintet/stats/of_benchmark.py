"""A benchmark as the judge sees it: ratings without texts, and scores that others made for its items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quintet.data.author_scores import author_scores
from quintet.data.benchmark import Benchmark
from quintet.data.dimension_names import canonical, own_name
from quintet.errors import UnknownName
from quintet.io.score_rows import score_rows, stem
from quintet.io.tables import open_table
from quintet.stats.inputs import Ratings, Scores, read_scores

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
