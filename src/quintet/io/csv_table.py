"""CSV and TSV: the first line names the columns; cells may be quoted and hold line breaks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from quintet.errors import InputError
from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import bad_byte, numbered_lines

LARGEST_CELL = 2**31 - 1


class CsvRows:
    def __init__(self, stream: io.BufferedReader, name: str, delimiter: str, skip_bad: bool) -> None:
        # The module's limit of 128 KiB per cell is global; it is only ever raised here.
        if csv.field_size_limit() < LARGEST_CELL:
            csv.field_size_limit(LARGEST_CELL)
        self._stream, self._name, self._skip_bad = stream, name, skip_bad
        self._line = 0
        self._complaint: str | None = None
        # strict: a stray or unclosed quote is an error instead of swallowing the rows after it.
        self._cells = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        self.columns = self._header()

    def __iter__(self) -> Iterator[RowItem]:
        row = 0
        while True:
            first_line = self._line + 1
            self._complaint = None
            try:
                cells = next(self._cells)
            except StopIteration:
                return
            except csv.Error as error:
                cells, self._complaint = [], self._explain(error, first_line)
            if not cells and self._complaint is None:
                continue  # a blank line is not a row
            row += 1
            position = Position(row, self._name, first_line)
            if self._complaint is None and len(cells) != len(self.columns):
                self._complaint = f"has {len(cells)} cells, but the header names {len(self.columns)} columns"
            if self._complaint is None:
                yield Record(position, dict(zip(self.columns, cells, strict=True)))
            elif self._skip_bad:
                yield BadRow(position, self._complaint)
            else:
                raise BadRow(position, self._complaint).error()

    def _texts(self) -> Iterator[str]:
        for line in numbered_lines(self._stream, self._name):
            self._line = line.number
            try:
                text = line.content.decode("utf-8")
            except UnicodeDecodeError as error:
                self._complaint = self._complaint or bad_byte(line.content, error.start, line.offset)
                text = line.content.decode("utf-8", "replace")
            yield text

    def _header(self) -> tuple[str, ...]:
        try:
            names = next((cells for cells in self._cells if cells), None)
        except csv.Error as error:
            raise InputError(self._explain(error, 1), f"{self._name}, line 1") from None
        if names is None:
            raise InputError("is empty", self._name, "the first line must name the columns")
        if self._complaint is not None:
            raise InputError(self._complaint, f"{self._name}, line {self._line}")
        if names.count("") > 1:
            names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            where = f"{self._name}, line {self._line}"
            raise InputError(f"two columns are named {twice[0]!r}", where, "rename one of them")
        return tuple(names)

    def _explain(self, error: csv.Error, first_line: int) -> str:
        if "unexpected end of data" in str(error):
            # How many rows the open quote swallowed cannot be known, so this is never skipped.
            where = f"{self._name}, line {first_line}"
            raise InputError("a quote is opened and never closed", where, 'write a quote inside a cell as ""') from None
        if "new-line character" in str(error):
            return "a carriage return stands outside quotes (lines must end in LF or CR LF)"
        return f'broken quoting ({error}; write a quote inside a cell as "")'
