"""Rows with scores and what people said of them, from a scored result or from a file that has both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.core.plain import Cells
from quintet.core.result import Result
from quintet.errors import InputError, UnknownName
from quintet.io.records import BadRow, Table
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table
from quintet.io.values import value_at

# What people said of an output, as it stands in a file: a number, yes or no, or several of either.

_YES = frozenset(("yes", "y", "true", "good", "ok", "pass", "accept", "accepted", "correct", "consistent"))
_NO = frozenset(("no", "n", "false", "bad", "fail", "reject", "rejected", "incorrect", "inconsistent"))


def column_of_numbers(rows: Sequence[Cells], column: str, where: str) -> list[float]:
    """One number per row: a rating, 1 and 0 for yes and no, a mean over several; NaN for an empty cell."""
    known = dict.fromkeys(name for row in rows for name in row)
    if column not in known and column.partition(".")[0] not in known:
        raise UnknownName(f"column of {where}", column, known)
    return [_number(value_at(row, column), column, place, where) for place, row in enumerate(rows, 1)]


def _number(cell: object, column: str, place: int, where: str) -> float:
    if isinstance(cell, list | tuple):
        several = [_number(each, column, place, where) for each in cell]
        known = [value for value in several if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    if isinstance(cell, bool):
        return float(cell)
    word = str(cell).strip().lower()
    if word in _YES | _NO:
        return float(word in _YES)
    try:
        value = float(word)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        what = f"{str(cell)[:40]!r} in column {column!r} is neither a number nor yes or no"
        raise InputError(what, f"{where}, row {place}")
    return value


def named_columns(text: str, option: str) -> dict[str, str]:
    """`consistency=ok,fluency=rating`, or one column without a dimension (under the empty name)."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        # A metric's own name may hold an equals sign (bertscore-f:layer=12), so the last one counts.
        name, _, column = part.rpartition("=")
        if not column.strip() or name.strip() in found:
            raise InputError(f"cannot read {text!r}", option, "write DIMENSION=COLUMN,DIMENSION=COLUMN")
        found[name.strip()] = column.strip()
    if not found or ("" in found and len(found) > 1):
        raise InputError(f"cannot read {text!r}", option, "write DIMENSION=COLUMN,DIMENSION=COLUMN")
    return found


Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    pairs: Mapping[str, tuple[Numbers, Numbers]]
    """Dimension to (scores, labels), one of each per row, NaN where missing."""
    groups: Sequence[str | None] | None
    """What the outputs of one input share."""


def of_result(result: Result, labels: Mapping[str, str], where: str) -> LabelledRows:
    """Scores of texts that were scored just now; labels stand in the input's own columns."""
    wanted = _named(labels, tuple(result.columns), "scored")
    rows = [row.item.carried for row in result.rows]
    groups = [row.item.example.group if row.item.example else None for row in result.rows]
    said = {name: np.array(column_of_numbers(rows, column, where)) for name, column in wanted.items()}
    return LabelledRows({name: (np.array(result[name], dtype=np.float64), said[name]) for name in wanted}, _any(groups))


def of_file(data: Any, labels: Mapping[str, str], scores: Mapping[str, str], skip_bad: bool = False) -> LabelledRows:
    """Scores and labels that stand side by side in a file or a list of rows."""
    table = open_table(data, skip_bad=skip_bad) if isinstance(data, str | Path) else rows_from_python(data)
    with table:
        rows = [record.values for record in table if not isinstance(record, BadRow)]
    if not rows:
        raise InputError("has no rows", table.name)
    wanted = _named(labels, scores, "named in --scores")
    found = {
        name: (
            np.array(column_of_numbers(rows, scores[name], table.name)),
            np.array(column_of_numbers(rows, column, table.name)),
        )
        for name, column in wanted.items()
    }
    return LabelledRows(found, _groups(table, rows))


def _named(labels: Mapping[str, str], known: Sequence[str] | Mapping[str, str], how: str) -> dict[str, str]:
    """A column without a dimension belongs to the only one there is."""
    if set(labels) == {""}:
        if len(known) != 1:
            raise InputError("one column of labels for several dimensions", todo="write DIMENSION=COLUMN")
        return {next(iter(known)): labels[""]}
    for name in labels:
        if name not in known:
            raise UnknownName(f"dimension {how}", name, known)
    return dict(labels)


def _groups(table: Table, rows: Sequence[Cells]) -> list[str | None] | None:
    from quintet.io.dialects import PREFERRED, plain_name

    plain = {plain_name(name): name for name in reversed(table.columns)}
    column = next((plain[name] for name in PREFERRED["group"] if name in plain), None)
    if column is None:
        return None
    return _any([None if row.get(column) in (None, "") else str(row[column]) for row in rows])


def _any(groups: list[str | None]) -> list[str | None] | None:
    return groups if any(group is not None for group in groups) else None
