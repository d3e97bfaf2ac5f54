"""`quintet corpus`: BLEU, chrF and TER of whole files, with sacrebleu's signatures and paired tests."""

from __future__ import annotations

import json
import math
from pathlib import PurePath
from typing import Annotated, Any, get_args

import typer

from quintet.cli import options, screen
from quintet.core.example import Example
from quintet.core.parameters import build
from quintet.errors import InputError, UnknownName
from quintet.metrics.baselines.corpus import CorpusScore, Test, corpus_scores, known, same_references

FORMATS = ("text", "json")
TESTS = get_args(Test)

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="One file per system (NAME=FILE or FILE), the baseline first; or one file."),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", metavar="NAME", help="bleu, chrf, chrf++, ter; may be repeated.")
]
Samples = Annotated[int, typer.Option("--samples", metavar="N", min=0, help="Resamples or trials; 0: sacrebleu's own.")]
TestName = Annotated[Any, typer.Option("--test", metavar="NAME", help=f"{' or '.join(TESTS)}: paired, of systems.")]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text or json.")]


def corpus(
    files: Files,
    metric: Metrics = None,
    columns: options.Columns = None,
    test: TestName = "bootstrap",
    samples: Samples = 0,
    format: Format = "text",
    input_format: options.InputFormat = None,
) -> None:
    """Corpus scores as papers report them; with several systems, a paired test of each against the first."""
    from quintet.io.items import files_of
    from quintet.io.score_rows import named_file

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if test not in TESTS:
        raise UnknownName("test", test, TESTS)
    for asked in metric or ():
        build(known, asked)
    named = [(name or PurePath(path).name.partition(".")[0], path) for name, path in map(named_file, files_of(files))]
    systems: dict[str, dict[str, Example]] = {}
    for name, path in named:
        for system, rows in _systems(path, columns, input_format).items():
            own = system if len(named) == 1 and system else name
            if own in systems:
                raise InputError(f"two systems are called {own}", path, "name them: NAME=FILE")
            systems[own] = rows
    ids, references = same_references(
        {name: {id: e.references for id, e in rows.items()} for name, rows in systems.items()}
    )
    outputs = {name: [rows[id].output for id in ids] for name, rows in systems.items()}
    found = corpus_scores(outputs, references, metric or ("bleu", "chrf", "ter"), test, samples)
    if format == "json":
        typer.echo(json.dumps([score.to_json() for score in found], indent=1))
    else:
        _show(found, len(ids))


def _systems(path: str, columns: str | None, format: str | None) -> dict[str, dict[str, Example]]:
    """By system, then by what pairs its outputs: the group where one file holds several systems, else the id."""
    from quintet.io.items import open_items

    with open_items(path, format, None, columns) as items:
        screen.say_columns(items.columns.line())
        examples = [item.example for item in items if item.example is not None]
    several = len({example.system for example in examples}) > 1
    systems: dict[str, dict[str, Example]] = {}
    for example in examples:
        key = example.group if several else example.id
        if key is None:
            raise InputError("rows have no doc_id to pair systems by", path, "add it, or give one file per system")
        own = systems.setdefault(example.system or "" if several else "", {})
        if key in own:
            raise InputError(f"two rows have the id {key!r}", path, "give each row an id of its own")
        own[key] = example
    if not systems:
        raise InputError("has no rows", path)
    return systems


def _show(found: list[CorpusScore], rows: int) -> None:
    several = len({score.system for score in found}) > 1
    headers = ["metric", "system", "score", "95 % interval", "p"] if several else ["metric", "score", "95 % interval"]
    table = []
    for score in found:
        interval = f"{score.mean - score.interval:.2f} – {score.mean + score.interval:.2f}" if rows > 1 else "–"
        p = "baseline" if math.isnan(score.p) else f"{score.p:.4f}"
        table.append([score.metric, score.system, f"{score.score:.2f}", interval, p])
    view = screen.console()
    cells = table if several else [[row[0], row[2], row[3]] for row in table]
    view.print(screen.plain_table(headers, cells, right=range(len(headers) - (3 if several else 2), len(headers))))
    view.print(screen.counted(rows, "row"), markup=False)
    for line in dict.fromkeys(f"{score.metric}|{score.signature}" for score in found):
        view.print(line, markup=False, soft_wrap=True)
