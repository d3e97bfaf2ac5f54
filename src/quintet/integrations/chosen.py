"""What to score with, chosen once and used batch by batch: the part that all integrations share."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintet import _api as api
from quintet.core.result import Result, row_layout
from quintet.errors import InputError

_one_at_a_time = threading.Lock()
"""MLflow and Inspect ask from many threads; passes over texts are shared and dropped between runs."""


@dataclass(frozen=True)
class Chosen:
    """A task (all its dimensions or those in `dims`) or metrics, as `quintet.score` takes them."""

    task: str | None = None
    dims: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    columns: str | None = None
    """output=summary,source=article"""
    model: str | None = None
    skip_bad: bool = False
    cache: bool | str = True

    def score(self, data: Any) -> Result:
        with _one_at_a_time:
            return api.score(
                data,
                self.task,
                dims=self.dims,
                metrics=self.metrics,
                columns=self.columns,
                model=self.model,
                skip_bad=self.skip_bad,
                cache=self.cache,
            )


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
    written = (
        ",".join(f"{field}={name}" for field, name in columns.items()) if isinstance(columns, Mapping) else columns
    )
    return Chosen(task, _names(dims), _names(metrics), written, model, skip_bad, cache)


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


def _names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (given,) if isinstance(given, str) else tuple(given)
