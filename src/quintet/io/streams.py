"""Bytes in: files, standard input and gzip, cut into numbered lines and decoded with the place of every bad byte."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from quintet.core.plain import Foreign
from quintet.errors import InputError
from quintet.io.bounds import RATIO, RATIO_FROM, ROW, UNPACKED
from quintet.io.remote import is_url, open_url

STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
READ_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    offset: int
    """Bytes of the (unpacked) file before this line."""
    content: bytes


def display_name(path: str | os.PathLike[str]) -> str:
    return "standard input" if str(path) == STDIN else str(path)


def open_bytes(path: str | os.PathLike[str]) -> io.BufferedReader:
    """A buffered stream of the file's bytes, unpacked if they are gzip; `-` is standard input."""
    name = display_name(path)
    if str(path) == STDIN and sys.stdin is None:
        raise InputError("is closed", name, "pipe something into it, or name a file")
    if is_url(path):
        return _unpacked(_buffered(open_url(str(path))), name)
    try:
        raw: Foreign = sys.stdin.buffer if str(path) == STDIN else open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise InputError("no such file", name, _similar_file(Path(path))) from None
    except IsADirectoryError:
        raise InputError("is a folder", name, "name a file in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened ({_reason(error)})", name) from None
    stream: io.BufferedReader = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    if not _is_file(stream):
        stream = _buffered(stream, keep=str(path) == STDIN)
    return _unpacked(stream, name)


def _unpacked(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    if peek(stream, 2, name)[:2] == GZIP_MAGIC:
        # GzipFile over the stream: closing the reader closes both.
        return _buffered(_Unpacked(stream, name))
    return stream


def _buffered(stream: Foreign, keep: bool = False) -> io.BufferedReader:
    return cast(io.BufferedReader, io.BufferedReader(_Arriving(stream, keep), READ_SIZE))


def _is_file(stream: io.BufferedReader) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def peek(stream: io.BufferedReader, size: int, name: str) -> bytes:
    try:
        return stream.peek(size)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read ({_reason(error)})", name) from None


def read_chunk(stream: BinaryIO, name: str, size: int = READ_SIZE) -> bytes:
    try:
        return stream.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read ({_reason(error)})", name, "the file may be cut short or damaged") from None


def numbered_lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Lines cut at LF only, each with its LF; a byte order mark at the start of the file is left out."""
    number, offset, most = 0, 0, ROW.limit
    while True:
        try:
            content = stream.readline(most + 1)
        except (OSError, EOFError, zlib.error) as error:
            where = f"{name}, after line {number}"
            raise InputError(f"cannot be read ({_reason(error)})", where, "the file may be cut short") from None
        if not content:
            return
        number += 1
        length = len(content)
        if length > most:
            raise ROW.refusal(f"{name}, line {number}")
        if number == 1:
            content = without_bom(content, name)
        yield Line(number, offset + length - len(content), content)
        offset += length


def without_bom(start: bytes, name: str) -> bytes:
    if start[:2] in UTF16_BOMS:
        raise InputError("looks like UTF-16", name, "save it as UTF-8")
    return start.removeprefix(UTF8_BOM)


def decode(content: bytes, offset: int = 0) -> str:
    """UTF-8 to text. Raises ValueError with the offset of the first bad byte in the file."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(bad_byte(content, error.start, offset)) from None


def bad_byte(content: bytes, index: int, offset: int) -> str:
    return f"byte 0x{content[index]:02x} at offset {offset + index} is not valid UTF-8 (convert the file to UTF-8)"


class _Unpacked(gzip.GzipFile):
    """Refuses what grows beyond all measure: a bomb is no text."""

    def __init__(self, packed: io.BufferedReader, name: str) -> None:
        self._counted = _Counted(packed)
        super().__init__(fileobj=self._counted, mode="rb")
        self._packed, self._name, self._most, self._out = packed, name, UNPACKED.limit, 0

    def read(self, size: int | None = -1) -> bytes:
        return self._measured(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._measured(super().read1(size))

    def _measured(self, found: bytes) -> bytes:
        self._out += len(found)
        if self._out > self._most:
            raise UNPACKED.refusal(self._name)
        if self._out > RATIO_FROM and self._out > RATIO * self._counted.bytes:
            what = f"unpacks to more than {RATIO} times its size"
            raise InputError(what, self._name, "no text does; unpack it yourself if it is meant")
        return found

    def close(self) -> None:
        super().close()
        self._packed.close()


class _Counted:
    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self.bytes = stream, 0

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(size)
        self.bytes += len(found)
        return found

    def __getattr__(self, name: str) -> Foreign:
        return getattr(self._stream, name)


class _Arriving(io.RawIOBase):
    """What comes in pieces, such as a pipe. The first reading waits until a whole line is there (or the buffer full, or
    all has come), since format, separator and byte order mark are told by it; later ones take what there is."""

    def __init__(self, stream: Foreign, keep: bool = False) -> None:
        self._stream, self._keep, self._begun = stream, keep, False
        self._read = getattr(stream, "read1", stream.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Foreign) -> int:
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            piece = self._read(len(view) - filled)
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
            if not piece or self._begun or b"\n" in bytes(piece):
                break
        self._begun = True
        return filled

    def close(self) -> None:
        if not self.closed and not self._keep:
            self._stream.close()
        super().close()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _similar_file(path: Path) -> str:
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"the folder {path.parent} does not exist either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"
