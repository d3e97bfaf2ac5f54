"""The verbs: load, score, tasks. They wire rooms together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from quintet.core.item import Item, Scored
from quintet.core.metric import Metric
from quintet.core.parameters import build
from quintet.core.result import Result
from quintet.core.task import find_task
from quintet.engine.plan import Plan, plan_metrics, plan_task
from quintet.engine.run import Tally, run
from quintet.engine.store import DiskStore, NoStore, Store
from quintet.errors import InputError
from quintet.files.items import Items
from quintet.files.paths import cache_folder

Columns = Mapping[str, str] | str | None


def load(name: str, **parameters: Any) -> Metric:
    """A metric by its name in `quintet metrics`; parameters as keywords or after a colon."""
    from quintet.metrics import metrics

    return build(metrics, name, **parameters)


def score(
    data: Any,
    task: str | None = None,
    *,
    dims: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Columns = None,
    model: str | None = None,
    task_file: str | Path | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    cache: bool | str | Path = True,
) -> Result:
    """Scores a file, a list of dicts or Examples, parallel lists in a dict, a data frame or a dataset.

    Give a task (all its dimensions, or those in `dims`), or name metrics. Row k of the result is row k of the data.
    """
    from quintet.files.sources import rows_from_python
    from quintet.files.tables import open_table

    table = open_table(data, skip_bad=skip_bad) if isinstance(data, str | Path) else rows_from_python(data)
    with Items(table, task, columns, skip_bad=skip_bad, limit=limit) as items:
        plan = make_plan(task, dims, metrics, items.present, model, task_file)
        with closing(open_store(cache)) as store:
            rows = list(stream(plan, items, store, skip_bad=skip_bad))
    return Result(rows, plan.signatures, plan.left_out)


def make_plan(
    task: str | None,
    dims: Sequence[str] | None,
    metrics: Sequence[str | Metric] | str | None,
    present: Iterable[str] | None,
    model: str | None = None,
    task_file: str | Path | None = None,
) -> Plan:
    """Which columns to compute for a task or for metrics named one by one."""
    from quintet.metrics import metrics as registry

    if metrics:
        named = [metrics] if isinstance(metrics, str) else metrics
        return plan_metrics(named, registry, model)
    if task is None:
        raise InputError("neither a task nor a metric was named", todo="give --task or --metric (see quintet metrics)")
    chosen = find_task(task, None if task_file is None else Path(task_file))
    return plan_task(chosen, dims, registry, None if present is None else set(present), model)


def open_store(cache: bool | str | Path) -> Store:
    if cache is False:
        return NoStore()
    return DiskStore(cache_folder() / "results.sqlite" if cache is True else Path(cache))


def stream(
    plan: Plan,
    items: Iterable[Item],
    store: Store,
    *,
    skip_bad: bool = False,
    tally: Tally | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> Iterator[Scored]:
    """Scored rows in order as they are done, in bounded memory."""
    from quintet.models.memo import forget_all

    for scored in run(plan.columns, items, store, skip_bad=skip_bad, between_chunks=forget_all, tally=tally):
        on_row()
        yield scored
