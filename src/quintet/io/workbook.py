"""Spreadsheets (.xlsx): the first sheet as rows, and rows as a sheet. Formulas are neither run nor written."""

from __future__ import annotations

import contextlib
import datetime
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import BinaryIO

from quintet.core.plain import Cells, Foreign
from quintet.errors import InputError, shortened
from quintet.io.bounds import RATIO, RATIO_FROM, UNPACKED, Bound
from quintet.io.cells import REPLACEMENT, cell_text, writable_names
from quintet.io.records import Position, Record, RowItem

MOST_ROWS, MOST_CHARACTERS = 1_048_576, 32_767
"""What a sheet and a cell hold at most."""
SHEET = Bound("QUINTET_SHEET_BYTES", 2 * 2**30, "unpacks to more than")
"""A sheet's texts are held all at once."""
_NO_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every part of the file: same rows, same bytes."""
_TIMES = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


class SheetRows:
    """The rows of the first sheet; its first row names the columns."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        from openpyxl import load_workbook

        content = BytesIO(stream.read(SHEET.limit + 1))
        if content.getbuffer().nbytes > SHEET.limit:
            raise SHEET.refusal(name)
        _refuse_bomb(content, name)
        self._name = name
        with self._told():
            book = load_workbook(content, read_only=True, data_only=True)
            self._rows = book.worksheets[0].iter_rows(values_only=True)
            header = next(self._rows, ())
        self.columns = tuple("" if cell is None else str(cell).strip() for cell in header)
        while self.columns and not self.columns[-1]:
            self.columns = self.columns[:-1]
        if not self.columns or len(set(self.columns)) < len(self.columns):
            twice = next((c for c in self.columns if self.columns.count(c) > 1), "")
            what = f"two columns are named {twice!r}" if self.columns else "the first sheet is empty"
            raise InputError(what, name, "the first row of the first sheet names the columns")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What the library trips over in a damaged file is of every kind that there is."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it goes on past what it warns of, and so do we
                yield
        except InputError:
            raise
        except Exception as error:
            reason = shortened(" ".join(str(error).split()) or type(error).__name__)
            raise InputError(f"is no spreadsheet that can be read ({reason})", self._name, "save it as .csv") from None

    def __iter__(self) -> Iterator[RowItem]:
        number = 0
        while True:
            with self._told():
                cells = next(self._rows, None)
            if cells is None:
                return
            values = [_value(cell) for cell in cells[: len(self.columns)]]
            if any(value is not None for value in values):
                number += 1
                values += [None] * (len(self.columns) - len(values))
                yield Record(Position(number, self._name), dict(zip(self.columns, values, strict=True)))


def _value(cell: object) -> Foreign:
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell


def _refuse_bomb(content: BytesIO, name: str) -> None:
    """A small file that unpacks to a huge one; what its parts say of their size is held to by the zip reader."""
    try:
        with zipfile.ZipFile(content) as packed:
            whole = sum(part.file_size for part in packed.infolist())
    except zipfile.BadZipFile:
        raise InputError("is no .xlsx file", name, "save it as .xlsx or .csv") from None
    size = content.seek(0, 2)
    content.seek(0)
    if whole > SHEET.limit:
        raise SHEET.refusal(name)
    if whole > UNPACKED.limit or (whole > RATIO_FROM and whole > RATIO * size):
        raise UNPACKED.refusal(name)


def write_sheet(rows: Iterable[Cells], columns: Sequence[str], stream: BinaryIO) -> tuple[int, int]:
    """Gives back how many texts had characters that a sheet cannot hold, and how many had to be cut."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("quintet")
    replaced = cut = 0

    def cell(value: object) -> Foreign:
        nonlocal replaced, cut
        if isinstance(value, bool | int | float) or value is None:
            return value if not isinstance(value, int) or abs(value) < 2**53 else str(value)
        clean, found = _NO_CELL.subn(REPLACEMENT, cell_text(value))
        replaced += bool(found)
        if len(clean) > MOST_CHARACTERS:
            cut += 1
            clean = clean[: MOST_CHARACTERS - 1] + "…"
        made = WriteOnlyCell(sheet, clean)
        made.data_type = "s"  # a text that begins with = is a text, not a formula
        return made

    sheet.append([cell(name) for name in writable_names(list(columns))])
    for count, row in enumerate(rows, 2):
        if count > MOST_ROWS:
            raise InputError(f"a sheet holds {MOST_ROWS:,} rows", todo="write .parquet or .csv")
        sheet.append([cell(row.get(name)) for name in columns])
    made = BytesIO()
    book.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = _TIMES.sub(rb"\g<1>1980-01-01T00:00:00Z", old.read(name))
            new.writestr(zipfile.ZipInfo(name, _BEGINNING), content, zipfile.ZIP_DEFLATED)
    return replaced, cut
