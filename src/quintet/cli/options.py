"""Options that several commands share, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quintet.errors import InputError

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSONL, JSON, CSV, TSV or Parquet, plain or .gz; - for standard input; files of lines: output=A,source=B.",
    ),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        show_default=False,
        help="JSONL, JSON, CSV, TSV, XLSX or Parquet, plain or .gz; several files or a pattern; - for standard input; "
        "files of lines: output=A,source=B.",
    ),
]
Output = Annotated[str | None, typer.Option("--output", metavar="TEXT", help="One text in place of FILE.")]
Source = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="With --output: its source, or @FILE.")]
Question = Annotated[str | None, typer.Option("--question", metavar="TEXT", help="With --output: what it answers.")]
Context = Annotated[str | None, typer.Option("--context", metavar="TEXT", help="With --output: knowledge, or @FILE.")]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="TEXT", help="With --output: what people wrote; may be repeated."),
]


def _tasks(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from quintet.core.task import read_tasks

    return [name for name in read_tasks() if name.startswith(incomplete)]


def _metrics(incomplete: str) -> list[str]:
    from quintet.metrics import metrics

    return [entry.name for entry in metrics if entry.name.startswith(incomplete)]


Task = Annotated[
    str | None,
    typer.Option(
        "--task", "-t", metavar="NAME", help="What kind of text it is: see quintet tasks.", autocompletion=_tasks
    ),
]
Dims = Annotated[
    str | None,
    typer.Option("--dims", metavar="NAME,…", help="Dimensions, separated by commas; default: all of the task."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="A metric by name, with parameters after a colon: bertscore-f:layer=12.",
        autocompletion=_metrics,
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
Fast = Annotated[bool, typer.Option("--fast", help="Leave the language model out: faster.")]
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


def one_text(output: str | None, **beside: str | list[str] | None) -> dict[str, str | list[str]] | None:
    """The row that the command line holds itself, if any; `@FILE` stands for what the file holds."""
    given = {field: value for field, value in beside.items() if value}
    if output is None:
        if given:
            name = "reference" if "references" in given else next(iter(given))
            raise InputError("belongs to --output", f"--{name}", "give --output TEXT too")
        return None
    return {"output": output, **{name: _held(v) if isinstance(v, str) else v for name, v in given.items()}}


def _held(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", text[1:], "a text that begins with @ names a file") from None
