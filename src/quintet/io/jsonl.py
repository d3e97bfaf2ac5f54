"""JSON Lines: one object per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import decode, numbered_lines


def read_jsonl(stream: io.BufferedReader, name: str, skip_bad: bool) -> Iterator[RowItem]:
    """Blank lines are not rows; every other line is one, good or bad."""
    row = 0
    for line in numbered_lines(stream, name):
        if not line.content.strip():
            continue
        row += 1
        yield parse_row(line.content.rstrip(b"\r\n"), line.offset, Position(row, name, line.number), skip_bad)


def parse_row(content: bytes, offset: int, position: Position, skip_bad: bool) -> RowItem:
    try:
        return Record(position, parse_object(decode(content, offset)))
    except ValueError as error:
        bad = BadRow(position, str(error))
    if skip_bad:
        return bad
    raise bad.error()


def parse_object(text: str) -> dict[str, Any]:
    """One JSON object. Raises ValueError in few words. NaN and Infinity, which JSON lacks, count as null."""
    try:
        value = json.loads(text, parse_constant=_missing)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} of the object"
        raise ValueError(f"broken JSON ({error.msg} at {place})") from None
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {_kind(value)}")
    return value


def _missing(_: str) -> None:
    return None


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
