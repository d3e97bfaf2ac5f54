"""Results and files: a Result written in any format, a scored file read back as one, two of them compared."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from quintet._api import load
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.plain import Cells
from quintet.core.result import Column, Result
from quintet.core.score import Score, stored_score
from quintet.core.task import read_tasks
from quintet.errors import InputError, QuintetError, UnknownName
from quintet.io.cells import stored, stored_notes
from quintet.io.items import open_items
from quintet.io.score_rows import read_score_rows, score_columns, scores_in

if TYPE_CHECKING:
    from quintet.stats.compare import Difference

PAGES = (".html", ".htm")
_OURS = ("notes", "evidence", "raw")


def save(result: Result, path: str | os.PathLike[str], evidence: bool = False) -> None:
    if PurePath(path).suffix.lower() in PAGES:
        result.report(path)
        return
    from quintet.core.result import flat_row
    from quintet.io.writers import open_writer

    layout = result.layout(evidence)
    with open_writer(path) as writer:
        for row in result.rows:
            writer.write(flat_row(row, layout))


def read_scored(
    path: str | os.PathLike[str],
    dims: Sequence[str] | None = None,
    *,
    task: str | None = None,
    columns: Mapping[str, str] | str | None = None,
) -> Result:
    """A file that was scored before, as a Result: its scores, and the evidence where it was written beside them.

    >>> quintet.score([{"output": "a b"}], metrics="distinct-1", cache=False).save("scored.jsonl")
    >>> quintet.read_scored("scored.jsonl")["distinct-1"]
    [1.0]
    """
    path = os.fspath(path)
    rows = read_score_rows(path)
    if not rows:
        raise InputError("has no rows", path)
    names = _columns_of(rows, dims, path)
    values = score_columns(rows, list(names.values()))
    scored = []
    for place, (row, item) in enumerate(zip(rows, _items(path, rows, task, columns, set(names.values())), strict=True)):
        evidence, notes = stored(row.get("evidence")), stored_notes(row.get("notes"))
        scores = {
            label: _score(values[column][place], evidence, notes, label, names, f"{path}, row {place + 1}")
            for label, column in names.items()
        }
        scored.append(Scored(item, scores))
    about = {label: meaning(label, task or _only_task(names)) for label in names}
    described = {label: Column.of(label, f"as stored in {PurePath(path).name}", about[label]) for label in names}
    return Result(scored, described)


def compare(
    systems: Sequence[Result | str | os.PathLike[str]] | Mapping[str, Result | str | os.PathLike[str]],
    *,
    dims: Sequence[str] | str | None = None,
    lower_is_better: Sequence[str] = (),
    tie: float = 0.0,
    common_only: bool = False,
) -> list[Difference]:
    """Systems against one another on the same inputs: Results or scored files, one per system, by name if you like; or
    one file with a system column.

    >>> one = quintet.score([{"output": "a b", "references": ["a b"]}] * 9, metrics="rouge-1", cache=False)
    >>> two = quintet.score([{"output": "a c", "references": ["a b"]}] * 9, metrics="rouge-1", cache=False)
    >>> quintet.compare({"one": one, "two": two})[0].difference
    0.5
    """
    from quintet.io.score_rows import scores_by_system
    from quintet.stats.compare import System
    from quintet.stats.compare import compare as compare_systems

    wanted, down = [dims] if isinstance(dims, str) else dims, [*lower_is_better]
    given = list(systems.values() if isinstance(systems, Mapping) else systems)
    if isinstance(systems, Mapping) or any(isinstance(one, Result) for one in given):
        results = [one if isinstance(one, Result) else read_scored(os.fspath(one), wanted) for one in given]
        names = list(systems) if isinstance(systems, Mapping) else [f"system {k}" for k in range(1, len(given) + 1)]
        shared = [label for label in results[0].columns if all(label in one.columns for one in results)]
        down += [label for label in shared if not results[0].columns[label].higher_is_better]
        tables = [(name, ids_of(one), {label: one[label] for label in shared})
                  for name, one in zip(names, results, strict=True)]  # fmt: skip
    else:
        tables = scores_by_system([os.fspath(one) for one in given if not isinstance(one, Result)], wanted)
    found = [System(name, values, ids) for name, ids, values in tables]
    return compare_systems(found, wanted, lower_is_better=down, tie=tie, common_only=common_only)


def compare_two(
    result: Result, other: Result | str | os.PathLike[str], *, tie: float = 0.0, common_only: bool = False
) -> list[Difference]:
    from quintet.stats.compare import System
    from quintet.stats.compare import compare as compare_systems

    before = other if isinstance(other, Result) else read_scored(os.fspath(other))
    shared = [label for label in result.columns if label in before.columns]
    if not shared:
        theirs, ours = ", ".join(before.columns), ", ".join(result.columns)
        raise InputError(f"the results share no column ({ours} here, {theirs} there)")
    names = ("this", "other") if isinstance(other, Result) else ("this", PurePath(os.fspath(other)).stem)
    pairs = zip(names, (result, before), strict=True)
    systems = [System(name, {label: one[label] for label in shared}, ids_of(one)) for name, one in pairs]
    down = [label for label in shared if not result.columns[label].higher_is_better]
    return compare_systems(systems, shared, lower_is_better=down, tie=tie, common_only=common_only)


def ids_of(result: Result) -> list[str]:
    """The rows' ids; the number of a row that has none."""
    examples = [row.item.example for row in result.rows]
    return [example.id if example and example.id else str(k) for k, example in enumerate(examples, 1)]


