"""`quintet compare`: which of my systems is better, by how much, and is it settled?"""

from __future__ import annotations

from typing import Annotated

import typer

from quintet import _saved
from quintet.cli import options

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Scored files or kept runs (@-1 @-2), one per system (NAME=FILE), or one file with a system column.",
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
) -> None:
    """Per dimension: difference, interval, p after correction, effect size, win/tie/loss, examples still needed."""
    from quintet.stats.tables import differences_table

    found = _saved.compare(
        files,
        dims=options.names(dims),
        lower_is_better=options.names(lower_is_better) or (),
        tie=tie,
        common_only=common_only,
    )
    typer.echo(differences_table(found, format))
