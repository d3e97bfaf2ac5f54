"""What a run will compute: columns of the result, grouped by the metric that fills them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.item import Item
from quintet.core.metric import Composite, Metric
from quintet.core.parameters import build_on
from quintet.core.registry import Registry
from quintet.core.result import Column as Described
from quintet.core.task import Task
from quintet.errors import InputError, UnknownName

CHUNK_ROWS = 64
"""What a kill may lose and a worker takes at a time. Few, for the sake of slow metrics: more would gain 5 % at best."""
CHUNK_CHARACTERS = 4_000_000
COPIES = 32


@dataclass(frozen=True, slots=True)
class Column:
    """One number per example: the dimension `dimension` of `metric`, shown as `label`."""

    label: str
    metric: Metric
    dimension: str
    unless: tuple[str, ...] = ()
    """Flags with which there is no score."""

    @property
    def about(self) -> Dimension:
        return next(d for d in self.metric.dimensions if d.name == self.dimension)


def by_metric(columns: Sequence[Column]) -> dict[Metric, list[Column]]:
    """Equal metrics are run once however many columns they fill."""
    groups: dict[Metric, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.metric, []).append(column)
    return groups


def leaves(metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics that do the work: composites are replaced by their ingredients, each once."""
    found: dict[Metric, None] = {}
    for metric in metrics:
        inner = leaves(metric.ingredients) if isinstance(metric, Composite) else [metric]
        found.update(dict.fromkeys(inner))
    return list(found)


def chunks(items: Iterable[Item], rows: int = CHUNK_ROWS, characters: int = CHUNK_CHARACTERS) -> Iterator[list[Item]]:
    """Runs of items in order, bounded in rows and in text so that memory stays flat.

    A source that several outputs share is counted once, as models read it once; but not so many copies of it are held
    that they fill the memory by themselves.
    """
    chunk: list[Item] = []
    size, held = 0, 0
    seen: set[str] = set()
    for item in items:
        chunk.append(item)
        output, *beside = _texts(item)
        size += len(output) + sum(len(text) for text in beside if text not in seen)
        held += len(output) + sum(map(len, beside))
        seen.update(beside)
        if len(chunk) >= rows or size >= characters or held >= COPIES * characters:
            yield chunk
            chunk, size, held = [], 0, 0
            seen.clear()
    if chunk:
        yield chunk


def _texts(item: Item) -> list[str]:
    example = item.example
    if example is None:
        return [""]
    return [example.text(f) for f in ("output", "source", "context", "references", "history")]


@dataclass(frozen=True, slots=True)
class Plan:
    columns: tuple[Column, ...]
    left_out: dict[str, str]
    """Dimensions of the task that will not be scored, and why."""

    def within(self, present: Container[str]) -> tuple[Plan, dict[str, list[str]]]:
        """The columns whose metrics have all they need, and what the others lack."""
        lacking = {c.label: c.metric.lacks(present) for c in self.columns}
        kept = tuple(column for column in self.columns if not lacking[column.label])
        return Plan(kept, self.left_out), {label: fields for label, fields in lacking.items() if fields}

    @property
    def signatures(self) -> dict[str, str]:
        return {column.label: column.metric.signature for column in self.columns}

    @property
    def described(self) -> dict[str, Described]:
        """What the columns of the result will say of themselves."""
        return {c.label: Described.of(c.label, c.metric.signature, c.about) for c in self.columns}


def plan_task(
    task: Task,
    dims: Sequence[str] | None,
    registry: Registry,
    present: Container[str] | None,
    model: str | None = None,
    fast: bool = False,
) -> Plan:
    """The columns for a task; `fast` is for metrics that have a cheaper way.

    Dimensions that were not asked for by name are left out when nothing answers them or when the input has no column
    (`present`) that they need; those asked for by name must work.
    """
    columns, left_out, heeded = [], {}, False
    for name in dims or task.dimensions:
        wanted = task[name]
        if wanted.metric is None:
            if dims:
                raise InputError(f"no bundled metric answers {name} of task {task.name}", todo="name one with --metric")
            left_out[name] = "no bundled metric answers it yet"
            continue
        metric, on_model = build_on(registry, wanted.metric, model, **{"fast": fast or None, **wanted.parameters})
        for key in wanted.parameters:
            if key not in metric.parameters:
                raise UnknownName(f"parameter of {wanted.metric}", key, metric.parameters)
        lacking = [] if present is None else metric.lacks(present)
        if lacking and not dims:
            asked = " (a question is no source)" if "source" in lacking and "question" in (present or ()) else ""
            left_out[name] = f"needs {' and '.join(lacking)}, which the input does not have{asked}"
            continue
        columns.append(Column(name, metric, _one_of(metric, wanted.of) or _same_or_first(metric, name), wanted.unless))
        heeded = heeded or on_model
    if left_out and not columns:
        # An empty table would pass for a run that worked.
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise InputError(
            f"nothing can be scored for task {task.name} ({reasons})", todo="name them: --columns FIELD=COLUMN"
        )
    _heed(model, heeded or not columns, f"task {task.name}")
    return Plan(tuple(columns), left_out)


def plan_metrics(
    named: Sequence[str | Metric], registry: Registry, model: str | None = None, fast: bool = False
) -> Plan:
    """The columns for metrics named one by one, or handed in as they are."""
    columns, heeded = [], False
    for given in named:
        if isinstance(given, str):
            text = given
            metric, on_model = build_on(registry, given, model, fast=fast or None)
            heeded = heeded or on_model
        else:
            text, metric = given.name, given
        for dimension in metric.dimensions:
            label = text if len(metric.dimensions) == 1 else f"{text}/{dimension.name}"
            columns.append(Column(label, metric, dimension.name))
    _heed(model, heeded, " and ".join(given if isinstance(given, str) else given.name for given in named))
    return Plan(tuple(columns), {})


def _heed(model: str | None, heeded: bool, who: str) -> None:
    """A model that nothing would look at is a mistake, not something to pass over."""
    if model is not None and not heeded:
        raise InputError(
            f"--model {model} changes nothing: no model is looked at by {who}", todo="name a metric that does"
        )


def _one_of(metric: Metric, name: str | None) -> str | None:
    if name is not None and name not in (known := [d.name for d in metric.dimensions]):
        raise UnknownName(f"dimension of {metric.name}", name, known)
    return name


def _same_or_first(metric: Metric, name: str) -> str:
    names = [d.name for d in metric.dimensions]
    return name if name in names else names[0]
