"""What a loader gives back: examples and, for each dimension, ratings in the same order."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import math
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.example import Example
from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError

# One name for one question: how the qualities of each data set are called here.
#
# `canonical("Maintains Context")` is "coherence", whatever the file calls it. A name not in the table stays as it is,
# in lower case with spaces for underscores.

CANONICAL = {
    # USR (Table 1), DSTC10, CTC, UniEval
    "natural": "naturalness",
    "understandable": "understandability",
    "maintains context": "coherence",
    "coherent": "coherence",
    "engaging": "engagingness",
    "interesting": "engagingness",
    "uses knowledge": "groundedness",
    # FED (Table 1)
    "specific": "specificity",
    "relevant": "relevance",
    "correct": "correctness",
    "semantically appropriate": "appropriateness",
    "fluent": "fluency",
    "consistent": "consistency",
    "diverse": "diversity",
    "likeable": "likeability",
    "flexible": "flexibility",
    "informative": "informativeness",
    "inquisitive": "inquisitiveness",
    # See et al. 2019 (persona-see)
    "avoid rep": "non-repetition",
    "enjoy": "enjoyment",
    "interest": "engagingness",
    "listen": "listening",
    "make sense": "sensibleness",
    "persona guess": "persona recognition",
    "turing": "humanness",
    # linguistic quality, rewriting
    "grammar": "grammaticality",
    "redundancy": "non-redundancy",
    "non-redun": "non-redundancy",
    "meaning": "preservation",
    "content preservation": "preservation",
    "faithful": "faithfulness",
    "factual": "factuality",
}

# FED asks both questions of the same response, so there they keep two names.
EXCEPTIONS = {("fed", "interesting"): "interestingness"}


def canonical(name: str, source: str = "") -> str:
    """The name used here for what a file of `source` (or a user) calls `name`."""
    plain = " ".join(name.replace("_", " ").lower().split())
    return EXCEPTIONS.get((source, plain)) or CANONICAL.get(plain, plain)


def own_name(name: str, dimensions: Collection[str]) -> str:
    """What a column of somebody's scores is called here, if it names one of `dimensions`; else its own name."""
    plain = canonical(name)
    if name in dimensions or plain in dimensions:
        return name if name in dimensions else plain
    # UniEval files the `quality` of Novikova et al. under `overall`.
    return "quality" if plain == "overall" and "quality" in dimensions else name


# The files of a benchmark or corpus as they were published: JSON, JSON lines or CSV, plain or gzipped.

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
    command: str = ""
    """What downloads them."""

    def find(self, name: str) -> Path | None:
        """`name` or `name.gz`, whichever is there."""
        return next((p for p in (self.path / name, self.path / f"{name}.gz") if p.is_file()), None)

    def content(self, name: str) -> bytes:
        found = self.find(name)
        if found is None:
            origin = f"get it from {self.get_from} and put it there" if self.get_from else "put it there"
            origin = f"run {self.command}" if self.command else origin
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

    def jsonl(self, name: str) -> list[JsonObject]:
        return list(self.jsonl_rows(name))

    def jsonl_rows(self, name: str) -> Iterator[JsonObject]:
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


Floats = NDArray[np.float64]
Unit = Literal["example", "group"]


@dataclass(frozen=True, eq=False)
class Rated:
    examples: tuple[Example, ...]
    ratings: Mapping[str, Floats]
    annotators: Mapping[str, Floats] = field(default_factory=dict)
    original_names: Mapping[str, str] = field(default_factory=dict)
    unit: Unit = "example"
    raters: Sequence[Sequence[str]] | None = None
    """Who gave each rating: for every example the persons behind the columns of `annotators`, where that is known."""
    unsupported: Sequence[Sequence[tuple[int, int]]] = ()
    """For every example the words, as places in its output, that most annotators marked as not in the source."""
    rescaled: bool = False
    """True where a variant left the scale that the catalogue names."""


def number(value: Any) -> float:
    """NaN for what is not a rating: null, an empty cell, FED's "N/A (no errors)"."""
    try:
        return float(value) if value is not None else math.nan
    except (TypeError, ValueError):
        return math.nan


def columns(rows: Sequence[Cells]) -> dict[str, Floats]:
    """One array per name, NaN where a row lacks it; names in the order of their first appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([number(row.get(name)) for row in rows]) for name in names}


def annotator_table(lists: Sequence[Iterable[object]]) -> Floats:
    """(items, annotators): the k-th rating of each item in column k, short lists filled with NaN."""
    rows = [[number(value) for value in ratings] for ratings in lists]
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for index, ratings in enumerate(rows):
        table[index, : len(ratings)] = ratings
    return table


def mean_of_rows(table: Floats) -> Floats:
    """Mean over the ratings that are there; NaN for an item without any."""
    present = ~np.isnan(table)
    count = present.sum(axis=1)
    total = np.where(present, table, 0.0).sum(axis=1)
    # Ratings that are equal on paper must be tied, whatever the order of summation.
    return np.where(count > 0, np.round(total / np.maximum(count, 1), 10), np.nan)


def from_means(examples: Iterable[Example], rows: Sequence[Cells], source: str = "") -> Rated:
    """From rows of {name in the file: mean rating}."""
    found = columns(rows)
    names = {canonical(name, source): name for name in found}
    return Rated(tuple(examples), {new: found[old] for new, old in names.items()}, original_names=names)


def from_lists(
    examples: Iterable[Example], rows: Sequence[Mapping[str, Sequence[Any]]], source: str = "", unit: Unit = "example"
) -> Rated:
    """From rows of {name in the file: ratings of each annotator}; the rating of an item is their mean."""
    names = {canonical(name, source): name for row in rows for name in row}
    tables = {new: annotator_table([row.get(old, ()) for row in rows]) for new, old in names.items()}
    several = {name: table for name, table in tables.items() if table.shape[1] > 1}
    return Rated(tuple(examples), {name: mean_of_rows(t) for name, t in tables.items()}, several, names, unit)
