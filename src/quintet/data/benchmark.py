"""A Benchmark: examples with human ratings by dimension. `load("summeval")` reads one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np

from quintet.core.example import Example
from quintet.core.plain import JsonObject
from quintet.data.catalog import Entry, entry
from quintet.data.rated import Floats, Rated, RawFolder, Unit, find_folder, mean_of_rows
from quintet.errors import InputError, UnknownName
from quintet.io.writers import open_writer


@dataclass(frozen=True, eq=False)
class Benchmark:
    name: str
    examples: tuple[Example, ...]
    """Each with its id, its system where known, and as group the document or dialogue it belongs to."""
    ratings: Mapping[str, Floats]
    """Dimension to the mean human rating of each example; NaN where nobody rated it."""
    annotators: Mapping[str, Floats] = field(default_factory=dict)
    """Dimension to (examples, annotators), NaN where missing; only where single ratings were published."""
    raters: Sequence[Sequence[str]] | None = None
    """For every example the persons behind the columns of `annotators`, where that is known."""
    unsupported: Sequence[Sequence[tuple[int, int]]] = ()
    """For every example the words, as places in its output, that most annotators marked as not in the source."""
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    task: str = ""
    split: str = ""
    """`test`: never choose anything by it. `validation`: for choices."""
    unit: Unit = "example"
    """`group`: one rating holds for a whole dialogue, so scores are averaged over its turns (see `per_unit`)."""
    original_names: Mapping[str, str] = field(default_factory=dict)
    """Dimension to what the published file calls it."""
    variant: str = ""
    level: str = "pooled"
    """At which level correlations on this set are usually quoted."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Rated dimension to the TASK.DIMENSION that answers it, where that is not the one of the same name; "": none."""
    citation: str = ""
    licence: str = ""
    url: str = ""
    notes: str = ""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(self.ratings)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of systems in the order of their first appearance."""
        return tuple(dict.fromkeys(e.system for e in self.examples if e.system is not None))

    def system_means(self) -> dict[str, dict[str, float]]:
        """The mean rating of each system by dimension, NaN where nobody rated it (USR, Table 2)."""
        found = {}
        for system in self.systems:
            own = np.array([example.system == system for example in self.examples])
            rated = {name: values[own][~np.isnan(values[own])] for name, values in self.ratings.items()}
            found[system] = {name: float(values.mean()) if len(values) else np.nan for name, values in rated.items()}
        return found

    def answered_by(self, dimension: str) -> tuple[str, str]:
        """Task and dimension that answer a rated dimension; an empty dimension where none does."""
        task, _, name = self.answers.get(dimension, f"{self.task}.{dimension}").rpartition(".")
        return task or self.task, name

    def per_unit(self, values: Floats) -> Floats:
        """One value for each thing that was rated: `values`, or their means over the turns of each dialogue."""
        if self.unit == "example":
            return values
        rows: dict[str | None, list[float]] = {}
        for example, value in zip(self.examples, values, strict=True):
            rows.setdefault(example.group, []).append(float(value))
        return np.array([mean_of_rows(np.array([row]))[0] for row in rows.values()])

    def rows_per_unit(self, table: Floats) -> Floats:
        """The rows of `unit_examples` out of a table with one row per example."""
        if self.unit == "example":
            return table
        first: dict[str | None, int] = {}
        for place, example in enumerate(self.examples):
            first.setdefault(example.group, place)
        return table[list(first.values())]

    def unit_examples(self) -> tuple[Example, ...]:
        """The first example of each thing that was rated, in the order of `per_unit`."""
        if self.unit == "example":
            return self.examples
        first: dict[str | None, Example] = {}
        for example in self.examples:
            first.setdefault(example.group, example)
        return tuple(first.values())


def load(name: str, folder: str | os.PathLike[str] | None = None, variant: str = "") -> Benchmark:
    """Reads the set `name`; `variant` picks another form of the same items where the catalogue lists one."""
    known = entry(name)
    if variant and variant not in known.variants:
        raise UnknownName(f"variant of {name}", variant, known.variants)
    variant = variant or next(iter(known.variants), "")
    raw = RawFolder(find_folder(folder), known.where, known.command)
    module, _, function = known.loader.partition(":")
    read = getattr(import_module(f"quintet.data.loaders.{module}"), function)
    try:
        rated: Rated = read(raw, name, variant)
        if not rated.examples:
            raise ValueError("there are none")
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as problem:
        files = " or ".join(file.path for file in known.files) or name
        detail = " ".join(str(problem).split())[:80]
        what = f"not the rows that {name} should have ({type(problem).__name__}: {detail})"
        raise InputError(
            what, str(raw.path / files), "fetch the file again; `quintet data` checks its sha256"
        ) from problem
    return _with_facts(known, name, variant, rated)


def _with_facts(known: Entry, name: str, variant: str, rated: Rated) -> Benchmark:
    return Benchmark(
        name=name,
        examples=rated.examples,
        ratings=rated.ratings,
        annotators=rated.annotators,
        raters=rated.raters,
        unsupported=rated.unsupported,
        scales={} if rated.rescaled else {d: known.scales[d] for d in rated.ratings if d in known.scales},
        task=known.task,
        split=known.split,
        unit=rated.unit,
        original_names=rated.original_names,
        variant=variant,
        level=known.level,
        answers=known.answers,
        citation=known.citation,
        licence=known.licence,
        url=known.url,
        notes=known.notes,
    )


# A benchmark as a table that `quintet score` reads: one row per example, human ratings beside the texts.


def export(benchmark: Benchmark, path: str | os.PathLike[str]) -> int:
    """Writes `path` (JSON lines unless its suffix says otherwise) and returns the number of rows."""
    with open_writer(path) as writer:
        for row in rows(benchmark):
            writer.write(row)
    return writer.rows


def rows(benchmark: Benchmark) -> Iterator[JsonObject]:
    """Fields that an example lacks are left out; a missing rating is NaN here and null in the file."""
    for index, example in enumerate(benchmark.examples):
        row: JsonObject = {"id": example.id, "system": example.system, "doc_id": example.group}
        row |= {field: getattr(example, field) for field in ("output", "source", "context")}
        row["references"] = list(example.references) or None
        row["history"] = None if example.history is None else list(example.history)
        row = {name: value for name, value in row.items() if value is not None}
        row["human"] = {name: float(values[index]) for name, values in benchmark.ratings.items()}
        yield row
