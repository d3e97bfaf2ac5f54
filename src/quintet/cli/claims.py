"""`quintet claims`: an output's claims with their verdicts, as a list people want to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from quintet.cli import options, screen
from quintet.errors import InputError

MARKS = {"supported": "+", "contradicted": "-", "not in the source": "?", "cannot tell": "~"}


def claims(
    file: Annotated[str | None, typer.Argument(help="Rows with output and source; - reads standard input.")] = None,
    output: Annotated[str | None, typer.Option("--output", help="One text instead of FILE.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="What it is held against; @FILE reads one.")] = None,
    question: Annotated[str | None, typer.Option("--question", help="What --output answers.")] = None,
    columns: options.Columns = None,
    model: Annotated[str, typer.Option("--model", help="A model of the role reader.")] = "bundled:reader",
    out: Annotated[Path | None, typer.Option("--out", help="Writes JSON lines: id and claims of each row.")] = None,
    input_format: options.InputFormat = None,
) -> None:
    """What each output claims: supported, contradicted or not in the source, with the sentence that says so."""
    rows = list(_rows(file, output, source, question, columns, input_format))
    from quintet._claims import claims as judged

    lines = []
    for id, text, beside, asked in rows:
        found = judged(text, source=beside, question=asked, model=model)
        if out is not None:
            lines.append(json.dumps({"id": id, "claims": [claim.to_json() for claim in found]}, ensure_ascii=False))
            continue
        if len(rows) > 1:
            typer.echo(f"{id}")
        for claim in found:
            typer.echo(f"{MARKS[claim.verdict]} {claim.text}")
            typer.echo(f"    {claim.verdict}, P(supported) {claim.supported:.2f}")
            if claim.faults:
                typer.echo("    at fault: " + ", ".join(repr(word.text) for word in claim.faults))
            if claim.source is not None:
                typer.echo(f"    source: {claim.source.text}")
    if out is not None:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
        typer.echo(f"{len(lines)} rows in {out}", err=True)


def _rows(
    file: str | None,
    output: str | None,
    source: str | None,
    question: str | None,
    columns: str | None,
    input_format: str | None,
) -> Iterator[tuple[str, str, str, str | None]]:
    if output is not None:
        if file is not None or source is None:
            raise InputError("--output wants --source beside it, and no FILE", todo="give --output TEXT --source TEXT")
        if source.startswith("@"):
            try:
                source = Path(source[1:]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"--source cannot be read ({error})", source[1:]) from None
        yield "1", output, source, question
        return
    if file is None:
        raise InputError("nothing to judge", todo="give FILE, or --output TEXT --source TEXT")
    from quintet.io.items import open_items

    with open_items(file, input_format, "fact", columns) as items:
        screen.say_columns(items.line())
        for item in items:
            example = item.example
            if example is None or not (example.output or "").strip() or not (example.source or "").strip():
                name = example.id if example is not None else "a row"
                raise InputError(f"{name} has no output or no source", file, "claims need both")
            yield example.id, example.output, example.source or "", example.question
