"""Files of scores, ours or made elsewhere, as rows with an id."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError, UnknownName
from quintet.io.logs import inspect_samples, of_log
from quintet.io.records import BadRow, Record, Table
from quintet.io.runs import is_run, rows_of
from quintet.io.tables import open_table

NESTED = ("predict_scores", "scores", "quintet")
"""Columns that hold an object of scores; UniEval's releases put predictions in the first and ratings in the second."""
OUTPUTS = ("system_output", "output", "prediction", "hypothesis", "response", "summary", "answer")
_NOT_SCORES = {"id", "doc_id", "system_id", "group", "row", "line", "index"}


def score_rows(table: Table, items: Sequence[tuple[str, str]]) -> Sequence[Cells]:
    """Rows with an id. Without ids, rows are taken in order if they repeat the outputs of `items` (id, output)."""
    rows = [_flat(record.values) for record in _records(table)]
    if any(row.get("id") not in (None, "") for row in rows):
        return rows
    column = next((name for name in OUTPUTS if rows and name in rows[0]), None)
    if column is None:
        raise InputError("rows have no id", table.name, "scores are matched by id; add the column")
    same = sum(_plain(row.get(column)) == _plain(text) for row, (_, text) in zip(rows, items, strict=False))
    if len(rows) != len(items) or same != len(items):
        what = f"rows have no id, and {same} of {len(rows)} repeat the outputs of the {len(items)} rated items in order"
        raise InputError(what, table.name, "scores are matched by id; add the column")
    return [{**row, "id": name} for row, (name, _) in zip(rows, items, strict=True)]


def scores_by_system(
    files: Sequence[str], dims: Sequence[str] | None
) -> list[tuple[str, list[str], dict[str, list[float]]]]:
    """(system, ids, dimension to scores): one system per file, or the systems of one file, paired by its documents."""
    named = [(name or stem(path), path) for name, path in map(named_file, files)]
    if len(named) == 1:
        return _systems_of(named[0][1], dims)
    tables = [(name, read_score_rows(path)) for name, path in named]
    shared = set.intersection(*(set(_numeric(rows, dims)) for _, rows in tables))
    columns = {name for _, rows in tables for row in rows for name in row}
    wanted = _wanted(dims, shared, columns, " and ".join(files))
    return [(name, [str(row["id"]) for row in rows], score_columns(rows, wanted)) for name, rows in tables]


def _systems_of(path: str, dims: Sequence[str] | None) -> list[tuple[str, list[str], dict[str, list[float]]]]:
    rows = read_score_rows(path)
    systems: dict[str, list[Cells]] = {}
    for row in rows:
        name = row.get("system") or row.get("system_id") or row.get("model")
        if name is None:
            raise InputError("one file without a system column", path, "give one scored file per system")
        systems.setdefault(str(name), []).append(row)
    wanted = _wanted(dims, set(_numeric(rows, dims)), {name for row in rows for name in row}, path)
    key = next((k for k in ("doc_id", "group", "document_id") if all(row.get(k) is not None for row in rows)), None)
    if key is None:
        raise InputError("rows have no doc_id to pair systems by", path, "add it, or give one scored file per system")
    return [(name, [str(r[key]) for r in own], score_columns(own, wanted)) for name, own in systems.items()]


def _wanted(dims: Sequence[str] | None, shared: set[str], columns: set[str], where: str) -> list[str]:
    if not dims:
        if not shared:
            todo = "name one with --dims, or pass --task to score texts now"
            raise InputError("no column of scores that all systems have", where, todo)
        return sorted(shared)
    for name in dims:
        if name not in shared:
            raise UnknownName(f"column of scores in {where}", name, columns)
    return list(dims)


def read_score_rows(path: str, wanted: Sequence[str] = ()) -> list[Cells]:
    """All rows of a file with their scores beside the other columns; a row without an id has its number as one.

    A kept run (`@-1`, `last-on-main`) is read as a file of ids and scores; `wanted` are columns it must have."""
    if is_run(path):
        return rows_of(path, wanted)
    if path.endswith(".eval"):
        found = [of_log(row) for row in inspect_samples(path)]
        return [row for row in found if row is not None]
    with open_table(path) as table:
        rows = [of_log(record.values) or _flat(record.values) for record in _records(table)]
    return [row if row.get("id") is not None else {**row, "id": str(k)} for k, row in enumerate(rows, 1)]


def _records(table: Table) -> list[Record]:
    found = []
    for record in table:
        if isinstance(record, BadRow):
            raise record.error()
        found.append(record)
    return found


def _flat(row: Cells) -> JsonObject:
    """Scores out of a nested object; the first of NESTED that the row has counts."""
    nested = next((name for name in NESTED if isinstance(row.get(name), Mapping)), None)
    flat = {key: value for key, value in row.items() if key not in NESTED}
    return flat if nested is None else {**flat, **row[nested]}


def _numeric(rows: Sequence[Cells], dims: Sequence[str] | None) -> dict[str, None]:
    """Columns (among `dims`, if named) that hold a number or nothing in every row, and a number in one."""
    names = dict.fromkeys(n for row in rows for n in row if n not in _NOT_SCORES and (not dims or n in dims))
    return {n: None for n in names if _is_numeric([row.get(n) for row in rows], n)}


def _is_numeric(cells: Sequence[object], column: str) -> bool:
    numbers = [_number(cell) for cell in cells]
    given = sum(n is not None and not math.isnan(n) for n in numbers)
    strange = [place for place, n in enumerate(numbers) if n is None]
    if strange and given > len(numbers) / 2:
        what = f"{str(cells[strange[0]])[:40]!r} in column {column!r} is not a number"
        raise InputError(what, f"row {strange[0] + 1}", "mend it, or name other columns with --dims")
    return not strange and given > 0


def scores_in(rows: Sequence[Cells], where: str, dims: Sequence[str] | None = None) -> dict[str, None]:
    """The columns that hold scores."""
    try:
        return _numeric(rows, dims)
    except InputError as error:
        raise InputError(error.what, f"{where}, {error.where}", error.todo) from None


def score_columns(rows: Sequence[Cells], names: Sequence[str]) -> dict[str, list[float]]:
    """The named columns as numbers; NaN where a cell is empty or holds none."""
    return {name: [n if (n := _number(row.get(name))) is not None else math.nan for row in rows] for name in names}


def _number(cell: Any) -> float | None:
    """NaN for an empty cell, None for what is no number."""
    if cell is None or cell == "":
        return math.nan
    if isinstance(cell, bool):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def named_file(text: str) -> tuple[str, str]:
    """`NAME=FILE` or FILE as (name, path); no name where none was given."""
    name, equals, path = text.partition("=")
    return (name, path) if equals else ("", text)


def stem(path: str) -> str:
    return Path(path).name.partition(".")[0]
