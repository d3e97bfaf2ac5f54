"""Rows with scores and what people said of them, from a scored result or from a file that has both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet.core.result import Result
from quintet.errors import InputError, UnknownName
from quintet.io.label_cells import column_of_numbers
from quintet.io.records import BadRow, Table
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table

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


def _groups(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[str | None] | None:
    from quintet.io.dialects import PREFERRED, plain_name

    plain = {plain_name(name): name for name in reversed(table.columns)}
    column = next((plain[name] for name in PREFERRED["group"] if name in plain), None)
    if column is None:
        return None
    return _any([None if row.get(column) in (None, "") else str(row[column]) for row in rows])


def _any(groups: list[str | None]) -> list[str | None] | None:
    return groups if any(group is not None for group in groups) else None
