"""What to score with, chosen once and used batch by batch: the part that all integrations share."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from quintet import _api as api
from quintet.core.options import Options
from quintet.core.result import Result, row_layout
from quintet.errors import InputError

_one_at_a_time = threading.Lock()
"""MLflow and Inspect ask from many threads; passes over texts are shared and dropped between runs."""


class Chosen(Options):
    """Used from many threads."""

    def score(self, data: Any) -> Result:
        with _one_at_a_time:
            return api.score_with(self, data)


def choose(
    task: str | None = None,
    *,
    dims: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    model: str | None = None,
    skip_bad: bool = False,
    cache: bool | str = True,
) -> Chosen:
    if task is None and not metrics:
        raise InputError("neither a task nor a metric was named", todo="give task=… or metrics=…")
    return Chosen(task, dims, metrics, columns, model, skip_bad=skip_bad, cache=cache)


def score_columns(result: Result, given: Sequence[str]) -> dict[str, list[float | None]]:
    """The new columns beside those there are: `quintet.fluency` where the table has a `fluency` already."""
    names = row_layout(given, result.columns, evidence=False).names
    return {names[c]: [None if v != v else v for v in result[c]] for c in result.columns}


def row_of(output: str, **given: Any) -> dict[str, Any]:
    """One row: the output, and what stands beside it; a mapping is opened, anything else keeps its name."""
    row: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            row.update({str(key): inner for key, inner in value.items()})
        elif value is not None:
            row[name] = value
    return {**row, "output": output}
