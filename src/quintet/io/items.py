"""Rows of a table as Items for the engine: an Example, or the reason why there is none, in input order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from glob import glob
from itertools import chain, islice, starmap
from pathlib import Path

from quintet.core.item import Item
from quintet.core.plain import Cells
from quintet.errors import InputError, MissingField
from quintet.io import conversations
from quintet.io.bounds import DEEPEST, deeper_than
from quintet.io.columns import TEXT_FIELDS, ColumnMap, to_example
from quintet.io.records import BadRow, Record, Table
from quintet.io.tables import open_table

Explicit = Cells | str | None


class Items:
    """Iterate it once. `present` names the fields that have a column."""

    def __init__(
        self, table: Table, task: str | None, columns: Explicit, *, skip_bad: bool = False, limit: int | None = None
    ) -> None:
        found: ColumnMap | None = None
        self._talk = task in conversations.TASKS
        if self._talk:
            table, found = conversations.turn_by_turn(table, columns)
        self._table, self._task, self._skip_bad, self._limit = table, task, skip_bad, limit
        self.columns: ColumnMap = found or table.column_map(task, columns)
        self.names: tuple[str, ...] = table.columns
        self.present = {field for field in TEXT_FIELDS if getattr(self.columns, field)}
        if self._talk and "history" in self.present:
            self.present.add("question")

    def line(self) -> str:
        """Which column became which field."""
        return self.columns.line()

    def __iter__(self) -> Iterator[Item]:
        for record in islice(self._table, self._limit):
            yield self._item(record)

    def _item(self, record: Record | BadRow) -> Item:
        if isinstance(record, BadRow):
            return Item(None, f"{record.position}: {record.reason}", record.values, record.raw, record.reason)
        try:
            self._refuse_deep(record)
            example = to_example(record.values, self.columns, record.position, self._task)
        except (InputError, MissingField) as error:
            if not self._skip_bad:
                raise
            problem = f"no {error.field}" if isinstance(error, MissingField) else error.what
            return Item(None, problem, _writable(record.values))
        if self._talk and example.question is None and example.history:
            example = replace(example, question=example.history[-1])  # what was said last is what was asked
        return Item(example, "", record.values)

    @staticmethod
    def _refuse_deep(record: Record) -> None:
        for name, value in record.values.items():
            if isinstance(value, dict | list | tuple) and deeper_than(value):
                what = f"{name!r} is nested deeper than {DEEPEST}"
                raise InputError(what, str(record.position), "hand it over as a text")

    def close(self) -> None:
        self._table.close()

    def __enter__(self) -> Items:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _writable(values: Cells) -> Cells:
    """A cell that is nested too deep to be written is carried as its text."""
    deep = {name: f"nested deeper than {DEEPEST}" for name, value in values.items() if deeper_than(value)}
    return {**values, **deep} if deep else values


def open_items(
    path: str,
    format: str | None = None,
    task: str | None = None,
    columns: Explicit = None,
    *,
    skip_bad: bool = False,
    limit: int | None = None,
) -> Items:
    table = open_table(line_files(path) or path, format, skip_bad=skip_bad)
    return Items(table, task, columns, skip_bad=skip_bad, limit=limit)


class ManyItems:
    """Several files one after the other. Each row says its `file`, and belongs to the system of that name unless its
    file has a column of systems."""

    def __init__(self, parts: Mapping[str, Items], limit: int | None = None) -> None:
        self._parts, self._limit = parts, limit
        self.names = tuple(dict.fromkeys(("file", *(name for items in parts.values() for name in items.names))))
        self.present = set.intersection(*(items.present for items in parts.values()))
        self._systems = dict(zip(parts, _short_names(list(parts)), strict=True))

    def line(self) -> str:
        lines = {path: items.columns.line() for path, items in self._parts.items()}
        if len(set(lines.values())) == 1:
            return f"{next(iter(lines.values()))} (in {len(lines)} files)"
        return "; ".join(f"{path}: {line}" for path, line in lines.items())

    def __iter__(self) -> Iterator[Item]:
        return islice(chain.from_iterable(starmap(self._of, self._parts.items())), self._limit)

    def _of(self, path: str, items: Items) -> Iterator[Item]:
        for item in items:
            example = item.example
            if example is not None and example.system is None:
                example = replace(example, system=self._systems[path])
            yield replace(item, example=example, carried={"file": path, **item.carried})

    def close(self) -> None:
        for items in self._parts.values():
            items.close()

    def __enter__(self) -> ManyItems:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _short_names(paths: Sequence[str]) -> list[str]:
    stems = [Path(path).name.partition(".")[0] for path in paths]
    return stems if len(set(stems)) == len(stems) else list(paths)


def files_of(given: Sequence[str]) -> list[str]:
    """Patterns (`runs/*.jsonl`) become the files they match; a name that exists is that file whatever its signs."""
    found: dict[str, None] = {}
    for path in given:
        if not any(mark in path for mark in "*?[") or Path(path).exists() or line_files(path):
            found[path] = None
            continue
        matched = sorted(glob(path, recursive=True))
        if not matched:
            raise InputError("no file has such a name", path, "check the pattern and the folder")
        found.update(dict.fromkeys(matched))
    return list(found)


def open_all(
    paths: Sequence[str],
    format: str | None = None,
    task: str | None = None,
    columns: Explicit = None,
    *,
    skip_bad: bool = False,
    limit: int | None = None,
) -> Items | ManyItems:
    if len(paths) == 1:
        return open_items(paths[0], format, task, columns, skip_bad=skip_bad, limit=limit)
    opened: dict[str, Items] = {}
    try:
        for path in paths:
            opened[path] = open_items(path, format, task, columns, skip_bad=skip_bad)
    except BaseException:
        for items in opened.values():
            items.close()
        raise
    return ManyItems(opened, limit)


def row_count(path: str) -> int | None:
    """About how many rows a plain file of lines has, for a progress bar; None where only reading would tell."""
    file = Path(path)
    if file.suffix.lower() not in (".jsonl", ".ndjson", ".csv", ".tsv", ".txt") or not file.is_file():
        return None
    with file.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    return max(1, lines - (file.suffix.lower() in (".csv", ".tsv")))


def line_files(path: str) -> dict[str, str] | None:
    """`output=a.txt,source=b.txt` names line-aligned files; None for anything else."""
    pairs = [part.partition("=") for part in path.split(",")]
    if not all(equals and field.strip() in {*TEXT_FIELDS, "id", "system", "group"} for field, equals, _ in pairs):
        return None
    return {field.strip(): file.strip() for field, _, file in pairs}
