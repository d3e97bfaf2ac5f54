"""Options that several commands share, said once."""

from __future__ import annotations

from typing import Annotated

import typer

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSONL, JSON, CSV, TSV or Parquet, plain or .gz; - for standard input; files of lines: output=A,source=B.",
    ),
]
Task = Annotated[
    str | None, typer.Option("--task", "-t", metavar="NAME", help="What kind of text it is: see quintet tasks.")
]
Dims = Annotated[
    str | None,
    typer.Option("--dims", metavar="NAME,…", help="Dimensions, separated by commas; default: all of the task."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", metavar="NAME", help="A metric by name, with parameters after a colon: bertscore-f:layer=12."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="FIELD=COLUMN,…", help="Which column is which: output=summary,source=article."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="bundled:NAME, dir:PATH, hf:NAME@REVISION or openai:MODEL@URL."),
]
TaskFile = Annotated[
    str | None, typer.Option("--task-file", metavar="FILE", help="A TOML file with more tasks or dimensions.")
]
Fast = Annotated[bool, typer.Option("--fast", help="Leave the language model out: several times faster.")]
Calibration = Annotated[
    str | None,
    typer.Option(
        "--calibration", metavar="FILE", help="What quintet calibrate wrote: scores on the scale of your labels."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N rows.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Go on past bad rows; they keep their place, unscored.")]
Cache = Annotated[
    str | None, typer.Option("--cache", metavar="FILE", help="Where results are kept (default: in the cache folder).")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep results.")]
InputFormat = Annotated[
    str | None,
    typer.Option("--input-format", metavar="NAME", help="jsonl, json, csv, tsv, parquet; default: by the file's name."),
]


def names(text: str | None) -> list[str] | None:
    """`a,b` as a list; nothing stays nothing."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()] or None


def cache_choice(cache: str | None, no_cache: bool) -> bool | str:
    return False if no_cache else cache or True
