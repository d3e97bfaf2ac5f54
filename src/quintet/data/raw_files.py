"""The files of a benchmark or corpus as they were published: JSON, JSON lines or CSV, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quintet.errors import InputError

SEARCHED = ("./benchmarks-data", "../shared/benchmarks")
"""Where benchmark files are looked for when neither an argument nor QUINTET_DATA names a folder."""


def find_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with benchmark files: argument, QUINTET_DATA, ./benchmarks-data, ../shared/benchmarks."""
    named = folder or os.environ.get("QUINTET_DATA")
    if named:
        path = Path(named)
        if not path.is_dir():
            raise InputError("no such folder", str(path), "name the folder with the benchmark files: --data DIR")
        return path
    return next((Path(place) for place in SEARCHED if Path(place).is_dir()), Path(SEARCHED[0]))


@dataclass(frozen=True)
class RawFolder:
    path: Path
    get_from: str = ""
    """Where the files are published; said when one is missing."""

    def find(self, name: str) -> Path | None:
        """`name` or `name.gz`, whichever is there."""
        return next((p for p in (self.path / name, self.path / f"{name}.gz") if p.is_file()), None)

    def content(self, name: str) -> bytes:
        found = self.find(name)
        if found is None:
            origin = f"get it from {self.get_from} and put it there" if self.get_from else "put it there"
            raise InputError(
                "file not found", str(self.path / name), f"{origin}, or name another folder with --data or QUINTET_DATA"
            )
        try:
            raw = found.read_bytes()
            return gzip.decompress(raw) if found.suffix == ".gz" else raw
        except (OSError, EOFError, zlib.error) as problem:
            raise InputError(f"cannot be read ({problem})", str(found), "fetch the file again") from problem

    def text(self, name: str) -> str:
        try:
            return self.content(name).decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise InputError(f"not UTF-8 text ({problem})", self._where(name), "fetch the file again") from problem

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except json.JSONDecodeError as problem:
            raise InputError(f"not JSON ({problem})", self._where(name), "fetch the file again") from problem

    def jsonl(self, name: str) -> list[dict[str, Any]]:
        return list(self.jsonl_rows(name))

    def jsonl_rows(self, name: str) -> Iterator[dict[str, Any]]:
        # Not splitlines(): texts may hold U+2028 and its kin.
        for number, line in enumerate(self.text(name).split("\n"), start=1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError as problem:
                where = f"{self._where(name)} line {number}"
                raise InputError(f"not JSON ({problem})", where, "fetch the file again") from problem

    def csv(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.text(name), newline="")))

    def sha256(self, name: str) -> str | None:
        """Of the content, so that a file counts as the same whether gzipped or not; None where it is absent."""
        return None if self.find(name) is None else hashlib.sha256(self.content(name)).hexdigest()

    def _where(self, name: str) -> str:
        return str(self.find(name) or self.path / name)
