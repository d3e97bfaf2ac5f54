"""What people said of an output, as it stands in a file: a number, yes or no, or several of either."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet.io.values import value_at

_YES = frozenset(("yes", "y", "true", "good", "ok", "pass", "accept", "accepted", "correct", "consistent"))
_NO = frozenset(("no", "n", "false", "bad", "fail", "reject", "rejected", "incorrect", "inconsistent"))


def column_of_numbers(rows: Sequence[Mapping[str, Any]], column: str, where: str) -> list[float]:
    """One number per row: a rating, 1 and 0 for yes and no, a mean over several; NaN for an empty cell."""
    known = dict.fromkeys(name for row in rows for name in row)
    if column not in known and column.partition(".")[0] not in known:
        raise UnknownName(f"column of {where}", column, known)
    return [_number(value_at(row, column), column, place, where) for place, row in enumerate(rows, 1)]


def _number(cell: Any, column: str, place: int, where: str) -> float:
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
