"""The catalogue of benchmarks: what is known about each set, and whether its files are here and intact."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import Literal

from quintet.core.plain import JsonObject
from quintet.data.rated import RawFolder, find_folder
from quintet.errors import InputError, UnknownName
from quintet.io.fetch import fetch

State = Literal["intact", "altered", "missing", "present"]
"""`present`: there, but the catalogue has no sha256 to compare with."""


@dataclass(frozen=True)
class File:
    path: str
    sha256: str = ""
    """Of the uncompressed content."""


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    task: str
    loader: str
    """`module:function` below data/loaders."""
    split: str
    size: int
    systems: int
    scales: Mapping[str, tuple[float, float]]
    files: tuple[File, ...]
    licence: str
    citation: str
    where: str
    """Public repository or page, as a person would look for it."""
    url: str = ""
    get: str = ""
    """Where the files can be downloaded as they are read here; empty where a licence or their form forbids it."""
    notes: str = ""
    variants: tuple[str, ...] = ()
    """The first is the default."""
    level: str = "pooled"
    """At which level correlations on this set are usually quoted."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Rated dimension to the TASK.DIMENSION that answers it, where that is not the one of the same name."""

    @property
    def command(self) -> str:
        """What downloads it; empty where nothing may."""
        return f"quintet data --get {self.name}" if self.get else ""

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.scales)


@dataclass(frozen=True)
class Status:
    entry: Entry
    state: State
    problem: str = ""


@cache
def catalog() -> Mapping[str, Entry]:
    raw = tomllib.loads(package_files("quintet.data").joinpath("catalog.toml").read_text("utf-8"))
    sources = raw["sources"]
    return {name: _entry(name, facts, sources[facts["source"]]) for name, facts in raw["sets"].items()}


def names() -> tuple[str, ...]:
    return tuple(catalog())


def entry(name: str) -> Entry:
    """Raises UnknownName; `dstc10_hidden/NAME` stands for any file in that folder."""
    known = catalog()
    if name in known:
        return known[name]
    for pattern, facts in known.items():
        if "*" in pattern and fnmatchcase(name, pattern) and ".." not in name:
            return facts
    raise UnknownName("set", name, known)


def status(folder: str | os.PathLike[str] | None = None) -> list[Status]:
    """One row per set: intact, altered (the first file that differs is named), missing, or present."""
    path = find_folder(folder)
    return [_status(facts, RawFolder(path, facts.where, facts.command)) for facts in catalog().values()]


def state(name: str, folder: str | os.PathLike[str] | None = None) -> State:
    """Whether the files of one set are those the catalogue knows."""
    facts = entry(name)
    return _status(facts, RawFolder(find_folder(folder), facts.where, facts.command)).state


def download(facts: Entry, folder: str | os.PathLike[str] | None = None) -> Path:
    """The files of a set, each with the sha256 of the catalogue, in the folder that benchmarks are read from."""
    path = Path(folder or os.environ.get("QUINTET_DATA") or find_folder())
    if _status(facts, RawFolder(path, facts.where, facts.command)).state == "intact":
        return path
    if not facts.get:
        what = f"cannot be downloaded (licence: {facts.licence})"
        raise InputError(what, facts.name, f"get it from {facts.where} and put it in {path}")
    for file in facts.files:
        fetch(f"{facts.get}/{PurePosixPath(file.path).name}", path / file.path, file.sha256)
    return path


def _status(facts: Entry, raw: RawFolder) -> Status:
    if not facts.files:
        found = any(p.is_file() for p in raw.path.glob(f"{facts.name}.json*"))
        return Status(facts, "present" if found else "missing")
    for file in facts.files:
        try:
            digest = raw.sha256(file.path)
        except InputError as problem:
            return Status(facts, "altered", str(problem))
        if digest is None:
            return Status(facts, "missing", file.path)
        if digest != file.sha256:
            return Status(facts, "altered", f"{file.path}: sha256 {digest[:12]} instead of {file.sha256[:12]}")
    return Status(facts, "intact")


def _entry(name: str, facts: JsonObject, source: JsonObject) -> Entry:
    """Facts of the source (licence, citation, …) hold for each of its sets unless the set says otherwise."""
    merged = {**source, **facts}
    return Entry(
        name=name,
        title=merged["title"],
        task=merged["task"],
        loader=merged["loader"],
        split=merged["split"],
        size=merged["size"],
        systems=merged["systems"],
        scales={d: (float(low), float(high)) for d, (low, high) in merged["scales"].items()},
        files=tuple(File(path, digest) for path, digest in merged.get("files", {}).items()),
        licence=merged["licence"],
        citation=merged["citation"],
        where=merged["where"],
        url=merged.get("url", ""),
        get=merged.get("get", ""),
        notes=merged.get("notes", ""),
        variants=tuple(merged.get("variants", ())),
        level=merged.get("level", "pooled"),
        answers=merged.get("answers", {}),
    )
