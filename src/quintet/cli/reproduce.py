"""`quintet reproduce`: the tables of the five papers, each printed figure with ours beside it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quintet.cli import options, screen
from quintet.cli.bench import Data
from quintet.errors import GateFailed, InputError, UnknownName
from quintet.reproduce.printed import DRAWN

if TYPE_CHECKING:
    from quintet.reproduce.figures import Figure

FORMATS = ("text", "markdown", "csv", "json")
HEADERS = ("row", "column", "printed", "ours", "difference", "mark", "why")

PaperName = Annotated[str | None, typer.Argument(metavar="[PAPER]", help="ctc, usr, unieval, gruen or im2.")]
Tables = Annotated[list[str] | None, typer.Argument(metavar="[TABLE]...", help="Tables, as the paper numbers them.")]
Every = Annotated[bool, typer.Option("--all", help="Every table of the paper (or of all papers).")]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME=MODEL", help="Fills a model that a table asks for; may be repeated."),
]
Bundled = Annotated[bool, typer.Option("--bundled", help="The bundled models in place of those not given.")]
Check = Annotated[bool, typer.Option("--check", help="Only what must be equal; exit 3 if a figure is not.")]
Rows = Annotated[int | None, typer.Option("--rows", metavar="N", min=3, help="At most N items a set, evenly spaced.")]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text, markdown, csv or json.")]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FOLDER", help="Draw each table as bars into this folder.")]


def reproduce(
    paper: PaperName = None,
    tables: Tables = None,
    every: Every = False,
    model: Models = None,
    bundled: Bundled = False,
    check: Check = False,
    rows: Rows = None,
    data: Data = None,
    format: Format = "text",
    plot: Plot = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """A table of a paper with our figure beside each printed one, and a mark that says how the two may be compared.

    Without a table: what the paper has, with the number of figures by mark. --check recomputes all that comes from the
    authors' predictions or needs no model, and fails where a figure differs from print.
    """
    from quintet.reproduce import figures
    from quintet.reproduce.printed import PAPERS
    from quintet.reproduce.printed import paper as read

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    papers = [read(paper)] if paper else [read(key) for key in PAPERS]
    whole = every or check or bool(tables)
    found: dict[tuple[str, str], list[Figure]] = {}
    for one in papers:
        work = figures.Reproduction(
            data, _filled(model), bundled, check or not whole, rows, options.cache_choice(cache, no_cache)
        )
        got = figures.reproduce(one.key, tables or (), work)
        found.update({(one.key, id): cells for id, cells in got.items()})
    titles = {(p.key, t.id): f"{p.name}, {t.name}: {t.title}. {t.note}".strip() for p in papers for t in p.tables}
    if whole and not check:
        typer.echo(_shown(found, titles, format))
    else:
        typer.echo(_counted(found, titles, figures.MARKS, check))
    if plot is not None:
        _draw(found, titles, Path(plot))
    wrong = [(key, figure) for key, cells in found.items() for figure in cells if figure.differs]
    for key, f in wrong if check else ():
        typer.echo(
            f"{' '.join(key)}: {f.row.label}, {f.column.heading}: printed {f.printed}, ours {_ours(f)}", err=True
        )
    if check and wrong:
        raise GateFailed(f"{len(wrong)} figures differ from print")


def _filled(model: Sequence[str] | None) -> dict[str, str]:
    pairs = {text.partition("=")[0]: text.partition("=")[2] for text in model or ()}
    for name, spec in pairs.items():
        if not spec:
            raise InputError(f"--model {name} names no model", todo="write NAME=MODEL")
    return pairs


def _counted(
    found: dict[tuple[str, str], list[Figure]], titles: dict[tuple[str, str], str], marks: Sequence[str], check: bool
) -> str:
    """A line a table: how many figures can be compared, and how."""
    shown = marks[:1] if check else marks
    lines, total = [], Counter[str]()
    for key, cells in found.items():
        kinds = Counter(f.mark for f in cells if f.printed and f.printed != DRAWN)
        bars = sum(f.printed == DRAWN for f in cells)
        total += kinds
        wrong = sum(f.differs for f in cells)
        counts = ", ".join(f"{kinds[mark]} {mark}" for mark in shown if kinds[mark])
        if bars and not check:
            counts = f"{bars} drawn without a number"
        if counts or not check:
            lines.append(f"{titles[key]}\n    {counts}{f', {wrong} of them differ' if wrong else ''}".rstrip())
    lines.append("all: " + ", ".join(f"{total[mark]} {mark}" for mark in shown if total[mark]))
    return "\n".join(lines)


def _shown(found: dict[tuple[str, str], list[Figure]], titles: dict[tuple[str, str], str], format: str) -> str:
    if format == "json":
        return json.dumps([{"table": " ".join(k), **_plain(f)} for k, cells in found.items() for f in cells], indent=1)
    if format == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("table", *HEADERS))
        writer.writerows((" ".join(k), *_cells(f)) for k, cells in found.items() for f in cells if f.printed)
        return out.getvalue().rstrip()
    parts = [_text(titles[key], [f for f in cells if f.printed], format) for key, cells in found.items()]
    return "\n\n".join(parts)


def _text(title: str, cells: Sequence[Figure], format: str) -> str:
    rows = [_cells(figure) for figure in cells]
    if format == "markdown":
        lines = [f"| {' | '.join(HEADERS)} |", "|" + "---|" * len(HEADERS)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return f"**{title}**\n\n" + "\n".join(lines)
    view = screen.console()
    with view.capture() as capture:
        view.print(screen.plain_table(HEADERS, rows, right=(2, 3, 4), whole=(0, 1)))
    return f"{title}\n{capture.get().rstrip()}\n{_footer(cells)}"


def _footer(cells: Sequence[Figure]) -> str:
    columns = {(f.column.set, f.column.variant, f.column.exclude) for f in cells if f.column.set}
    parts = [
        f"{name}{f' ({variant})' if variant else ''}{' without ' + ', '.join(left_out) if left_out else ''}"
        for name, variant, left_out in sorted(columns)
    ]
    return f"Items: {'; '.join(parts)}." if parts else ""


def _cells(f: Figure) -> tuple[str, ...]:
    why = "; ".join(part for part in (f.why, f"slip: {f.slip.why}" if f.slip else "") if part)
    difference = "" if f.difference is None else f"{f.difference:+.4f}"
    return f.row.label, f.column.heading, f.printed, _ours(f), difference, f.mark, why


def _ours(f: Figure) -> str:
    return "" if f.ours is None else f.ours if isinstance(f.ours, str) else f"{f.ours:.4f}"


def _plain(f: Figure) -> dict[str, object]:
    cells = dict(zip(HEADERS, _cells(f), strict=True))
    about = {"set": f.column.set, "dimension": f.column.dimension, "level": f.column.level}
    return {**cells, **about, "statistic": f.column.statistic, "ours": f.ours, "difference": f.difference}


def _draw(found: dict[tuple[str, str], list[Figure]], titles: dict[tuple[str, str], str], folder: Path) -> None:
    from quintet.stats.plots import draw_pairs

    folder.mkdir(parents=True, exist_ok=True)
    for key, cells in found.items():
        pairs = [
            (f"{f.row.label}: {f.column.heading}", math.nan if f.value is None else f.value, f.ours)
            for f in cells
            if (f.value is not None or f.printed == DRAWN) and isinstance(f.ours, float)
        ]
        if pairs:
            name = "-".join(key).replace(" ", "-")
            for path in draw_pairs(pairs, titles[key], folder, name):
                typer.echo(str(path), err=True)
