"""`open_writer`: rows to a file, in the order given, the same bytes for the same rows.

A file appears whole or not at all. JSONL keeps every value as it is; CSV, TSV, Parquet and spreadsheets are flat; a
Markdown table is for reading only.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import TracebackType
from typing import TextIO

from quintet.core.plain import Cells, JsonObject
from quintet.core.result import Layout, score_layout
from quintet.errors import InputError, UnknownName
from quintet.io.atomic import Target
from quintet.io.cells import cell_text, json_ready, json_text, without_surrogates, writable_names
from quintet.io.parquet_writer import ColumnTypes, write_parquet_rows
from quintet.io.workbook import write_sheet

__all__ = ["WRITE_FORMATS", "Layout", "Writer", "open_writer", "score_layout"]

WRITE_FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx", "md")
_SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jl": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".md": "md",
}  # fmt: skip
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_PACKED = (".xz", ".zst", ".bz2", ".zip", ".lz4", ".7z")
"""Packed in ways that nothing here packs: no format makes such a name true."""


class Writer(ABC):
    """Use it in a `with` block: leaving it makes the file real, an error leaves nothing behind."""

    def __init__(self, target: Target, columns: Sequence[str] | None, digits: Mapping[str, int]) -> None:
        self._target = target
        self._columns = None if columns is None else list(columns)
        self._digits = digits
        self.rows = 0
        self._finished = False
        self.replaced = 0
        """Texts in which a lone surrogate had to be replaced by U+FFFD (all but JSON)."""
        self.cut = 0
        """Texts longer than a cell of the format holds."""

    def write(self, row: Cells) -> None:
        self.rows += 1
        ready = {str(name): json_ready(value, self._digits.get(name)) for name, value in row.items()}
        with self._target.told():
            self._write(ready)

    def finish(self) -> None:
        """All rows are there: lays the last of them down. `close` does it, too; the file appears only there."""
        if not self._finished:
            self._finished = True
            with self._target.told():
                self._end()

    def close(self) -> None:
        try:
            self.finish()
        except BaseException:
            self.abandon()
            raise
        self._target.finish()

    def abandon(self) -> None:
        self._target.abandon()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    @abstractmethod
    def _write(self, row: JsonObject) -> None: ...

    def _end(self) -> None:
        return


class JsonlWriter(Writer):
    def _write(self, row: JsonObject) -> None:
        if self._columns is not None:
            row = {name: row[name] for name in (*self._columns, *row) if name in row}
        self._target.stream.write(json_text(row).encode("utf-8") + b"\n")
        if self._target.is_standard_output:
            self._target.stream.flush()


class JsonWriter(JsonlWriter):
    """One list, with a row on each line."""

    def _write(self, row: JsonObject) -> None:
        self._target.stream.write(b"[\n" if self.rows == 1 else b",\n")
        if self._columns is not None:
            row = {name: row[name] for name in (*self._columns, *row) if name in row}
        self._target.stream.write(json_text(row).encode("utf-8"))

    def _end(self) -> None:
        self._target.stream.write(b"\n]\n" if self.rows else b"[]\n")


class FlatWriter(Writer):
    """Rows are laid down in a temporary file first: only the last one tells which columns and types there are."""

    def __init__(self, target: Target, columns: Sequence[str] | None, digits: Mapping[str, int]) -> None:
        super().__init__(target, columns, digits)
        self._names: dict[str, None] = dict.fromkeys(columns or ())
        self._laid_down: TextIO = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115

    def _write(self, row: JsonObject) -> None:
        self._names.update(dict.fromkeys(row))
        self._laid_down.write(json_text(row) + "\n")

    def _read_back(self) -> Iterator[JsonObject]:
        self._laid_down.seek(0)
        return map(json.loads, self._laid_down)

    def abandon(self) -> None:
        self._laid_down.close()
        super().abandon()


class CsvWriter(FlatWriter):
    delimiter = ","
    # Some CSV files are separated by tabs or semicolons, and readers tell by the header.
    quoted = ',\t;"\r\n'

    def _end(self) -> None:
        if self._names:
            self._put(writable_names(list(self._names)))
        for row in self._read_back():
            self._put([cell_text(row.get(name)) for name in self._names])
        self._laid_down.close()

    def _put(self, cells: list[str]) -> None:
        clean = [without_surrogates(cell) for cell in cells]
        self.replaced += sum(replaced for _, replaced in clean)
        line = self.delimiter.join(self._quoted(text) for text, _ in clean)
        # A lone empty cell is quoted: a blank line is not a row.
        self._target.stream.write((line or '""').encode("utf-8") + b"\n")

    def _quoted(self, text: str) -> str:
        # Not csv.writer: it leaves a carriage return bare where lines end in LF.
        if any(mark in text for mark in self.quoted):
            return '"' + text.replace('"', '""') + '"'
        return text


class TsvWriter(CsvWriter):
    delimiter = "\t"
    quoted = '\t"\r\n'


class ParquetWriter(FlatWriter):
    def __init__(self, target: Target, columns: Sequence[str] | None, digits: Mapping[str, int]) -> None:
        super().__init__(target, columns, digits)
        self._types = ColumnTypes()

    def _write(self, row: JsonObject) -> None:
        self._types.watch(row)
        super()._write(row)

    def _end(self) -> None:
        if not self._names:
            raise InputError("Parquet cannot hold a table without columns", self._target.name)
        self.replaced += write_parquet_rows(self._read_back(), list(self._names), self._types, self._target.stream)
        self._laid_down.close()


class SheetWriter(FlatWriter):
    def _end(self) -> None:
        self.replaced, self.cut = write_sheet(self._read_back(), list(self._names), self._target.stream)
        self._laid_down.close()


class MarkdownWriter(FlatWriter):
    """A table for reading: long texts are cut, and no text can break out of its cell."""

    longest = 300

    def _end(self) -> None:
        names = list(self._names)
        if names:
            self._put([self._cell(name) for name in writable_names(names)])
            self._put(["---"] * len(names))
        for row in self._read_back():
            self._put([self._cell(cell_text(row.get(name))) for name in names])
        self._laid_down.close()

    def _put(self, cells: list[str]) -> None:
        self._target.stream.write(("| " + " | ".join(cells) + " |\n").encode("utf-8"))

    def _cell(self, text: str) -> str:
        clean, replaced = without_surrogates(" ".join(text.split()))
        self.replaced += replaced
        if len(clean) > self.longest:
            self.cut += 1
            clean = clean[: self.longest - 1] + "…"
        return "".join(f"&#{ord(c)};" if c in "\\`*_[]<>|~&" else c for c in clean)


_WRITERS: dict[str, Callable[[Target, Sequence[str] | None, Mapping[str, int]], Writer]] = {
    "jsonl": JsonlWriter,
    "json": JsonWriter,
    "csv": CsvWriter,
    "tsv": TsvWriter,
    "parquet": ParquetWriter,
    "xlsx": SheetWriter,
    "md": MarkdownWriter,
}


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that a file name asks for (`.gz` aside), or None."""
    return _SUFFIXES.get(_ending(path))


