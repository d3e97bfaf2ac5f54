"""Line-aligned text files, one field each: line k of every file belongs to row k. Blank lines are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from quintet.core.plain import JsonObject
from quintet.errors import InputError
from quintet.io.records import BadRow, Position, Record, RowItem
from quintet.io.streams import READ_SIZE, STDIN, Line, decode, display_name, numbered_lines, open_bytes, read_chunk


class LineRows:
    def __init__(self, files: Mapping[str, str | os.PathLike[str]], skip_bad: bool) -> None:
        if sum(str(path) == STDIN for path in files.values()) > 1:
            raise InputError("standard input can be only one of the files")
        self.columns = tuple(files)
        self.name = display_name(next(iter(files.values())))
        self._names = {column: display_name(path) for column, path in files.items()}
        self._skip_bad = skip_bad
        # Counted before anything is scored; what can be read only once is counted as it goes by.
        plain = [path for path in files.values() if str(path) != STDIN and (os.path.isfile(path) or _absent(path))]
        _refuse_unequal({display_name(path): _count(path) for path in plain})
        self._streams = {column: open_bytes(path) for column, path in files.items()}

    def __iter__(self) -> Iterator[RowItem]:
        lines = [numbered_lines(stream, self._names[column]) for column, stream in self._streams.items()]
        for row, together in enumerate(zip_longest(*lines), start=1):
            if any(line is None for line in together):
                counts = [
                    row - (line is None) + sum(1 for _ in more) for line, more in zip(together, lines, strict=True)
                ]
                _refuse_unequal(dict(zip(self._names.values(), counts, strict=True)))
            yield self._row(row, together)

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()

    def _row(self, row: int, together: tuple[Line, ...]) -> RowItem:
        values: JsonObject = {}
        bad: tuple[Position, str] | None = None
        for column, line in zip(self.columns, together, strict=True):
            content = line.content.removesuffix(b"\n").removesuffix(b"\r")
            try:
                values[column] = decode(content, line.offset)
            except ValueError as error:
                bad = bad or (Position(row, self._names[column], line.number), str(error))
                values[column] = content.decode("utf-8", "surrogateescape")
        if bad is None:
            return Record(Position(row, self.name, row), values)
        if self._skip_bad:
            return BadRow(*bad, values=values)
        raise BadRow(*bad).error()


def _absent(path: str | os.PathLike[str]) -> bool:
    return not os.path.exists(path)


def _count(path: str | os.PathLike[str]) -> int:
    count, last = 0, b"\n"
    with open_bytes(path) as stream:
        while chunk := read_chunk(stream, display_name(path), READ_SIZE):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")


def _refuse_unequal(counts: Mapping[str, int]) -> None:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count} line{'s' * (count != 1)}" for name, count in counts.items())
        raise InputError(f"line-aligned files differ in length: {listed}", todo="line k of each must be row k")
