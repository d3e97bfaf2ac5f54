"""What a gate looks at: rows with an id, scores and a line of evidence, from a scored file or scored now."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.cli.screen import shorten, weakest
from quintet.core.result import Result
from quintet.core.score import EMPTY_FIELDS, Score
from quintet.errors import InputError, UnknownName
from quintet.io.score_rows import OUTPUTS, read_score_rows, score_columns

Array = npt.NDArray[np.float64]
_WIDE = 90


@dataclass(frozen=True, eq=False)
class Subject:
    name: str
    ids: tuple[str, ...]
    values: Mapping[str, Array]
    """By dimension, one per row; NaN where there is no score."""
    evidence: Mapping[str, tuple[str, ...]]
    signatures: Mapping[str, str]
    """Empty for a file scored elsewhere or earlier: it does not say how."""

    def complete(self, dimension: str, skip_bad: bool) -> None:
        """A gate that quietly leaves rows out lets them through; it says so unless it was told to."""
        missing = np.flatnonzero(np.isnan(self.values[dimension]))
        if len(missing) == len(self.ids):
            raise InputError(f"no row has a score of {dimension}", self.name)
        if len(missing) and not skip_bad:
            what = (
                f"{len(missing)} of {len(self.ids)} rows have no score of {dimension}, or one without the text that it"
                f" needs (first: {self.ids[missing[0]]})"
            )
            raise InputError(what, self.name, "pass --skip-bad to judge the others")


def scored_file(path: str, dimensions: Sequence[str]) -> Subject:
    rows = read_score_rows(path)
    if not rows:
        raise InputError("has no rows", path)
    known = dict.fromkeys(name for row in rows for name in row)
    for name in dimensions:
        if name not in known:
            raise InputError(str(UnknownName("column", name, known)), path, "or give --task to score it now")
    values = {name: np.array(column) for name, column in score_columns(rows, dimensions).items()}
    for name, column in values.items():
        wrong = [row[name] for row, v in zip(rows, column, strict=True) if math.isnan(v) and _is_text(row.get(name))]
        if wrong:
            raise InputError(f"column {name} holds {shorten(str(wrong[0]), 30)!r}, which is no number", path)
        # An endless score would carry the mean with it, and one made without a needed text says nothing.
        column[~np.isfinite(column)] = math.nan
        column[[_stored_empty(row, name) for row in rows]] = math.nan
    ids = tuple(str(row["id"]) for row in rows)
    evidence = {name: tuple(_stored_line(row, name) for row in rows) for name in dimensions}
    return Subject(path, ids, values, evidence, {})


def scored_now(result: Result, name: str, dimensions: Sequence[str]) -> Subject:
    for dimension in dimensions:
        if dimension not in result.columns:
            why = result.left_out.get(dimension)
            if why is not None:
                raise InputError(f"{dimension} was not scored: {why}", name)
            raise UnknownName(f"dimension scored in {name}", dimension, result.columns)
    ids = tuple(row.item.example.id if row.item.example else f"row {k}" for k, row in enumerate(result.rows, 1))
    values = {d: np.array([_judged(row.scores[d]) for row in result.rows], dtype=np.float64) for d in dimensions}
    evidence = {
        d: tuple(_line(row.scores[d], row.item.example.output if row.item.example else "") for row in result.rows)
        for d in dimensions
    }
    return Subject(name, ids, values, evidence, {d: result.signatures[d] for d in dimensions})


def _judged(score: Score) -> float:
    return math.nan if EMPTY_FIELDS & set(score.flags) else score.value


def _stored_empty(row: Mapping[str, Any], dimension: str) -> bool:
    """From the `notes` that `quintet score` writes: a list, in a CSV file as JSON."""
    notes = _plain(row.get("notes"))
    return isinstance(notes, Sequence) and any(f"{dimension}: {flag}" in notes for flag in EMPTY_FIELDS)


def _plain(stored: Any) -> Any:
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(stored)
    except ValueError:
        return None


def _line(score: Score, output: str) -> str:
    return "; ".join(filter(None, [weakest(score, output), *score.flags[:1]])) or shorten(output, _WIDE)


def _stored_line(row: Mapping[str, Any], dimension: str) -> str:
    """From the `evidence` column that `quintet score --evidence` writes, else the output itself."""
    output = next((str(row[name]) for name in OUTPUTS if row.get(name)), "")
    stored = _plain(row.get("evidence"))
    plain = stored.get(dimension) if isinstance(stored, Mapping) else None
    if not isinstance(plain, Mapping):
        return shorten(output, _WIDE)
    try:
        return _line(Score.from_json(plain), output)
    except (KeyError, TypeError, AttributeError, IndexError):
        return shorten(output, _WIDE)


def _is_text(cell: Any) -> bool:
    return cell not in (None, "") and not (isinstance(cell, float) and math.isnan(cell))
