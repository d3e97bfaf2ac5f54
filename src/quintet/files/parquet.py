"""Parquet and Arrow data, read batch by batch."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from quintet.errors import InputError
from quintet.files.records import Position, Record, RowItem
from quintet.files.streams import STDIN

PARQUET_MAGIC = b"PAR1"
BATCH_ROWS = 256


class ParquetRows:
    """`stream` is needed where the bytes do not lie in a plain file: standard input, gzip."""

    def __init__(self, path: str | os.PathLike[str], name: str, stream: io.BufferedReader | None = None) -> None:
        from arro3.io import read_parquet

        self._name = name
        file: Any = str(path)
        if stream is not None or str(path) == STDIN:
            # Parquet is read from its end: what cannot be sought is laid down first.
            file = tempfile.TemporaryFile()  # noqa: SIM115 (the reader holds it)
            shutil.copyfileobj(stream, file)  # type: ignore[arg-type]
            file.seek(0)
        try:
            self._reader = read_parquet(file, batch_size=BATCH_ROWS)
            self.columns = tuple(self._reader.schema.names)
        except Exception as error:  # arro3 raises several kinds, all of them about the file
            raise InputError(f"cannot be read as Parquet ({_first_line(error)})", name) from None

    def __iter__(self) -> Iterator[RowItem]:
        return arrow_rows(self._reader, self._name)


def arrow_rows(reader: Any, name: str) -> Iterator[RowItem]:
    """Rows of an arro3 RecordBatchReader as plain Python values."""
    row = 0
    names = tuple(reader.schema.names)
    if len(set(names)) < len(names):
        raise InputError("two columns have the same name", name, "rename one of them")
    while True:
        try:
            batch = next(reader, None)
            columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
        except Exception as error:
            where = f"{name}, after row {row}" if name else f"after row {row}"
            raise InputError(f"cannot be read ({_first_line(error)})", where) from None
        if batch is None:
            return
        for index in range(batch.num_rows):
            row += 1
            values = {column: cells[index] for column, cells in zip(names, columns, strict=True)}
            yield Record(Position(row, name), values)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
