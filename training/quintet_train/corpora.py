"""Training corpora: what each holds, under which licence, and whether shipped weights may be trained on it.

`rows("blimp/blimp")` streams one. With `purpose="release"` only what is free for shipped weights comes through; with
`purpose="named"` also corpora of unclear terms, which the model card must then name together with their terms.
"""

from __future__ import annotations

import gzip
import json
import os
import tomllib
import zlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Literal

from quintet.data.rated import RawFolder
from quintet.errors import InputError, UnknownName, UserError

Release = Literal["yes", "no", "unclear", "per source", "-"]
Purpose = Literal["experiment", "release", "named"]

SEARCHED = ("./corpora-data", "../shared/corpora")
TASK_LICENCES = "natural_instructions/ni_tasks_meta"
OPEN_LICENCES = frozenset(
    {
        "MIT",
        "Apache 2.0",
        "BSD",
        "BSD 2-Clause",
        "CC0: Public Domain",
        "CC BY 3.0",
        "CC BY 4.0",
        "CC BY-SA",
        "CC BY-SA 3.0",
        "CC BY-SA 4.0",
        "CDLA Permissive 2.0",
        "GFDL",
        "GNU Free Documentation 2.0",
        "OANC",
        "Dedicated License (https://github.com/google-research-datasets/paws/blob/master/LICENSE)",
    }
)
"""Licences of Natural Instructions tasks whose rows shipped weights may be trained on."""

_ALLOWED: Mapping[str, tuple[Release, ...]] = {
    "release": ("yes", "per source"),
    "named": ("yes", "per source", "unclear"),
}


@dataclass(frozen=True)
class Corpus:
    name: str
    examples: int
    fields: tuple[str, ...]
    licence: str
    release: Release
    note: str = ""
    source_field: str = ""
    """For `per source`: the field that says where a row is from."""
    release_sources: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl"


@cache
def corpora() -> Mapping[str, Corpus]:
    raw = tomllib.loads(package_files("quintet_train").joinpath("corpora.toml").read_text("utf-8"))
    return {name: _corpus(name, facts) for name, facts in raw.items()}


def corpus(name: str) -> Corpus:
    known = corpora()
    if name not in known:
        raise UnknownName("corpus", name, known)
    return known[name]


def rows(
    name: str, folder: str | os.PathLike[str] | None = None, purpose: Purpose = "experiment"
) -> Iterator[dict[str, Any]]:
    """The rows of a corpus in the order of its file; `purpose` refuses or filters what its licence does not allow."""
    facts = corpus(name)
    if purpose != "experiment" and facts.release not in _ALLOWED[purpose]:
        todo = "name its terms in the model card (purpose='named')" if facts.release == "unclear" else "leave it out"
        raise UserError(f"{name} may not be used for shipped weights ({facts.licence}); {todo}")
    raw = RawFolder(find_corpora(folder))
    everything = _stream(raw, facts.file)
    if purpose == "experiment" or facts.release != "per source":
        return everything
    allowed: Container[str] = facts.release_sources or _open_tasks(raw)
    return (row for row in everything if row[facts.source_field] in allowed)


def find_corpora(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with corpora: argument, QUINTET_CORPORA, ./corpora-data, ../shared/corpora."""
    named = folder or os.environ.get("QUINTET_CORPORA")
    if named:
        return Path(named)
    return next((Path(place) for place in SEARCHED if Path(place).is_dir()), Path(SEARCHED[0]))


def _stream(raw: RawFolder, file: str) -> Iterator[dict[str, Any]]:
    """Line by line: some corpora do not fit comfortably in memory."""
    path = raw.find(file)
    if path is None:
        raise InputError("file not found", str(raw.path / file), "name the folder with the corpora: QUINTET_CORPORA")
    return _lines(path)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    done = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)
                done += 1
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        raise InputError(f"cannot be read ({problem})", f"{path} line {done + 1}", "fetch it again") from problem


def _open_tasks(raw: RawFolder) -> frozenset[str]:
    tasks = _stream(raw, corpus(TASK_LICENCES).file)
    return frozenset(row["task"] for row in tasks if row["licence"] and set(row["licence"]) <= OPEN_LICENCES)


def _corpus(name: str, facts: dict[str, Any]) -> Corpus:
    return Corpus(
        name=name,
        examples=facts["examples"],
        fields=tuple(facts["fields"]),
        licence=facts["licence"],
        release=facts["release"],
        note=facts.get("note", ""),
        source_field=facts.get("source_field", ""),
        release_sources=tuple(facts.get("release_sources", ())),
    )
