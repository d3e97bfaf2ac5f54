"""`quintet data`: the benchmark sets, and whether they are here and intact."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from quintet.cli import screen
from quintet.cli.bench import Data, Variant
from quintet.core.plain import JsonObject

Export = Annotated[
    str | None,
    typer.Option("--export", metavar="NAME", help="Write the set of this name to --out, ready for quintet score."),
]
Get = Annotated[
    str | None, typer.Option("--get", metavar="NAME", help="Download the set of this name, where its licence allows.")
]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help="Where --export writes; the ending names the format.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Everything that is known, as JSON.")]
Show = Annotated[str | None, typer.Option("--show", metavar="NAME", help="All that is known about one set.")]


def data(
    data: Data = None, show: Show = None, get: Get = None, export: Export = None, out: Out = "-",
    variant: Variant = "", json_: AsJson = False,
) -> None:  # fmt: skip
    """Sets with size, systems, dimensions, split and state; --show NAME tells all that is known."""
    if get is not None:
        from quintet.data.catalog import download, entry

        typer.echo(f"{get} is in {download(entry(get), data)}", err=True)
        return
    if export is not None:
        _export(export, data, variant, out)
        return
    from quintet.data.catalog import status

    rows = [_row(found) for found in status(data)]
    if show is not None:
        from quintet.data.catalog import entry

        name = entry(show).name
        rows = [row for row in rows if row["name"] == name]
    if json_:
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    if show is not None:
        screen.console().print(
            screen.plain_table(["about", show], [[key, _told(row[key])] for row in rows for key in row])
        )
        return
    shown = ("name", "state", "split", "size", "systems", "task", "dimensions")
    table = [[", ".join(row[key]) if key == "dimensions" else row[key] for key in shown] for row in rows]
    view = screen.console(wide=150)
    view.print(screen.plain_table(shown, table, right=(3, 4)))
    for row in rows:
        if row["state"] in ("altered", "missing"):
            problem = f" ({row['problem']})" if row["problem"] else ""
            way = f"quintet data --get {row['name']}" if row["get"] else f"get it from {row['where']}"
            view.print(f"{row['name']}: {row['state']}{problem}; {way}", markup=False)
    view.print("--show NAME tells scales, licence, citation and where to get a set.", markup=False)


def _told(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {' to '.join(map(str, v)) if isinstance(v, list) else v}" for key, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _row(found: Any) -> JsonObject:
    entry = found.entry
    return {
        "name": entry.name, "title": entry.title, "state": found.state, "problem": found.problem, "split": entry.split,
        "size": entry.size, "systems": entry.systems, "task": entry.task, "level": entry.level,
        "dimensions": list(entry.dimensions), "scales": {d: list(bounds) for d, bounds in entry.scales.items()},
        "variants": list(entry.variants), "licence": entry.licence, "citation": entry.citation, "url": entry.url,
        "get": entry.get, "where": entry.where, "files": {file.path: file.sha256 for file in entry.files},
        "notes": entry.notes,
    }  # fmt: skip


def _export(name: str, folder: str | None, variant: str, out: str) -> None:
    from quintet.data.benchmark import export, load

    count = export(load(name, folder, variant), out)
    typer.echo(f"{screen.counted(count, 'row')} of {name} written", err=True)
