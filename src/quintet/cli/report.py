"""`quintet report`: the page of charts and evidence for a file that was scored before."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated

import typer

from quintet._saved import PAGES, read_scored
from quintet.cli import options
from quintet.errors import InputError

Scored = Annotated[
    str, typer.Argument(metavar="SCORED", help="A file with scores; evidence is shown where --evidence wrote it.")
]
Out = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="The page to write; default: SCORED's name and .html.")
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The page's heading.")]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="FILE", help="Say what has changed since: a scored file, @-2, or last-on-main."),
]


def report(
    scored: Scored,
    out: Out = None,
    task: options.Task = None,
    dims: options.Dims = None,
    columns: options.Columns = None,
    title: Title = None,
    baseline: Baseline = None,
) -> None:
    """Writes the report of a scored file; nothing is scored again."""
    from quintet.io.atomic import refuse_same

    page = out or PurePath(scored).name.partition(".")[0] + ".html"
    if PurePath(page).suffix.lower() not in PAGES:
        raise InputError("a report is an HTML page", page, "end its name in .html")
    refuse_same({"--out": page}, {"the input": scored})
    result = read_scored(scored, options.names(dims), task=task, columns=columns)
    result.report(page, title or f"quintet: {PurePath(scored).name}", baseline=baseline)
    typer.echo(page)
