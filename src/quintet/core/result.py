"""A Result: what `quintet.score` gives back; rows in input order, plus what is needed to quote them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, overload

from quintet.core.dimension import Dimension
from quintet.core.item import Scored
from quintet.core.plain import Cells, JsonObject
from quintet.core.score import EMPTY_FIELDS, Score
from quintet.core.sessions import Session, Sessions
from quintet.errors import InputError, UnknownName

# How scores stand beside the input's own columns in a written row.

SCORE_PREFIX = "quintet."
INPUT_PREFIX = "input."


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` maps what we call a value (`coherence`) to its column (`quintet.coherence` where the input has one)."""

    input_columns: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input_columns, *self.names.values())

    def row(self, values: Cells, scores: Cells) -> JsonObject:
        """Input columns first, then ours in a fixed order. `values` is not changed."""
        ours = set(self.names.values())
        # A column that shows up after the names were settled moves aside rather than being overwritten.
        merged = {(INPUT_PREFIX + name if name in ours else name): value for name, value in values.items()}
        for name, column in self.names.items():
            merged[column] = scores.get(name)
        return merged


def score_layout(input_columns: Iterable[str], names: Iterable[str]) -> Layout:
    """Ours keep their names unless the input uses them already: then ours are prefixed, the input's never change."""
    given = tuple(input_columns)
    taken = set(given)
    columns: dict[str, str] = {}
    for name in names:
        column = name
        while column in taken:
            column = SCORE_PREFIX + column
        taken.add(column)
        columns[name] = column
    return Layout(given, columns)


@dataclass(frozen=True, slots=True)
class Column:
    """What the numbers of one column mean, and how anyone can get them again.

    >>> result = quintet.score([{"output": "a", "references": ["a"]}], metrics="ter", cache=False)
    >>> result.columns["ter"].higher_is_better
    False
    """

    label: str
    signature: str
    question: str = ""
    low: float = -math.inf
    high: float | None = None
    higher_is_better: bool = True

    @classmethod
    def of(cls, label: str, signature: str, about: Dimension) -> Column:
        return cls(label, signature, about.question, about.low, about.high, about.higher_is_better)


@dataclass(frozen=True, repr=False)
class Result:
    """`result[0]` is a row, `result["consistency"]` a column, `result[:10]` a Result of the first ten rows.

    >>> quintet.score([{"output": "a a b"}], metrics="distinct-1", cache=False).means()
    {'distinct-1': 0.6666666666666666}
    """

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

    @overload
    def __getitem__(self, key: int) -> Mapping[str, Score]: ...
    @overload
    def __getitem__(self, key: slice) -> Result: ...
    @overload
    def __getitem__(self, key: str) -> list[float]: ...
    def __getitem__(self, key: int | slice | str) -> Mapping[str, Score] | Result | list[float]:
        """A row's scores by column; a Result of some rows; the values of one column, NaN where there is none."""
        if isinstance(key, slice):
            return replace(self, rows=self.rows[key])
        if isinstance(key, str):
            if key not in self.columns:
                raise UnknownName("column of the result", key, self.columns)
            return [row.scores[key].value for row in self.rows]
        if not -len(self.rows) <= key < len(self.rows):
            raise IndexError(f"there is no row {key}: the result has {len(self.rows)}")
        return self.rows[key].scores

    def __repr__(self) -> str:
        means = ", ".join(
            f"{label} {'–' if math.isnan(mean) else f'{mean:.3f}'}" for label, mean in self.means().items()
        )
        return f"Result({len(self.rows)} row{'' if len(self.rows) == 1 else 's'}: {means})"

    def means(self) -> dict[str, float]:
        """Mean of each column over the rows that have a score."""
        means = {}
        for column in self.columns:
            values = [value for value in self[column] if not math.isnan(value)]
            means[column] = sum(values) / len(values) if values else math.nan
        return means

    def sessions(self) -> list[Session]:
        """Scores of whole conversations, where rows are turns: mean, worst turn and end of each column."""
        found = Sessions(frozenset(label for label, column in self.columns.items() if not column.higher_is_better))
        for row in self.rows:
            found.add(row)
        return list(found)

    def _repr_html_(self) -> str:
        """What a notebook shows; drawn by the report's own pieces."""
        fragment: str = import_module("quintet.report").html_fragment(self)
        return fragment

    def to_dicts(self, evidence: bool = False) -> list[JsonObject]:
        """Plain rows: the input's own columns, then one per score, `notes`, and `evidence` if asked for."""
        layout = self.layout(evidence)
        return [flat_row(row, layout) for row in self.rows]

    def layout(self, evidence: bool = False) -> Layout:
        given = dict.fromkeys(name for row in self.rows for name in row.item.carried)
        return row_layout(given, self.columns, evidence)

    def to_pandas(self, evidence: bool = False) -> Any:
        """A `pandas.DataFrame` of `to_dicts`."""
        return _library("pandas", "to_pandas").DataFrame(self.to_dicts(evidence))

    def to_polars(self, evidence: bool = False) -> Any:
        """A `polars.DataFrame` of `to_dicts`."""
        return _library("polars", "to_polars").DataFrame(self.to_dicts(evidence), infer_schema_length=None)

    def save(self, path: str | os.PathLike[str], *, evidence: bool = False) -> None:
        """Writes the rows in the format that the name's ending says: jsonl, json, csv, tsv, parquet, xlsx or md.

        A name that ends in html gets the report. Any other ending is refused."""
        import_module("quintet._saved").save(self, path, evidence)

    def report(
        self,
        path: str | os.PathLike[str],
        title: str = "quintet report",
        *,
        baseline: Result | str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes one HTML page with charts and the evidence behind each score.

        With a `baseline` (a Result, a scored file, a kept run) it says what has changed since."""
        pages = import_module("quintet.report")
        since = "" if baseline is None else pages.regression_section(self, baseline)
        pages.write_report(path, self, title=title, since=since)

    def compare(self, other: Result | str | os.PathLike[str], *, tie: float = 0.0, common_only: bool = False) -> Any:
        """This result minus `other`, a Result or a scored file, per column they share: rows are paired by id.

        Gives a list of `Difference`: means, interval, p after correction, wins and losses."""
        return import_module("quintet._saved").compare_two(self, other, tie=tie, common_only=common_only)


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{method} needs {name}, which is not installed", todo=f"run: pip install {name}") from None


def row_layout(input_columns: Iterable[str], labels: Iterable[str], evidence: bool) -> Layout:
    """One column per score, then `notes`, `evidence` if asked for, and `raw`; named once for all rows."""
    return score_layout(input_columns, [*labels, "notes", *(["evidence"] if evidence else []), "raw"])


def flat_row(scored: Scored, layout: Layout) -> JsonObject:
    """One output row: the input's columns, one column per score, `notes` where a reader must know something, `raw`
    where a row's cells could not be told apart."""
    values = dict(scored.item.carried)
    if not values and scored.item.example is not None:
        values["id"] = scored.item.example.id
    ours: JsonObject = {
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