def meaning(label: str, task: str | None = None) -> Dimension:
    """What a column of that name asks: of the task, of all tasks that agree on it, or of the metric so called."""
    return _known(label, task) or Dimension(label, "", low=-math.inf, high=None)


def _only_task(labels: Iterable[str]) -> str | None:
    """The one task that has all these dimensions: several have a consistency, one has all four of a summary."""
    found = [name for name, task in read_tasks().items() if task.dimensions.keys() >= set(labels)]
    return found[0] if len(found) == 1 else None


def _known(label: str, task: str | None = None) -> Dimension | None:
    tasks = read_tasks()
    named = [tasks[task]] if task in tasks else list(tasks.values())
    found = [one.dimensions[label] for one in named if label in one.dimensions]
    if found:
        first = found[0]
        about = next((d for d in _dimensions(first.metric or "") if d.name in (first.of, label)), first.dimension)
        return about if len({one.dimension.question for one in found}) == 1 else replace(about, question="")
    name, _, part = label.partition("/")
    dimensions = _dimensions(name)
    return next((d for d in dimensions if d.name == part), dimensions[0] if dimensions else None)


def _dimensions(metric: str) -> tuple[Dimension, ...]:
    try:
        return load(metric).dimensions
    except QuintetError:
        return ()


def _columns_of(rows: Sequence[Cells], dims: Sequence[str] | None, path: str) -> dict[str, str]:
    """Label to column: what the evidence names, else every column of numbers."""
    present = dict.fromkeys(name for row in rows for name in row)
    evidence = next((e for row in rows if isinstance(e := stored(row.get("evidence")), Mapping)), {})
    labels = [label for label in evidence if label in present]
    if not labels:
        numbers = list(scores_in(rows, path, dims))
        # Beside scores there may be other numbers: what people said, lengths, prices.
        labels = [label for label in numbers if dims or _known(label)] or numbers
    for name in dims or ():
        if name not in labels:
            raise UnknownName(f"column of scores in {path}", name, labels)
    if not labels:
        raise InputError("no column holds scores", path, "score it first: quintet score FILE --task NAME --out SCORED")
    prefixed = {label: f"quintet.{label}" for label in labels if f"quintet.{label}" in present}
    return {label: prefixed.get(label, label) for label in dims or labels}


def _items(path: str, rows: Sequence[Cells], task: str | None, columns: Any, scores: set[str]) -> list[Item]:
    """The texts, where columns of texts are there; a file of ids and scores has none."""
    carried = [{k: v for k, v in row.items() if k not in scores and k not in _OURS} for row in rows]
    try:
        with open_items(path, None, task, columns, skip_bad=True) as items:
            examples = [item.example for item in items]
            problems = [row.get("notes") for row in rows]
    except InputError:
        if columns is not None:
            raise
        examples, problems = [Example("", id=str(row["id"])) for row in rows], [None for _ in rows]
    found = []
    for example, problem, own in zip(examples, problems, carried, strict=True):
        told = "" if example else next(iter(stored_notes(problem)), "no output")
        found.append(Item(example, told, own))
    return found


def _score(value: float, evidence: object, notes: list[str], label: str, labels: Collection[str], where: str) -> Score:
    told = evidence.get(label) if isinstance(evidence, Mapping) else None
    if isinstance(told, Mapping):
        try:
            return stored_score(told)
        except InputError as problem:
            what = f"the evidence of {label} is not as quintet writes it ({problem.what})"
            raise InputError(what, where) from None
    # A note that names a column is of that one; others are of all.
    mine = [note for note in notes if note.startswith(f"{label}: ") or note.partition(": ")[0] not in labels]
    return Score(value, flags=tuple(note.removeprefix(f"{label}: ") for note in mine))