def _ending(path: str | os.PathLike[str]) -> str:
    pure = PurePath(path)
    if pure.suffix.lower() == ".gz":
        pure = pure.with_suffix("")
    return pure.suffix.lower()


def chosen_format(path: str | os.PathLike[str], format: str | None = None) -> str:
    """The format to write: the one asked for, else by the name's ending, else JSONL where the name has none.

    A file never gets another format than its name says: what reads it goes by the name.
    """
    named, ending = format_of(path), _ending(path)
    if format is not None and format not in _WRITERS:
        raise UnknownName("output format", format, WRITE_FORMATS)
    if os.path.exists(path) and not os.path.isfile(path):  # a device or pipe has no ending to keep to
        return format or "jsonl"
    known = ", ".join(_SUFFIXES)
    if ending in _PACKED or (format is None and named is None and _ENDING.match(ending)):
        raise InputError(
            f"the ending {ending} names no format that is written here", str(path), f"end it in one of {known} (or .gz)"
        )
    if format is not None and named not in (None, format):
        raise InputError(f"the ending {ending} says {named}, but {format} was asked for", str(path), "make them agree")
    return format or named or "jsonl"


def open_writer(
    path: str | os.PathLike[str],
    format: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    digits: Mapping[str, int] | None = None,
) -> Writer:
    """A writer to a file or to standard output (`-`). Without `format`, the ending tells; without one, JSONL.

    `columns` come first and in that order; others follow in the order they appear. `digits` rounds the columns it
    names; all else is written in full.
    """
    return _WRITERS[chosen_format(path, format)](Target(path), columns, digits or {})
