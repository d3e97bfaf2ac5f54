"""Rows of JSON: one object a line, or one array of objects, read as a stream."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from quintet._checked import distinct
from quintet.core.plain import JsonObject
from quintet.errors import InputError
from quintet.io.bounds import DEEPEST, ROW, deeper_than
from quintet.io.dialects import unwrapped
from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import decode, numbered_lines, read_chunk, without_bom
from quintet.io.values import is_messages

# JSON Lines: one object per line.


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


def parse_object(text: str) -> JsonObject:
    """One JSON object. Raises ValueError in few words. NaN and Infinity, which JSON lacks, count as null."""
    try:
        value = json.loads(text, parse_constant=_missing, object_pairs_hook=distinct)
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


def _missing(_: str) -> None:
    return None


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


# One JSON document: a list of objects (also pretty-printed), objects one after the other, or one object of lists.
#
# Only the ends of the outermost objects are looked for here, on bytes, so that a file of any length is read in bounded
# memory; each object is then parsed like a line of JSONL.

# Outside strings only brackets, commas and quotes matter; inside, the next quote or escape.
_OUTSIDE = re.compile(rb'["{}\[\],]')
_INSIDE = re.compile(rb'["\\]')
_SPACE = b" \t\r\n"
_ROWS_INSIDE = re.compile(rb"\n\{")


@dataclass(frozen=True, slots=True)
class Segment:
    """A row's bytes without the white space around them, and where they begin."""

    content: bytes
    offset: int
    line: int


def read_json(stream: io.BufferedReader, name: str, skip_bad: bool) -> Iterator[RowItem]:
    segments = _segments(stream, name)
    start = [segment for _, segment in zip(range(2), segments, strict=False)]
    whole = _as_document(start[0]) if len(start) == 1 else None
    if whole is not None and all(isinstance(value, list) for value in whole.values()) and not is_chat(whole):
        yield from _rows_of_columns(whole, name)
        return
    if whole is not None and (rows := unwrapped(whole)) is not None:
        yield from (Record(Position(row, name), values) for row, values in enumerate(rows, start=1))
        return
    for row, segment in enumerate(chain(start, segments), start=1):
        found = parse_row(segment.content, segment.offset, Position(row, name, segment.line), skip_bad)
        if isinstance(found, BadRow) and _ROWS_INSIDE.search(segment.content):
            what = f"{found.reason}, and other objects begin inside: rows may run together"
            raise InputError(what, f"{name}, line {segment.line}", "mend the brackets and quotes of this object")
        yield found


def _as_document(segment: Segment) -> JsonObject | None:
    """A file of one object may be one row, columns (`{"predictions": […], "references": […]}`) or rows below a key."""
    try:
        return parse_object(decode(segment.content, segment.offset)) or None
    except ValueError:
        return None


def is_chat(document: JsonObject) -> bool:
    return any(is_messages(value) for value in document.values())


def _rows_of_columns(columns: dict[str, list[object]], name: str) -> Iterator[RowItem]:
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{column}: {length}" for column, length in lengths.items())
        raise InputError(f"the lists differ in length ({listed})", name, "make them equally long")
    for row, values in enumerate(zip(*columns.values(), strict=True), start=1):
        yield Record(Position(row, name), dict(zip(columns, values, strict=True)))


def _segments(stream: io.BufferedReader, name: str) -> Iterator[Segment]:
    scanner = _Scanner(stream, name)
    opening = scanner.next_mark()
    if opening is None:
        raise InputError("holds no JSON object", scanner.place())
    elif opening == b"[":
        scanner.take()
        yield from _list_rows(scanner)
        scanner.refuse_rest("goes on after the end of the list")
    else:
        yield from _object_rows(scanner, opening)


def _list_rows(scanner: _Scanner) -> Iterator[Segment]:
    """Rows of a list end at a comma or at the closing bracket, both outside every object."""
    depth, rows = 0, 0
    while (mark := scanner.next_mark()) is not None:
        if mark in b"{[":
            depth += 1
        elif depth:
            depth -= mark in b"}]"
        elif mark == b"}":
            raise InputError("broken JSON (a } too many)", scanner.place())
        else:
            segment = scanner.take(mark_length=1)
            if segment is not None:
                rows += 1
                yield segment
            elif mark == b"," or rows:
                raise InputError("broken JSON (a comma without a row)", scanner.place())
            if mark == b"]":
                return
    raise InputError("broken JSON (the list ends in the middle of what begins here)", scanner.place())


def _object_rows(scanner: _Scanner, opening: bytes) -> Iterator[Segment]:
    depth, mark = 0, opening
    while True:
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
            if depth <= 0 and (segment := scanner.take()) is not None:
                depth = 0
                yield segment
        following = scanner.next_mark()
        if following is None:
            break
        mark = following
    if scanner.rest():
        raise InputError("broken JSON (the file ends in the middle of what begins here)", scanner.place())


class _Scanner:
    """Finds brackets and commas outside strings in a stream, and hands over the bytes passed since the last take."""

    def __init__(self, stream: io.BufferedReader, name: str) -> None:
        self._stream, self._name = stream, name
        first = read_chunk(stream, name)
        self._buffer = bytearray(without_bom(first, name))
        self._offset = len(first) - len(self._buffer)
        self._line = 1
        self._at = 0
        self._most = ROW.limit

    def next_mark(self) -> bytes | None:
        while (found := self._search(_OUTSIDE)) is not None:
            if found != b'"':
                return found
            while (inside := self._search(_INSIDE)) == b"\\":
                self._at += 1
            if inside is None:
                return None
        return None

    def take(self, mark_length: int = 0) -> Segment | None:
        """The bytes before the last mark (`mark_length` 1) or up to and with it; None if only white space."""
        content = bytes(self._buffer[: self._at - mark_length])
        stripped = content.lstrip(_SPACE)
        lead = len(content) - len(stripped)
        line, offset = self._line + content.count(b"\n", 0, lead), self._offset + lead
        self._line += content.count(b"\n")
        self._offset += self._at
        del self._buffer[: self._at]
        self._at = 0
        return Segment(stripped.rstrip(_SPACE), offset, line) if stripped else None

    def rest(self) -> bool:
        """Whether anything but white space was passed since the last take."""
        return bool(self._buffer[: self._at].strip(_SPACE))

    def place(self) -> str:
        content = bytes(self._buffer)
        line = self._line + content.count(b"\n", 0, len(content) - len(content.lstrip(_SPACE)))
        return f"{self._name}, line {line}"

    def refuse_rest(self, reason: str) -> None:
        while True:
            if self._buffer.strip(_SPACE):
                raise InputError(reason, self.place())
            self._at = len(self._buffer)
            self.take()
            if not self._more():
                return

    def _search(self, pattern: re.Pattern[bytes]) -> bytes | None:
        while True:
            found = pattern.search(self._buffer, self._at)
            if found is not None:
                self._at = found.end()
                return found.group()
            self._at = max(self._at, len(self._buffer))
            if not self._more():
                self._at = len(self._buffer)
                return None

    def _more(self) -> bool:
        chunk = read_chunk(self._stream, self._name)
        self._buffer += chunk
        if len(self._buffer) > self._most:
            raise ROW.refusal(self.place())
        return bool(chunk)
