"""`quintet prefer`: which of two outputs is better, which of several systems."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from quintet import _prefer
from quintet.cli import options, screen
from quintet.errors import UnknownName
from quintet.stats.preference import OVERALL

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="One file per system, rows matched by id; or one with chosen and rejected."),
]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text or json.")]
Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="COLUMN", help="Says which output people chose; chosen and rejected need none."),
]
Out = Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the probabilities of each item.")]


def prefer(
    files: Files,
    task: options.Task = None,
    dims: options.Dims = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    labels: Labels = None,
    model: options.Model = None,
    fast: options.Fast = False,
    format: Format = "text",
    out: Out = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """How likely each output is the better one, per dimension and overall; strengths where there are many systems."""
    from quintet.io.writers import chosen_format, open_writer

    if format not in ("text", "json"):
        raise UnknownName("format", format, ("text", "json"))
    found = _prefer.prefer(
        *files, task=task, dims=options.names(dims), metrics=metric, columns=columns, labels=labels, model=model,
        fast=fast, cache=options.cache_choice(cache, no_cache),
    )  # fmt: skip
    for line in found.read_as:
        screen.say_columns(line)
    if out is not None:
        with open_writer(out, chosen_format(out, None)) as writer:
            for row in found.rows:
                writer.write(dict(row))
            writer.finish()
    if format == "json":
        pairs = [pair.to_json() for pair in found.pairs]
        agreed = {name: one.to_json() for name, one in found.agreement.items()}
        typer.echo(json.dumps({"pairs": pairs, "strengths": dict(found.strengths), "agreement": agreed}, indent=1))
        return
    rows = [
        [p.dimension, p.first_name, p.second_name, str(p.n), *(f"{x:.2f}" for x in (p.first, p.tie, p.second)),
         f"{p.win_rate:.2f}", "–" if math.isnan(p.low) else f"{p.low:.2f} – {p.high:.2f}"]
        for p in found.pairs
    ]  # fmt: skip
    headers = ["dimension", "first", "second", "n", "first better", "tie", "second better", "win rate", "95 % interval"]
    view = screen.console()
    view.print(screen.plain_table(headers, rows, right=range(3, 9)))
    if len(found.strengths) > 2:
        order = sorted(found.strengths.items(), key=lambda pair: -pair[1])
        view.print(
            "strength (Bradley-Terry): " + ", ".join(f"{name} {value:.2f}" for name, value in order), markup=False
        )
    if found.agreement:
        dimensions = sorted(found.agreement, key=lambda name: name != OVERALL)
        (n,) = {found.agreement[name].n for name in dimensions[:1]}
        view.print(
            f"agreement with the choice of people in {screen.counted(n, 'pair')}: "
            + ", ".join(f"{name} {found.agreement[name]}" for name in dimensions),
            markup=False,
        )
