"""`quintet metrics`, `quintet models`, `quintet tasks`: what there is."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from quintet.core.metric import Metric
from quintet.core.task import read_tasks
from quintet.errors import QuintetError
from quintet.serve.cli import options, screen

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


def metrics(json_: AsJson = False) -> None:
    """Every metric: what it needs, its range and direction, its model, its paper."""
    from quintet.metrics import metrics as registry

    rows = [_metric_row(entry.name, entry.summary, entry.build()) for entry in registry]
    if json_:
        typer.echo(json.dumps(rows, indent=1))
        return
    headers = ["name", "needs", "range", "better", "model", "paper", "what it does"]
    screen.console().print(screen.plain_table(headers, [list(row.values()) for row in rows]))


def _metric_row(name: str, summary: str, metric: Metric) -> dict[str, Any]:
    first = metric.dimensions[0]
    return {
        "name": name,
        "needs": ", ".join(f for f in metric.fields if f != "output") or "nothing",
        "range": f"{_bound(first.low)} to {_bound(first.high)}",
        "better": "higher" if first.higher_is_better else "lower",
        "model": str(metric.parameters.get("model", "")),
        "paper": metric.paper,
        "summary": summary,
    }


def _bound(value: float | None) -> str:
    return "any" if value is None or abs(value) == float("inf") else f"{value:g}"


def models(json_: AsJson = False) -> None:
    """What is bundled, with size, licence and whether the bytes are those that were shipped."""
    from quintet.models.catalog import bundled

    rows = [
        {
            "name": f"bundled:{model.name}",
            "role": model.role,
            "size": f"{model.size / 1e6:.0f} MB",
            "licence": model.licence,
            "state": model.state(),
            "sha256": model.sha256[:16],
        }
        for model in bundled()
    ]
    if json_:
        typer.echo(json.dumps(rows, indent=1))
    else:
        screen.console().print(screen.plain_table(list(rows[0]), [list(row.values()) for row in rows]))
    altered = [row["name"] for row in rows if row["state"] != "intact"]
    if altered:
        raise QuintetError(f"{', '.join(altered)}: not as shipped; install quintet again")


def tasks(task_file: options.TaskFile = None) -> None:
    """Tasks and their dimensions: the question, what it needs, which metric answers."""
    from pathlib import Path

    found = read_tasks(None if task_file is None else Path(task_file))
    rows = []
    for task in found.values():
        for name, wanted in task.dimensions.items():
            needs = ", ".join(wanted.dimension.needs) or "nothing"
            rows.append([task.name, name, needs, wanted.metric or "–", wanted.dimension.question])
    screen.console().print(screen.plain_table(["task", "dimension", "needs", "metric", "question"], rows))
