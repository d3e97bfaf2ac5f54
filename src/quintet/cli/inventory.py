"""`quintet metrics`, `quintet models`, `quintet tasks`: what there is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from quintet.cli import options, screen
from quintet.core.metric import Metric
from quintet.core.plain import Cells, JsonObject
from quintet.core.task import Task, read_tasks
from quintet.errors import QuintetError, UnknownName

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


OfTask = Annotated[str | None, typer.Option("--task", "-t", metavar="NAME", help="Those that this task can use.")]
Search = Annotated[str, typer.Option("--search", "-s", metavar="TEXT", help="Those with this in name, paper or words.")]
All = Annotated[bool, typer.Option("--all", help="The features inside the bundled evaluator, too, and every column.")]


def metrics(task: OfTask = None, search: Search = "", all_: All = False, json_: AsJson = False) -> None:
    """The metrics: what each needs, its direction, what it does; with --all also range, model and paper."""
    from quintet.metrics import metrics as registry

    tasks = read_tasks()
    if task is not None and task not in tasks:
        raise UnknownName("task", task, tasks)
    answering = {d.metric.partition(":")[0] for one in tasks.values() for d in one.dimensions.values() if d.metric}
    rows = []
    for entry in registry:
        inside = entry.name.startswith("evaluator-") and entry.name not in answering
        if inside and not (all_ or json_ or search):
            continue
        try:
            rows.append(_metric_row(entry.name, entry.summary, entry.build()))
        except QuintetError as error:  # of another package, and broken: the others are there all the same
            typer.echo(error.typed(), err=True)
    words = search.casefold().split()
    rows = [row for row in rows if all(any(w in row[k].casefold() for k in _SEARCHED) for w in words)]
    if task is not None:
        rows = _of_task(rows, tasks[task])
    if json_:
        typer.echo(json.dumps(rows, indent=1))
    elif not rows:
        typer.echo("no metric fits", err=True)
    elif all_:
        keys = ("name", "needs", "range", "better", "model", "paper", "summary")
        table = [[*(row[key] for key in keys)] for row in rows]
        screen.console(wide=150).print(screen.plain_table([*keys[:-1], "what it does"], table))
    else:
        view = screen.console()
        view.print(_short_table(rows, view.width))


_SEARCHED = ("name", "summary", "paper")


def _short_table(rows: Sequence[Cells], width: int) -> RenderableType:
    """A line for each."""
    cells = [[row["name"], row["needs"], row["better"]] for row in rows]
    taken = sum(max(map(len, column)) + 3 for column in zip(["name", "needs", "better"], *cells, strict=True))
    room = max(30, width - taken)
    table = [[*cell, screen.shorten(row["summary"], room)] for cell, row in zip(cells, rows, strict=True)]
    return screen.plain_table(["name", "needs", "better", "what it does"], table, whole=(0, 1, 2, 3))


def _of_task(rows: Sequence[JsonObject], task: Task) -> list[JsonObject]:
    """First those that answer the task's dimensions, then others that need what these need."""
    own = [d.metric.partition(":")[0] for d in task.dimensions.values() if d.metric]
    given = {need for d in task.dimensions.values() for need in d.dimension.needs}
    first = [row for name in dict.fromkeys(own) for row in rows if row["name"] == name]
    able = [r for r in rows if r["needs"] != "nothing" and set(r["needs"].split(", ")) <= given]
    return first + [row for row in able if row not in first and not row["name"].startswith("evaluator-")]


def _metric_row(name: str, summary: str, metric: Metric) -> JsonObject:
    first = metric.dimensions[0]
    return {
        "name": name,
        "needs": ", ".join(metric.lacks(("output",))) or "nothing",
        "range": f"{_bound(first.low)} to {_bound(first.high)}",
        "better": "higher" if first.higher_is_better else "lower",
        "model": _models(metric),
        "paper": metric.paper,
        "summary": summary,
    }


def _models(metric: Metric) -> str:
    """The models it runs on if none is named; `yours` for one that is not bundled and must be."""
    from quintet.models.catalog import bundled

    known = {model.name for model in bundled()}
    names = []
    for parameter, spec in metric.parameters.items():
        if (parameter == "model" or parameter.startswith("model_")) and isinstance(spec, str):
            kind, _, rest = spec.partition(":")
            name = rest.partition("#")[0]
            names.append(f"bundled:{name}" if kind == "bundled" and name in known else "yours: --model")
    return " + ".join(dict.fromkeys(names))


def _bound(value: float | None) -> str:
    return "any" if value is None or abs(value) == float("inf") else f"{value:g}"


models_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@models_app.callback()
def models(context: typer.Context, json_: AsJson = False) -> None:
    """What is bundled: size, licence, and whether the bytes are those that were shipped; or convert a checkpoint."""
    if context.invoked_subcommand is not None:
        return
    from quintet.models.catalog import bundled

    rows = [
        {
            "name": f"bundled:{model.name}",
            "role": model.role,
            "size": f"{model.size / 1e6:.0f} MB" if model.size >= 1e6 else f"{model.size / 1e3:.0f} kB",
            "licence": model.licence,
            "state": model.state(),
            "sha256": model.files[0].sha256,
        }
        for model in bundled()
    ]
    if json_:
        typer.echo(json.dumps(rows, indent=1))
    else:
        shown = [[*list(row.values())[:-1], row["sha256"][:16]] for row in rows]
        screen.console().print(screen.plain_table(list(rows[0]), shown))
    altered = [row["name"] for row in rows if row["state"] != "intact"]
    if altered:
        raise QuintetError(f"{', '.join(altered)}: not as shipped; install their weights again")


@models_app.command("convert", short_help="Original checkpoints to safetensors, once.")
def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A checkpoint file or folder, or hf:NAME@REVISION.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="A new folder, to be opened as dir:OUT.")],
    base: Annotated[
        str | None,
        typer.Option(
            "--base", metavar="FOLDER", help="Folder with config.json and tokenizer of the model it was tuned from."
        ),
    ] = None,
    concepts: Annotated[
        str | None,
        typer.Option(
            "--concepts", metavar="FOLDER", help="For GRADE: keyword.vocab, Numberbatch, ConceptNet, utterances.txt."
        ),
    ] = None,
) -> None:
    """Original CTC, USR, GRUEN, IM2, GRADE or T5 checkpoints to safetensors; only tensors are loaded, never code."""
    from quintet.models.convert import convert as convert_checkpoint

    folders = (None if name is None else Path(name).expanduser() for name in (base, concepts))
    made = convert_checkpoint(source, Path(out), *folders)
    typer.echo(f"dir:{made.folder} ({made.architecture}, {made.tensors} tensors)")
    if made.dropped:
        typer.echo(f"left out: {', '.join(made.dropped)}", err=True)


def tasks(task_file: options.TaskFile = None) -> None:
    """Tasks and their dimensions: the question, what it needs, which metric answers."""
    found = read_tasks(None if task_file is None else Path(task_file))
    rows = []
    for task in found.values():
        for name, wanted in task.dimensions.items():
            needs = ", ".join(wanted.dimension.needs) or "nothing"
            rows.append([task.name, name, needs, wanted.metric or "–", wanted.dimension.question])
    screen.console().print(
        screen.plain_table(["task", "dimension", "needs", "metric", "question"], rows, whole=(0, 1, 3))
    )
