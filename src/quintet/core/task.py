"""A Task: a kind of generated text and the dimensions people judge it by, read from TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypedDict

from quintet._checked import checked
from quintet.core.dimension import Dimension
from quintet.core.example import FIELDS
from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError, UnknownName

_KEYS = ("question", "needs", "low", "high", "higher_is_better", "metric", "of", "parameters", "aliases", "unless")
_TODO = "see docs/tasks.md for the form"


class _DimensionTable(TypedDict, total=False):
    question: str
    needs: list[str]
    low: float
    high: float | Literal["none"]
    higher_is_better: bool
    metric: str
    of: str
    parameters: JsonObject
    aliases: list[str]
    unless: list[str]


class _TaskTable(TypedDict, total=False):
    about: str
    aliases: list[str]
    dimensions: dict[str, _DimensionTable]


@dataclass(frozen=True, slots=True)
class TaskDimension:
    dimension: Dimension
    metric: str | None = None
    """The metric that answers by default; `None` when none does."""
    of: str | None = None
    """Which dimension of that metric, where it has several; by default the one of the same name, or its first."""
    parameters: Cells = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    """What other tools call it."""
    unless: tuple[str, ...] = ()
    """Flags with which it is not scored: an output that declines to answer claims nothing."""


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    about: str
    dimensions: Mapping[str, TaskDimension]
    aliases: tuple[str, ...] = ()

    def __getitem__(self, dimension: str) -> TaskDimension:
        if dimension in self.dimensions:
            return self.dimensions[dimension]
        for wanted in self.dimensions.values():
            if dimension in wanted.aliases:
                return wanted
        raise UnknownName(f"dimension of task {self.name}", dimension, self.dimensions)


def read_tasks(extra: Path | None = None) -> dict[str, Task]:
    """The bundled tasks, with those of a user's file added; a dimension in the file replaces one of the same name."""
    tables = tomllib.loads(files("quintet.core").joinpath("tasks.toml").read_text(encoding="utf-8"))
    where = dict.fromkeys(tables, "tasks.toml")
    if extra is not None:
        for name, table in _read_file(extra).items():
            if not isinstance(table, dict):
                raise InputError(f"[{name}] is not a table", str(extra), "write [TASK.dimensions] as in docs/tasks.md")
            checked(table, _TaskTable, f"{extra} [{name}]", _TODO)
            merged = tables.setdefault(name, {"dimensions": {}})
            merged["about"] = table.get("about", merged.get("about", ""))
            merged["aliases"] = [*merged.get("aliases", ()), *table.get("aliases", ())]
            merged["dimensions"] = {**merged.get("dimensions", {}), **table.get("dimensions", {})}
            where[name] = str(extra)
    return {name: _task(name, table, where[name]) for name, table in tables.items()}


def find_task(name: str, extra: Path | None = None) -> Task:
    tasks = read_tasks(extra)
    if name in tasks:
        return tasks[name]
    for task in tasks.values():
        if name in task.aliases:
            return task
    raise UnknownName("task", name, tasks)


def task_of(dimension: str, extra: Path | None = None) -> Task | None:
    """The task of a dimension that other tools have, by our name or theirs: `context_recall` is one of rag."""
    for task in read_tasks(extra).values():
        if any(wanted.aliases and dimension in (name, *wanted.aliases) for name, wanted in task.dimensions.items()):
            return task
    return None


def borrowed_names() -> list[str]:
    """The dimensions that other tools have, by our names and theirs."""
    dimensions = [pair for task in read_tasks().values() for pair in task.dimensions.items()]
    return [one for name, wanted in dimensions if wanted.aliases for one in (name, *wanted.aliases)]


def _read_file(path: Path) -> JsonObject:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", str(path), "give the path of a TOML file with tasks") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), "give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not valid TOML: {error}", str(path), _TODO) from None


def _task(name: str, table: Cells, where: str) -> Task:
    dimensions = {key: _dimension(key, row, f"{where} [{name}]") for key, row in table.get("dimensions", {}).items()}
    if not dimensions:
        raise InputError(f"task {name!r} has no dimensions", where, "add at least one under [TASK.dimensions]")
    return Task(name, table.get("about", ""), dimensions, tuple(table.get("aliases", ())))


def _dimension(name: str, row: object, where: str) -> TaskDimension:
    if not isinstance(row, dict) or "question" not in row:
        raise InputError(f"dimension {name!r} has no question", where, 'write name = { question = "…" }')
    for key in row:
        if key not in _KEYS:
            raise UnknownName(f"key of dimension {name} in {where}", key, _KEYS)
    for needed in row.get("needs", ()):
        if needed not in FIELDS:
            raise UnknownName(f"field that dimension {name} in {where} needs", needed, FIELDS)
    high = row.get("high", 1.0)
    low = float(row.get("low", 0.0))
    if not (math.isfinite(low) and (high == "none" or (math.isfinite(high) and low < high))):
        raise InputError(f"dimension {name!r} goes from {low:g} to {high}", where, "low must be below high")
    dimension = Dimension(
        name=name,
        question=row["question"],
        needs=tuple(row.get("needs", ())),
        low=low,
        high=None if high == "none" else float(high),
        higher_is_better=bool(row.get("higher_is_better", True)),
    )
    named = (tuple(row.get(key, ())) for key in ("aliases", "unless"))
    return TaskDimension(dimension, row.get("metric"), row.get("of"), dict(row.get("parameters", {})), *named)
