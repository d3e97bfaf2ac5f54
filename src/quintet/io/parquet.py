"""Parquet and Arrow data, read batch by batch."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from quintet.errors import InputError
from quintet.io.records import Position, Record, RowItem

PARQUET_MAGIC = b"PAR1"
BATCH_ROWS = 256


class ParquetRows:
    """`stream` holds the bytes; where it cannot be sought (standard input, gzip) they are laid down first."""

    def __init__(self, stream: io.BufferedReader, name: str) -> None:
        from arro3.io import read_parquet

        self._name = name
        file: Any = stream
        if not isinstance(stream.raw, io.FileIO) or not stream.seekable():
            file = tempfile.TemporaryFile()  # noqa: SIM115 (the reader holds it)
            shutil.copyfileobj(stream, file)
        _check_ends(file, name)
        with _told(f"{name}: cannot be read as Parquet"):
            self._reader = read_parquet(file, batch_size=BATCH_ROWS)
            self.columns = tuple(self._reader.schema.names)

    def __iter__(self) -> Iterator[RowItem]:
        return arrow_rows(self._reader, self._name)


def arrow_rows(reader: Any, name: str) -> Iterator[RowItem]:
    """Rows of an arro3 RecordBatchReader as plain Python values."""
    row = 0
    names = tuple(reader.schema.names)
    if len(set(names)) < len(names):
        raise InputError("two columns have the same name", name, "rename one of them")
    while True:
        with _told(f"{name or 'table'}, after row {row}: cannot be read"):
            batch = next(reader, None)
            columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
        if batch is None:
            return
        for index in range(batch.num_rows):
            row += 1
            values = {column: cells[index] for column, cells in zip(names, columns, strict=True)}
            yield Record(Position(row, name), values)


def _check_ends(file: BinaryIO, name: str) -> None:
    """Told here because arro3 panics, and prints, on a file that is cut short."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(4)
    file.seek(max(0, size - 8))
    end = file.read(8)
    file.seek(0)
    if start != PARQUET_MAGIC or end[4:] != PARQUET_MAGIC or int.from_bytes(end[:4], "little") > size - 12:
        raise InputError("cannot be read as Parquet (it is cut short or not Parquet at all)", name)


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic inside arro3 is no Exception; an interrupt by the user is none either, and goes on.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{what} ({reason})") from None
