"""A benchmark as a table that `quintet score` reads: one row per example, human ratings beside the texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from quintet.data.benchmark import Benchmark
from quintet.io.writers import open_writer


def export(benchmark: Benchmark, path: str | os.PathLike[str]) -> int:
    """Writes `path` (JSON lines unless its suffix says otherwise) and returns the number of rows."""
    with open_writer(path) as writer:
        for row in rows(benchmark):
            writer.write(row)
    return writer.rows


def rows(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """Fields that an example lacks are left out; a missing rating is NaN here and null in the file."""
    for index, example in enumerate(benchmark.examples):
        row: dict[str, Any] = {"id": example.id, "system": example.system, "doc_id": example.group}
        row |= {field: getattr(example, field) for field in ("output", "source", "context")}
        row["references"] = list(example.references) or None
        row["history"] = None if example.history is None else list(example.history)
        row = {name: value for name, value in row.items() if value is not None}
        row["human"] = {name: float(values[index]) for name, values in benchmark.ratings.items()}
        yield row
