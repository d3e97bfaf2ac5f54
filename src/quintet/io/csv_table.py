"""CSV and TSV: the first line names the columns; cells may be quoted and hold line breaks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from quintet.errors import InputError
from quintet.io.bounds import ROW
from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import bad_byte, numbered_lines

LARGEST_CELL = 2**31 - 1
_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")
_LONGEST_ID = 40


def _alike(cells: list[str]) -> bool:
    """Whether they look like ids or numbers made in one way: doc-1, doc-17."""
    bare = [cell.strip().strip('"') for cell in cells]
    if any(not cell or len(cell) > _LONGEST_ID or not _DIGITS.search(cell) for cell in bare):
        return False
    return len({_LETTERS.sub("a", _DIGITS.sub("0", cell)) for cell in bare}) == 1


class CsvRows:
    def __init__(self, stream: io.BufferedReader, name: str, delimiter: str, skip_bad: bool) -> None:
        # The module's limit of 128 KiB per cell is global; it is only ever raised here.
        if csv.field_size_limit() < LARGEST_CELL:
            csv.field_size_limit(LARGEST_CELL)
        self._stream, self._name, self._skip_bad = stream, name, skip_bad
        self._line, self._most = 0, ROW.limit
        self._complaint: str | None = None
        self._delimiter = delimiter
        self._taken: list[bytes] = []
        """The lines of the row that is being read."""
        self._size = 0
        # strict: a stray or unclosed quote is an error instead of swallowing the rows after it.
        self._cells = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        self.columns = self._header()

    def __iter__(self) -> Iterator[RowItem]:
        row = 0
        while True:
            first_line = self._line + 1
            self._complaint = None
            self._taken.clear()
            self._size = 0
            try:
                cells = next(self._cells)
            except StopIteration:
                return
            except csv.Error as error:
                cells, self._complaint = [], self._explain(error, first_line)
                self._refuse_unsure(first_line)
            if len(self._taken) > 1:
                self._refuse_two_readings(first_line)
            if not cells and self._complaint is None:
                continue  # a blank line is not a row
            row += 1
            position = Position(row, self._name, first_line)
            if self._complaint is None and len(cells) != len(self.columns):
                self._complaint = f"has {len(cells)} cells, but the header names {len(self.columns)} columns"
                if len(self._taken) > 1:
                    self._refuse_unsure(first_line)
            if self._complaint is None:
                yield Record(position, dict(zip(self.columns, cells, strict=True)))
            elif self._skip_bad:
                yield BadRow(position, self._complaint, self._raw())
            else:
                raise BadRow(position, self._complaint).error()

    def _raw(self) -> str:
        return b"".join(self._taken).rstrip(b"\r\n").decode("utf-8", "surrogateescape")

    def _refuse_unsure(self, first_line: int) -> None:
        """Where quoting is broken inside a quoted cell, nobody can say which rows the open quote swallowed."""
        if len(self._taken) > 1 or b"".join(self._taken).count(b'"') % 2:
            what = f"{self._complaint}, and a quote before it was not closed where it should be: rows may run together"
            raise InputError(what, f"{self._name}, line {first_line}", 'write a quote inside a cell as ""')

    def _refuse_two_readings(self, first_line: int) -> None:
        """A quoted cell went over several lines. If each of them is also a whole row by itself, the quotes may be
        letters of the text, and then rows have run together."""
        count = len(self._taken)
        alone = [line.decode("utf-8", "replace").rstrip("\r\n").split(self._delimiter) for line in self._taken]
        if any(len(cells) != len(self.columns) for cells in alone) or len(self.columns) < 2:
            return
        # TSV is often written without any quoting. In CSV a line of text may well hold the right number of commas;
        # a number at the same place in every line is what tells rows.
        if self._delimiter == "\t" or any(_alike([cells[at] for cells in alone]) for at in range(len(self.columns))):
            last = first_line + count - 1
            what = f"lines {first_line} to {last} can be read in two ways: as one row with a quoted cell over {count} "
            what += f"lines, or as {count} rows whose texts hold a quote"
            todo = 'write a quote inside a cell as "" and such a cell in quotes; or write the file as JSON Lines'
            raise InputError(what, f"{self._name}, line {first_line}", todo)

    def _texts(self) -> Iterator[str]:
        for line in numbered_lines(self._stream, self._name):
            self._line = line.number
            try:
                text = line.content.decode("utf-8")
            except UnicodeDecodeError as error:
                self._complaint = self._complaint or bad_byte(line.content, error.start, line.offset)
                text = line.content.decode("utf-8", "replace")
            self._taken.append(line.content)
            self._size += len(line.content)
            if self._size > self._most:
                raise ROW.refusal(f"{self._name}, line {line.number}")
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
