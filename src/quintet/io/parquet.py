"""Parquet and Arrow data, read batch by batch.

A damaged Parquet file can make the library that reads it panic, print, or end the process. So a process of its own
reads the file and hands it on as an Arrow stream; whatever becomes of it, here it is one line.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from quintet.core.plain import Foreign
from quintet.errors import InputError
from quintet.io.bounds import Bound
from quintet.io.records import BadRow, Position, Record, RowItem

PARQUET_MAGIC = b"PAR1"
BATCH_ROWS = 256
MEMORY = Bound("QUINTET_PARQUET_BYTES", 8 * 2**30, "needs more memory to be read than")
_PATIENCE = 20.0
"""Seconds for the reading process to end once its stream is over."""
_FAILED, _FULL = 3, 4
"""How the reading process ends: with a reason in its last line; out of memory."""
_CHILD = f"""
import io, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
sys.path.append(sys.argv[1])
try:
    from arro3.io import read_parquet, write_ipc_stream
    reader = read_parquet(io.open(0, "rb", buffering=0), batch_size={BATCH_ROWS})
    write_ipc_stream(reader, sys.stdout.buffer, compression=None)
    sys.stdout.buffer.flush()
except MemoryError:
    sys.exit({_FULL})
except BaseException as error:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    print(reason, file=sys.stderr)
    sys.exit({_FAILED})
"""


class ParquetRows:
    """`stream` holds the bytes; where it cannot be sought (standard input, gzip) they are laid down first."""

    def __init__(self, stream: io.BufferedReader, name: str, skip_bad: bool = False) -> None:
        self._name, self._skip_bad = name, skip_bad
        file: Foreign = stream
        if not isinstance(stream.raw, io.FileIO) or not stream.seekable():
            file = tempfile.TemporaryFile()  # noqa: SIM115 (the reader holds it)
            shutil.copyfileobj(stream, file)
            file.flush()
        _check_ends(file, name)
        self._child = _Child(file, name)
        try:
            self.columns = tuple(self._child.reader.schema.names)
        except BaseException:
            self._child.close()
            raise

    def __iter__(self) -> Iterator[RowItem]:
        try:
            yield from arrow_rows(self._child.reader, self._name, self._skip_bad, self._child.check)
        finally:
            self._child.close()

    def close(self) -> None:
        self._child.close()


class _Child:
    """The process that reads the file, and what comes out of it."""

    def __init__(self, file: Foreign, name: str) -> None:
        from arro3.io import read_ipc_stream

        self._name, self._most = name, MEMORY.limit
        spec = find_spec("arro3.io")
        place = Path(spec.origin or "").parents[2] if spec is not None else Path()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (a pipe might fill up with what a panic prints)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD, str(place), str(self._most)],
            stdin=file, stdout=subprocess.PIPE, stderr=self._said,
        )  # fmt: skip
        stream: Foreign = self._process.stdout
        try:
            with _told(f"{name}: cannot be read as Parquet"):
                self.reader = read_ipc_stream(stream)
        except InputError as error:
            try:
                self.check("cannot be read as Parquet")
            finally:
                self.close()
            raise error from None

    def check(self, what: str) -> None:
        """Raises unless the process has ended well: a stream that breaks off looks like one that is over."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # it writes what nobody reads
            code = -1
        if code == 0:
            return
        self._said.seek(0)
        lines = self._said.read(1_000_000).decode("utf-8", "replace").splitlines()
        if code == _FULL or any("memory allocation" in line for line in lines[-300:]):
            raise MEMORY.refusal(self._name)
        reason = lines[-1][:200] if code == _FAILED and lines else "it is damaged"
        raise InputError(f"{what} ({reason})", self._name)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()


def arrow_rows(
    reader: Foreign, name: str, skip_bad: bool = False, check: Callable[[str], None] | None = None
) -> Iterator[RowItem]:
    """Rows of an arro3 RecordBatchReader as plain Python values. At its end, `check` says whether that was all."""
    row = 0
    names = tuple(reader.schema.names)
    if len(set(names)) < len(names):
        raise InputError("two columns have the same name", name, "rename one of them")
    while True:
        what = f"after row {row}: cannot be read"
        try:
            with _told(f"{name or 'table'}, {what}"):
                batch = next(reader, None)
        except InputError:
            if check is not None:
                check(what)
            raise
        if batch is None:
            if check is not None:
                check(what)
            return
        found = [_cells(column) for column in batch.columns]
        for index in range(batch.num_rows):
            row += 1
            position = Position(row, name)
            bad = next((n for n, (_, wrong) in zip(names, found, strict=True) if index in wrong), None)
            values = {column: cells[index] for column, (cells, _) in zip(names, found, strict=True)}
            if bad is None:
                yield Record(position, values)
                continue
            reason = f"the cell of {bad!r} holds a value that Python cannot hold ({values[bad]})"
            if not skip_bad:
                raise BadRow(position, reason).error()
            yield BadRow(position, reason, values=values)


def _cells(column: Foreign) -> tuple[list[object], frozenset[int]]:
    """The values of a column, and where they are none: a date of the year 20000 is only told in words."""
    try:
        return column.to_pylist(), frozenset()
    except Exception:
        cells: list[object] = []
        wrong = set()
        for index in range(len(column)):
            try:
                cells.append(column[index].as_py())
            except Exception as error:
                cells.append(" ".join(str(error).split())[:100])
                wrong.add(index)
        return cells, frozenset(wrong)


def _check_ends(file: BinaryIO, name: str) -> None:
    """Told before a process is started for it."""
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
