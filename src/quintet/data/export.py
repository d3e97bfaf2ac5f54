"""A benchmark as JSON lines that `quintet score` reads: one row per example, human ratings beside the texts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quintet.data.benchmark import Benchmark
from quintet.errors import InputError


def export(benchmark: Benchmark, path: str | os.PathLike[str]) -> int:
    """Writes `path` and returns the number of rows; fields that an example lacks are left out, NaN becomes null."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    count = 0
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for row in rows(benchmark):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
        part.replace(target)
    except OSError as problem:
        raise InputError(f"cannot be written ({problem.strerror})", str(target)) from problem
    return count


def rows(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    for index, example in enumerate(benchmark.examples):
        row: dict[str, Any] = {"id": example.id, "system": example.system, "doc_id": example.group}
        row |= {field: getattr(example, field) for field in ("output", "source", "context")}
        row["references"] = list(example.references) or None
        row["history"] = None if example.history is None else list(example.history)
        row = {name: value for name, value in row.items() if value is not None}
        row["human"] = {name: _plain(values[index]) for name, values in benchmark.ratings.items()}
        yield row


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
