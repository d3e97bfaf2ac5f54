"""The models quintet knows by name: where they come from, under which licence, and what their files hash to."""

from __future__ import annotations

import difflib
import hashlib
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quintet.errors import ModelError, UnknownName

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class File:
    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    role: str
    files: tuple[File, ...]
    backend: str
    """Library and precision: `onnx/int8`."""
    licence: str
    source: str
    paper: str
    summary: str = ""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def sha256(self) -> str:
        """Of the weights, which stand first."""
        return self.files[0].sha256

    def state(self) -> str:
        """intact, altered or missing."""
        try:
            verify(self)
        except ModelError:
            return "altered" if all((self.folder / file.name).exists() for file in self.files) else "missing"
        return "intact"

    @property
    def digest(self) -> str:
        """Eight digits over the digests of all files."""
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()[:8]

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.digest}/{self.backend}"

    @property
    def folder(self) -> Path:
        return bundled_folder() / self.name


def bundled_folder() -> Path:
    """Where bundled models lie, one folder each; `QUINTET_BUNDLED` names another place."""
    return Path(os.environ.get("QUINTET_BUNDLED") or _HERE / "bundled")


@cache
def bundled() -> tuple[Entry, ...]:
    plain = tomllib.loads((_HERE / "catalog.toml").read_text(encoding="utf-8"))
    return tuple(
        Entry(**{**model, "files": tuple(File(**file) for file in model["files"])}) for model in plain["model"]
    )


def entry(name: str) -> Entry:
    for found in bundled():
        if found.name == name:
            return found
    names = [found.name for found in bundled()]
    if difflib.get_close_matches(name, names):
        raise UnknownName("bundled model", name, names)
    there = ", ".join(names)
    raise ModelError(f"no model {name!r} is bundled (only {there}); name one: --model dir:FOLDER or hf:NAME@REVISION")


def verify(found: Entry) -> Path:
    """The folder of a model whose files are all there and unaltered."""
    for file in found.files:
        path = found.folder / file.name
        try:
            state = path.stat()
        except OSError:
            raise ModelError(f"{path} is missing; reinstall quintet, or unset QUINTET_BUNDLED") from None
        if state.st_size != file.size or _sha256(path, state.st_mtime_ns, state.st_size) != file.sha256:
            raise ModelError(f"{path} is not the file that belongs to {found.name} (sha256 differs); reinstall quintet")
    return found.folder


@cache
def _sha256(path: Path, mtime: int, size: int) -> str:
    """Hashed once per process and state of the file: mtime and size are part of the key."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256(path: Path) -> str:
    state = path.stat()
    return _sha256(path, state.st_mtime_ns, state.st_size)
