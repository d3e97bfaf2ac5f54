"""`quintet compare`: which of my systems is better, by how much, and is it settled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from quintet import _api as api
from quintet import _saved
from quintet.cli import options, screen
from quintet.core.result import Result
from quintet.errors import InputError
from quintet.io.score_rows import named_file, stem

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Scored files, texts with --task, or kept runs (@-1), one per system (NAME=FILE); or one with all.",
    ),
]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text, markdown, latex, csv or json.")]
Lower = Annotated[
    str | None, typer.Option("--lower-is-better", metavar="NAME,…", help="Dimensions where less is better, by commas.")
]
Tie = Annotated[float, typer.Option("--tie", metavar="NUMBER", min=0.0, help="Scores this close count as equal.")]
Common = Annotated[bool, typer.Option("--common-only", help="Go on with the shared ids where the files' ids differ.")]


def compare(
    files: Files,
    dims: options.Dims = None,
    format: Format = "text",
    lower_is_better: Lower = None,
    tie: Tie = 0.0,
    common_only: Common = False,
    task: options.Task = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    model: options.Model = None,
    fast: options.Fast = False,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """Per dimension: difference, interval, p after correction, effect size, win/tie/loss, examples still needed.

    With --task or --metric the files hold texts, which are scored now."""
    from quintet.stats.tables import differences_table

    systems: Sequence[str] | Mapping[str, Result] = files
    if task or metric:
        named = {name or stem(path): path for name, path in map(named_file, files)}
        if len(named) < max(2, len(files)):
            what = "one file to score" if len(files) < 2 else "two systems have the same name"
            raise InputError(what, ", ".join(files), "name them: NAME=FILE, or score first: quintet score --out")
        kept = options.cache_choice(cache, no_cache)
        systems = {
            name: api.score(
                path, task, dims=options.names(dims), metrics=metric, columns=columns, model=model, fast=fast,
                skip_bad=skip_bad, cache=kept,
            )
            for name, path in named.items()
        }  # fmt: skip
        for line in dict.fromkeys(one.read_as for one in systems.values()):
            screen.say_columns(line)
    found = _saved.compare(
        systems,
        dims=options.names(dims),
        lower_is_better=options.names(lower_is_better) or (),
        tie=tie,
        common_only=common_only,
    )
    typer.echo(differences_table(found, format))
