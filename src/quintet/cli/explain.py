"""`quintet explain`: one example with its evidence in colour."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Annotated

import typer
from rich.text import Text

from quintet import _api as api
from quintet.cli import options, screen
from quintet.core.blend import ADDS
from quintet.core.item import Item, Scored
from quintet.core.options import Options
from quintet.core.score import Score, Span
from quintet.errors import InputError, UnknownName
from quintet.runner.plan import Plan

Id = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="The id of the row; its number, counted from 1, where rows have none."),
]
Row = Annotated[
    int | None,
    typer.Option("--row", metavar="N", min=1, help="The row by its number, counted from 1, whatever its id."),
]
SHOWN_SUPPORT = 8
SHOWN_ROWS = 8


def explain(
    file: options.File,
    id: Id = None,
    row: Row = None,
    task: options.Task = None,
    dims: options.Dims = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    model: options.Model = None,
    task_file: options.TaskFile = None,
    fast: options.Fast = False,
    calibration: options.Calibration = None,
    input_format: options.InputFormat = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """Shows one example of FILE: its texts, each score, and the words, sentences or pairs behind it."""
    from quintet.io.items import open_items

    if id is not None and row is not None:
        raise InputError("both --id and --row were given", file, "give one of them")
    with open_items(file, input_format, task, columns, skip_bad=True) as items:
        screen.say_columns(items.columns.line())
        asked = Options(task, options.names(dims), metric, columns, model, task_file, fast, calibration)
        plan = api.make_plan(asked, items.present)
        chosen = _by_id(items, id, file) if id is not None else _by_row(items, row, file)
    with closing(api.open_store(options.cache_choice(cache, no_cache))) as store:
        (scored,) = api.stream(plan, [chosen], store)
    _show(scored, plan)


def _by_id(items: Iterable[Item], id: str, file: str) -> Item:
    """The first row with that id; where there are more, their numbers are said."""
    known: list[str] = []
    found: dict[int, Item] = {}
    for number, item in enumerate(items, 1):
        if item.example is None:
            continue
        if item.example.id == id:
            found[number] = item
        elif len(known) < 1000:
            known.append(item.example.id)
    if not found:
        raise UnknownName(f"id in {file}", id, known)
    if len(found) > 1:
        first, *others = found
        more = ", ".join(map(str, others[:SHOWN_ROWS])) + (" …" if len(others) > SHOWN_ROWS else "")
        typer.echo(f"{len(found)} rows have the id {id!r}: row {first} is shown; --row NUMBER for {more}", err=True)
    return next(iter(found.values()))


def _by_row(items: Iterable[Item], row: int | None, file: str) -> Item:
    """Without a number, the only row there is."""
    count, found = 0, None
    for count, item in enumerate(items, 1):
        if count == (row or 1):
            found = item
        if found is not None and count == (row or 2):
            break
    if row is None and count > 1:
        raise InputError("has several rows", file, "say which with --id ID or --row NUMBER")
    if found is None:
        raise InputError(f"there is no row {row or 1}, only {count}", file)
    if found.example is None:
        raise InputError(found.problem, f"{file}, row {row or 1}")
    return found


def _show(scored: Scored, plan: Plan) -> None:
    view = screen.console()
    example = scored.item.example
    if example is None:
        return
    for field in ("source", "context", "history", "references"):
        if example.has(field):
            view.print(Text(f"{field}: ", style="bold").append(screen.shorten(example.text(field), 600), style="dim"))
    for column in plan.columns:
        score = scored.scores[column.label]
        view.print()
        heading = Text(f"{column.label} {screen.number(score.value)}", style="bold")
        view.print(heading.append(f"  {column.about.question}", style="not bold dim"))
        view.print(screen.coloured(example.output, [s for s in score.spans if s.field == "output"]))
        for line in _lines(score, example.output, example.text):
            view.print("  " + line, markup=False)
    view.print()
    for line in dict.fromkeys(plan.signatures.values()):
        view.print(line, markup=False, style="dim", soft_wrap=True)


def _lines(score: Score, output: str, text_of: object) -> list[str]:
    lines = [
        f"{name} {value:.4f}" + (f" (adds {score.parts[name + ADDS]:+.3f})" if name + ADDS in score.parts else "")
        for name, value in score.parts.items()
        if not name.endswith(ADDS)
    ]
    lines += list(score.flags)
    lines += [f"{count} tokens of {field} were not seen" for field, count in score.cut.items()]
    shown = (s for s in score.spans if s.other is not None or s.p_supported is not None)
    weak = sorted(shown, key=lambda s: (s.value, s.start))[:SHOWN_SUPPORT]
    return lines + [_support(span, output, text_of) for span in weak]


def _support(span: Span, output: str, text_of: object) -> str:
    here = screen.shorten(output[span.start : span.end], 40)
    note = f" ({span.note})" if span.note else ""
    if span.other is None or not callable(text_of):
        return f"{span.value:6.3f}  {here!r}{note}"
    field, start, end = span.other
    there = screen.shorten(text_of(field)[start:end], 40)
    return f"{span.value:6.3f}  {here!r} ~ {there!r} in {field}{note}"
