"""A Result: what `quintet.score` gives back; rows in input order, plus what is needed to quote them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from quintet.core.dimension import Dimension
from quintet.core.item import Scored
from quintet.core.layout import Layout, score_layout
from quintet.core.score import EMPTY_FIELDS, Score


@dataclass(frozen=True, slots=True)
class Column:
    """What the numbers of one column mean, and how anyone can get them again."""

    label: str
    signature: str
    question: str = ""
    low: float = -math.inf
    high: float | None = None
    higher_is_better: bool = True

    @classmethod
    def of(cls, label: str, signature: str, about: Dimension) -> Column:
        return cls(label, signature, about.question, about.low, about.high, about.higher_is_better)


@dataclass(frozen=True)
class Result:
    rows: Sequence[Scored]
    columns: Mapping[str, Column]
    """By label: question, range, direction and signature."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Dimensions of the task that were not scored, and why."""
    read_as: str = ""
    """Which column of the input became which field: `output=answer, source=contexts (ragas)`."""

    @property
    def signatures(self) -> dict[str, str]:
        """By column: one line with which anyone can get the same number."""
        return {label: column.signature for label, column in self.columns.items()}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Score]]:
        return (row.scores for row in self.rows)

    def __getitem__(self, column: str) -> list[float]:
        """The values of one column; NaN where there is none."""
        return [row.scores[column].value for row in self.rows]

    def means(self) -> dict[str, float]:
        """Mean of each column over the rows that have a score."""
        means = {}
        for column in self.columns:
            values = [value for value in self[column] if not math.isnan(value)]
            means[column] = sum(values) / len(values) if values else math.nan
        return means

    def _repr_html_(self) -> str:
        """What a notebook shows; drawn by the report's own pieces."""
        fragment: str = import_module("quintet.report").html_fragment(self)
        return fragment

    def to_dicts(self, evidence: bool = False) -> list[dict[str, Any]]:
        """Plain rows, ready for `pandas.DataFrame`, `polars.DataFrame` or a file."""
        given = dict.fromkeys(name for row in self.rows for name in row.item.carried)
        layout = row_layout(given, self.columns, evidence)
        return [flat_row(row, layout) for row in self.rows]


def row_layout(input_columns: Iterable[str], labels: Iterable[str], evidence: bool) -> Layout:
    """One column per score, then `notes`, `evidence` if asked for, and `raw`; named once for all rows."""
    return score_layout(input_columns, [*labels, "notes", *(["evidence"] if evidence else []), "raw"])


def flat_row(scored: Scored, layout: Layout) -> dict[str, Any]:
    """One output row: the input's columns, one column per score, `notes` where a reader must know something, `raw`
    where a row's cells could not be told apart."""
    values = dict(scored.item.carried)
    if not values and scored.item.example is not None:
        values["id"] = scored.item.example.id
    ours: dict[str, Any] = {
        label: None if score.missing else round(score.value, 6) for label, score in scored.scores.items()
    }
    ours["notes"] = notes_of(scored)
    ours["evidence"] = {label: score.to_json() for label, score in scored.scores.items()}
    ours["raw"] = scored.item.raw
    row = layout.row(values, ours)
    for name in ("notes", "raw"):
        if not ours[name]:
            del row[layout.names[name]]
    return row


def notes_of(scored: Scored) -> list[str]:
    """Flags and cuts of all columns, each said once."""
    notes: dict[str, None] = {}
    if scored.item.problem:
        notes[scored.item.problem] = None
    for label, score in scored.scores.items():
        for flag in score.flags:
            own = flag in EMPTY_FIELDS or (score.missing and not scored.item.problem)
            notes[f"{label}: {flag}" if own else flag] = None
        for name, count in score.cut.items():
            notes[f"{label}: {count} tokens of {name} were not seen"] = None
    return list(notes)
