"""JSON Lines: one object per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from quintet.errors import InputError
from quintet.io.bounds import DEEPEST, deeper_than
from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import decode, numbered_lines


def read_jsonl(stream: io.BufferedReader, name: str, skip_bad: bool, told: bool = True) -> Iterator[RowItem]:
    """Blank lines are not rows; every other line is one, good or bad. `told`: the name says that it is JSON Lines."""
    row = 0
    for line in numbered_lines(stream, name):
        content = line.content.strip()
        if not content:
            continue
        row += 1
        if not told and content[:1] == b"{" and content[-1:] != b"}":
            what = "an object goes on over several lines in what began as one object per line"
            raise InputError(what, f"{name}, line {line.number}", "write one object per line, or a list of objects")
        yield parse_row(line.content.rstrip(b"\r\n"), line.offset, Position(row, name, line.number), skip_bad)


def parse_row(content: bytes, offset: int, position: Position, skip_bad: bool) -> RowItem:
    try:
        return Record(position, parse_object(decode(content, offset)))
    except ValueError as error:
        bad = BadRow(position, str(error), content.decode("utf-8", "surrogateescape"))
    if skip_bad:
        return bad
    raise bad.error()


def parse_object(text: str) -> dict[str, Any]:
    """One JSON object. Raises ValueError in few words. NaN and Infinity, which JSON lacks, count as null."""
    try:
        value = json.loads(text, parse_constant=_missing, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} of the object"
        raise ValueError(f"broken JSON ({error.msg} at {place})") from None
    except RecursionError:
        raise ValueError(f"JSON nested deeper than {DEEPEST}") from None
    if text.count("[") + text.count("{") > DEEPEST and deeper_than(value):
        raise ValueError(f"JSON nested deeper than {DEEPEST}")
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {_kind(value)}")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values under one key nobody can say which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:60]!r} stands twice")
    return found


def _missing(_: str) -> None:
    return None


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
