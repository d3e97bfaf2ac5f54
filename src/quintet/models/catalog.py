"""The models quintet knows by name: where they come from, under which licence, and what their files hash to.

The files are distributions of their own: quintet-weights, quintet-weights-reader and quintet-weights-lm, each below
what a package index takes. In a checkout they lie in place, under models/bundled.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from quintet._install import install
from quintet.errors import ModelError, UnknownName

_HERE = Path(__file__).parent
_DISTRIBUTIONS = {"causal-lm": "quintet-weights-lm", "reader": "quintet-weights-reader"}
"""Of models that would make the other wheel too large, by role."""


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
    def distribution(self) -> str:
        """What is installed to have it."""
        return _DISTRIBUTIONS.get(self.role, "quintet-weights")

    @property
    def folder(self) -> Path:
        """Where its files lie, or would lie."""
        there = [place / self.name for place in places()]
        return next((folder for folder in there if folder.is_dir()), there[0])


def places() -> tuple[Path, ...]:
    """Where models are looked for, one folder each: the checkout's, then the installed distributions'.

    `QUINTET_BUNDLED` names a place instead of these.
    """
    if named := os.environ.get("QUINTET_BUNDLED"):
        return (Path(named),)
    installed = find_spec("quintet_weights")
    return (_HERE / "bundled", *map(Path, (installed and installed.submodule_search_locations) or ()))


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
    folder = found.folder
    if not folder.is_dir() and "QUINTET_BUNDLED" not in os.environ:
        without = "; --fast does without it" if found.role == "causal-lm" else ""
        raise ModelError(f"the model {found.name} is not installed; run: {install(found.distribution)}{without}")
    for file in found.files:
        path = folder / file.name
        try:
            state = path.stat()
        except OSError:
            raise ModelError(f"{path} is missing; run: {_again(found)}") from None
        if state.st_size != file.size or _sha256(path, state.st_mtime_ns, state.st_size) != file.sha256:
            raise ModelError(
                f"{path} is not the file that belongs to {found.name} (sha256 differs); run: {_again(found)}"
            )
    return folder


def _again(found: Entry) -> str:
    if "QUINTET_BUNDLED" in os.environ:
        return "unset QUINTET_BUNDLED"
    if found.folder.parent == _HERE / "bundled":
        return f"git checkout {found.folder}"
    return install(found.distribution).replace("install", "install --force-reinstall", 1)


@cache
def _sha256(path: Path, mtime: int, size: int) -> str:
    """Hashed once per process and state of the file: mtime and size are part of the key."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256(path: Path) -> str:
    state = path.stat()
    return _sha256(path, state.st_mtime_ns, state.st_size)
