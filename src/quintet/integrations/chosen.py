"""What to score with, chosen once and used batch by batch: the part that all integrations share."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from quintet import _api as api
from quintet.core.evidence import weakest
from quintet.core.metric import Metric
from quintet.core.options import Columns, Options
from quintet.core.plain import Cells, Foreign, JsonObject
from quintet.core.result import Result, row_layout
from quintet.core.score import Score
from quintet.errors import InputError, UnknownName

_one_at_a_time = threading.Lock()
"""MLflow and Inspect ask from many threads; passes over texts are shared and dropped between runs."""


class Choice(TypedDict, total=False):
    """What may be given beside the task; as in `core.options`."""

    dims: Sequence[str] | str | None
    metrics: Sequence[str | Metric] | str | None
    columns: Columns
    model: str | None
    fast: bool
    skip_bad: bool
    cache: bool | str


class Chosen(Options):
    """Used from many threads."""

    def score(self, data: Foreign) -> Result:
        with _one_at_a_time:
            return api.score_with(self, data)


def choose(
    task: str | None = None,
    *,
    dims: Sequence[str] | str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    model: str | None = None,
    fast: bool = False,
    skip_bad: bool = False,
    cache: bool | str = True,
) -> Chosen:
    if task is None and not metrics:
        raise InputError("neither a task nor a metric was named", todo="give task=… or metrics=…")
    return Chosen(task, dims, metrics, columns, model, fast=fast, skip_bad=skip_bad, cache=cache)


def choose_for_rows(task: str | None = None, **options: Unpack[Choice]) -> Chosen:
    """For rows made by `row_of`: their output is settled, even where the tool's rows have an answer of their own."""
    from quintet.io.columns import parse_columns

    settled: Any = {**parse_columns(options.get("columns")), "output": ("output",)}
    options["columns"] = settled
    return choose(task, **options)


Turns = Literal["mean", "worst", "end"]
"""Which of a conversation's turns its score is made of."""


@dataclass(frozen=True)
class Found:
    """The one score of a tool that takes one score per metric."""

    value: float
    """NaN where there is none: the answer declines to answer, the source is empty."""
    reason: str
    lower_is_better: bool
    signature: str

    @property
    def missing(self) -> bool:
        return math.isnan(self.value)

    def holds(self, threshold: float) -> bool:
        return self.value <= threshold if self.lower_is_better else self.value >= threshold


@dataclass(frozen=True)
class OneScore:
    """A dimension of a task, or a metric by its name."""

    name: str
    chosen: Chosen
    turns: Turns = "mean"

    def __call__(self, row: Cells) -> Found:
        """`InputError` or `MissingField` where the row lacks what the dimension needs."""
        result = self.chosen.score([dict(row)])
        if len(result.columns) != 1:
            raise InputError(
                f"{self.name} gives {len(result.columns)} scores", todo=f"name one: {', '.join(result.columns)}"
            )
        (label,) = result.columns
        first, *more = (scored.scores[label] for scored in result.rows)
        column = result.columns[label]
        reason = self._reason(result, label, [first, *more])
        value = self._of_turns(result, label) if more else first.value
        return Found(value, reason, not column.higher_is_better, result.signatures[label])

    def _of_turns(self, result: Result, label: str) -> float:
        sessions = result.sessions()
        if len(sessions) != 1:
            raise InputError(f"{self.name}: {len(result.rows)} rows where one was given")
        return float(getattr(sessions[0].scores[label], self.turns))

    def _reason(self, result: Result, label: str, scores: Sequence[Score]) -> str:
        """The evidence of the row, or of the worst turn."""
        sign = 1.0 if result.columns[label].higher_is_better else -1.0
        at = min(range(len(scores)), key=lambda k: (scores[k].missing, sign * scores[k].value))
        example = result.rows[at].item.example
        output = example.output if example else ""
        said = "; ".join(filter(None, [weakest(scores[at], output), *scores[at].flags]))
        return f"turn {at + 1}: {said}" if said and len(scores) > 1 else said


def choose_one(name: str, task: str | None = None, *, turns: Turns = "mean", **options: Unpack[Choice]) -> OneScore:
    """`name`: a dimension of `task`; without one, a metric, or a name that other tools have for one."""
    if turns not in ("mean", "worst", "end"):
        raise UnknownName("choice of turns", turns, ("mean", "worst", "end"))
    if task is not None:
        options.setdefault("dims", [name])
    else:
        options.setdefault("metrics", [name])
    return OneScore(name, choose(task, **options), turns)


def score_columns(result: Result, given: Sequence[str]) -> dict[str, list[float | None]]:
    """The new columns beside those there are: `quintet.fluency` where the table has a `fluency` already."""
    names = row_layout(given, result.columns, evidence=False).names
    return {names[c]: [None if v != v else v for v in result[c]] for c in result.columns}


def row_of(output: str, **given: Foreign) -> JsonObject:
    """One row: the output, and what stands beside it; a mapping is opened, anything else keeps its name."""
    row: JsonObject = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            row.update({str(key): inner for key, inner in value.items()})
        elif value is not None:
            row[name] = value
    return {**row, "output": output}
