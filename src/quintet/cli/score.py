"""`quintet score`: a file in, scores with evidence out, and a table one can quote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing, nullcontext
from os.path import realpath
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from quintet import _api as api
from quintet.cli import options, screen
from quintet.cli.spent import spent
from quintet.cli.summary import Summary
from quintet.core.item import Scored
from quintet.core.result import flat_row, row_layout
from quintet.errors import InputError, UnknownName
from quintet.runner.plan import Plan
from quintet.runner.run import Tally

if TYPE_CHECKING:
    from quintet.report import ReportWriter

FORMATS = ("table", "jsonl", "json", "csv", "tsv", "parquet")
SHOWN_ROWS = 20
LONGEST_REASON = 300

Out = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Write rows here; the name's ending names the format.")
]
Format = Annotated[
    str | None, typer.Option("--format", "-f", metavar="NAME", help="table, jsonl, json, csv, tsv or parquet.")
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write a page with charts and evidence: FILE.html.")
]
Evidence = Annotated[bool, typer.Option("--evidence", help="Write the evidence for each score beside it.")]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="Processes that share the work; same results.")
]
Engine = Annotated[
    str | None, typer.Option("--engine", metavar="NAME", help="ray or ray:ADDRESS: a cluster does it; same results.")
]


def score(
    file: options.File,
    task: options.Task = None,
    dims: options.Dims = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    out: Out = None,
    format: Format = None,
    limit: options.Limit = None,
    evidence: Evidence = False,
    report: Report = None,
    model: options.Model = None,
    task_file: options.TaskFile = None,
    fast: options.Fast = False,
    calibration: options.Calibration = None,
    input_format: options.InputFormat = None,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    workers: Workers = 1,
    engine: Engine = None,
) -> None:
    """Scores every row of FILE; row k of the output is row k of the input."""
    from quintet.io.items import open_items
    from quintet.io.writers import open_writer

    chosen = _format(format, out)
    _refuse_overwriting(file, out, report, options.cache_choice(cache, no_cache), calibration, task_file)
    if limit is not None and out is not None and _over(out, file):
        raise InputError("--limit would drop the other rows of the input", out, "name another file with --out")
    with open_items(file, input_format, task, columns, skip_bad=skip_bad, limit=limit) as items:
        screen.say_columns(items.columns.line())
        plan = api.make_plan(
            task, options.names(dims), metric, items.present, model, task_file, fast=fast, calibration=calibration
        )
        tally, summary, shown = Tally(), Summary(plan), list[Scored]()
        layout = row_layout(items.names, plan.signatures, evidence)
        executor = api.open_executor(workers, engine)
        # One after the other: what cannot be opened leaves nothing of the others behind.
        with ExitStack() as opened:
            store = opened.enter_context(closing(api.open_store(options.cache_choice(cache, no_cache))))
            writer = None if chosen == "table" else opened.enter_context(open_writer(out or "-", chosen))
            page = opened.enter_context(_page(report, plan, file) or nullcontext())
            tick = opened.enter_context(screen.progress(_total(file, limit), "scoring"))
            for scored in api.stream(
                plan, items, store, skip_bad=skip_bad, executor=executor, tally=tally, on_row=tick
            ):
                summary.add(scored)
                if page is not None:
                    page.write(scored)
                if writer is not None:
                    writer.write(flat_row(scored, layout))
                elif len(shown) < SHOWN_ROWS:
                    shown.append(scored)
            if tally.rows == 0:
                raise InputError("has no rows", file, "give at least one")
            if writer is not None:
                writer.finish()
                if writer.replaced and out is not None and _over(out, file):
                    what = f"{writer.replaced} texts hold what {chosen} cannot write and would be lost"
                    raise InputError(what, out, "name another file with --out, best one that ends in .jsonl")
    _report(plan, shown, summary, tally, to_stdout=writer is None or out not in (None, "-"))
    if writer is not None and writer.replaced:
        note = f"{writer.replaced} characters that are no Unicode text were written as U+FFFD"
        screen.console(stderr=True).print(note, markup=False)
    if (line := spent(model)) is not None:
        screen.console(stderr=True).print(line, markup=False)


def _page(report: str | None, plan: Plan, file: str) -> ReportWriter | None:
    if report is None:
        return None
    from quintet.report import ReportWriter

    return ReportWriter(report, plan, f"quintet: {PurePath(file).name}")


def _total(file: str, limit: int | None) -> int | None:
    """Rows to come, for the time left; counted only where someone is looking."""
    from quintet.io.items import row_count

    rows = row_count(file) if sys.stderr.isatty() else None
    return min((n for n in (rows, limit) if n is not None), default=None)


def _format(format: str | None, out: str | None) -> str:
    from quintet.io.writers import chosen_format

    if format is not None and format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if out is None:
        return format or "table"
    if not out:
        raise InputError("the name is empty", "--out", "name a file, or - for standard output")
    if format == "table":
        raise InputError("a table is for the screen and is not written to a file", out, "leave --format or --out away")
    return chosen_format(out, format)


def _over(out: str, file: str) -> bool:
    return realpath(out) == realpath(file)


def _refuse_overwriting(
    file: str, out: str | None, report: str | None, cache: bool | str, calibration: str | None, task_file: str | None
) -> None:
    """Only rows may be written over the rows they were made from, and only when all is well."""
    from quintet.io.atomic import refuse_same
    from quintet.io.items import line_files
    from quintet.io.paths import cache_folder

    if report is not None and PurePath(report).suffix.lower() not in ("", ".html", ".htm"):
        raise InputError("a report is an HTML page", report, "end its name in .html")
    store = str(cache_folder() / "results.sqlite") if cache is True else str(cache) if cache else None
    kept = {"--cache": store, "--calibration": calibration, "--task-file": task_file}
    inputs = {f"the input ({field})": path for field, path in (line_files(file) or {"": file}).items()}
    refuse_same({"--out": out, "--report": report}, kept)
    refuse_same({"--report": report}, inputs)


def _report(plan: Plan, shown: Sequence[Scored], summary: Summary, tally: Tally, to_stdout: bool) -> None:
    """Rows (in table form), means with intervals, what was left out, the signature of each column."""
    view = screen.console(stderr=not to_stdout)
    if shown:
        view.print(screen.example_table(shown, [c.label for c in plan.columns], view.width))
        if common := screen.common_flags(shown):
            view.print(f"rows above: {'; '.join(common)}", markup=False)
        if tally.rows > len(shown):
            more = screen.counted(tally.rows - len(shown), "more row")
            view.print(f"… {more}; --out FILE writes them all", markup=False)
        view.print()
    view.print(summary.table())
    for name, reason in plan.left_out.items():
        view.print(f"not scored: {name}: {reason}", markup=False)
    for kind, (count, first) in tally.reasons.items():
        of = "" if count == 1 or kind in ("", first) else "the first: "
        view.print(
            f"skipped: {screen.counted(count, 'row')}: {of}{screen.shorten(first, LONGEST_REASON)}", markup=False
        )
    done = f"{screen.counted(tally.rows, 'row')}; {screen.counted(tally.computed, 'score')} computed"
    view.print(f"{done}, {tally.known} known from before", markup=False)
    for line in dict.fromkeys(plan.signatures.values()):
        view.print(line, markup=False, soft_wrap=True)
    sys.stdout.flush()
