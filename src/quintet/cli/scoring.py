"""What `quintet score` does, once its options are read."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from os.path import realpath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from quintet import _api as api
from quintet._saved import PAGES
from quintet.cli import options, screen
from quintet.cli.history import Recorder, what_of
from quintet.cli.screen import number, plain_table, spent
from quintet.core.item import Scored
from quintet.core.options import Options
from quintet.core.result import flat_row, row_layout
from quintet.core.sessions import Sessions
from quintet.errors import InputError, UnknownName
from quintet.io.remote import is_url
from quintet.metrics.baselines.corpus import CorpusTally
from quintet.runner.desk import Tally
from quintet.runner.plan import Plan
from quintet.stats.significance import mean_interval

if TYPE_CHECKING:
    from quintet.core.result import Layout
    from quintet.io.items import Items, ManyItems
    from quintet.io.writers import Writer
    from quintet.report import ReportWriter
    from quintet.runner.parts import Part


# Means with bootstrap intervals, over all rows and by system, gathered as rows go by.


class Summary:
    def __init__(self, plan: Plan) -> None:
        self._labels = [column.label for column in plan.columns]
        self._values: dict[str, dict[str, list[float]]] = {label: {} for label in self._labels}
        self._corpora = [tally for column in plan.columns if (tally := CorpusTally.of(column.label, column.metric))]

    def add(self, scored: Scored) -> None:
        example = scored.item.example
        system = None if example is None else example.system
        if example is not None:
            for tally in self._corpora:
                tally.add(example)
        for label in self._labels:
            value = scored.scores[label].value
            if not math.isnan(value):
                self._values[label].setdefault(system or "", []).append(value)

    def corpus_lines(self) -> list[str]:
        """BLEU, chrF and TER of all rows together, which is what papers report."""
        return [line for tally in self._corpora if (line := tally.line())]

    def table(self) -> Table:
        systems = sorted({name for values in self._values.values() for name in values if name})
        rows = []
        for label in self._labels:
            everything = [value for values in self._values[label].values() for value in values]
            rows.append([label, "all", *_cells(everything)])
            rows += [["", name, *_cells(self._values[label].get(name, []))] for name in systems if len(systems) > 1]
        headers = ["dimension", "system", "n", "mean", "95 % interval"]
        if len(systems) < 2:
            # One column less to wonder about.
            del headers[1]
            rows = [[row[0], *row[2:]] for row in rows]
        return plain_table(headers, rows, right=range(len(headers) - 3, len(headers)))


def _cells(values: list[float]) -> list[str]:
    if not values:
        return ["0", "–", "–"]
    low, high = mean_interval(np.asarray(values))
    interval = "–" if math.isnan(low) else f"{number(low)} – {number(high)}"
    return [str(len(values)), number(float(np.mean(values))), interval]


FORMATS = ("table", "jsonl", "json", "csv", "tsv", "parquet", "xlsx", "md")
SHOWN_ROWS = 20
LONGEST_REASON = 300


def score_all(
    *,
    files: list[str] | None,
    output: str | None,
    source: str | None,
    question: str | None,
    context: str | None,
    reference: list[str] | None,
    task: str | None,
    dims: str | None,
    metric: list[str] | None,
    columns: str | None,
    out: str | None,
    format: str | None,
    limit: int | None,
    evidence: bool,
    report: str | None,
    sessions_out: str | None,
    model: str | None,
    task_file: str | None,
    fast: bool,
    calibration: str | None,
    input_format: str | None,
    skip_bad: bool,
    cache: str | None,
    no_cache: bool,
    workers: int,
    engine: str | None,
    ray: bool,
) -> None:
    from quintet.io.conversations import TASKS
    from quintet.io.items import files_of
    from quintet.io.writers import open_writer

    text = options.one_text(output, source=source, question=question, context=context, references=reference)
    if (text is None) == (not files):
        what = "nothing to score" if text is None else "both a file and --output were given"
        raise InputError(what, todo="give FILE, or --output TEXT with --source TEXT")
    paths = files_of(files or ())
    if ray:
        if text is not None or len(paths) > 1 or report or format or sessions_out or input_format:
            raise InputError("takes one file and writes rows alone", "--ray", "leave the other options away")
        _in_parts(paths[0], out, engine or "ray", workers, task=task, dims=options.names(dims), metrics=metric,
                  columns=columns, model=model, task_file=task_file, fast=fast, calibration=calibration,
                  evidence=evidence, limit=limit, skip_bad=skip_bad)  # fmt: skip
        return
    out, report = _file_and_page(out, report)
    chosen, cached = _format(format, out), options.cache_choice(cache, no_cache)
    _refuse_overwriting(paths, out, report, cached, calibration, task_file)
    if limit is not None and out is not None and _over(out, paths):
        raise InputError("--limit would drop the other rows of the input", out, "name another file with --out")
    with _opened(paths, text, input_format, task, columns, skip_bad, limit) as items, ExitStack() as opened:
        if text is None:
            screen.say_columns(items.line())
        asked = Options(task, options.names(dims), metric, columns, model, task_file, fast, calibration)
        plan = api.make_plan(asked, items.present)
        taken = _Taken(
            plan, _sessions(plan) if task in TASKS else None, row_layout(items.names, plan.signatures, evidence)
        )
        if taken.sessions is None and sessions_out is not None:
            raise InputError(f"task {task} has no conversations", "--sessions", f"give --task {TASKS[0]}")
        executor = api.open_executor(workers, engine)
        # One after the other: what cannot be opened leaves nothing of the others behind.
        store = opened.enter_context(closing(api.open_store(cached)))
        taken.writer = None if chosen == "table" else opened.enter_context(open_writer(out or "-", chosen))
        taken.page = opened.enter_context(_page(report, plan, paths) or nullcontext())
        taken.run = None if cached is False or text is not None else Recorder(plan.described)
        tick = opened.enter_context(screen.progress(_total(paths, limit), "scoring"))
        rows = api.stream(plan, items, store, skip_bad=skip_bad, executor=executor, tally=taken.tally, on_row=tick)
        for scored in rows:
            taken.add(scored)
        taken.finish(paths, out, chosen)
    to_stdout = taken.writer is None or out not in (None, "-")
    taken.finish_sessions(sessions_out, stderr=not to_stdout)
    if taken.run is not None:
        taken.run.finish(what_of(task, metric), paths, cached)
    _report(plan, taken.shown, taken.summary, taken.tally, to_stdout)
    for line in (*taken.warnings(chosen), spent(model)):
        if line is not None:
            screen.console(stderr=True).print(line, markup=False)


class _Taken:
    """What takes rows as they come: the file, the page, the means, the conversations, the history of runs."""

    def __init__(self, plan: Plan, sessions: Sessions | None, layout: Layout) -> None:
        self.tally, self.summary, self.shown = Tally(), Summary(plan), list[Scored]()
        self.sessions, self._layout = sessions, layout
        self.writer: Writer | None = None
        self.page: ReportWriter | None = None
        self.run: Recorder | None = None

    def add(self, scored: Scored) -> None:
        self.summary.add(scored)
        if self.run is not None:
            self.run.add(scored)
        if self.sessions is not None:
            self.sessions.add(scored)
        if self.page is not None:
            self.page.write(scored)
        if self.writer is not None:
            self.writer.write(flat_row(scored, self._layout))
        elif len(self.shown) < SHOWN_ROWS:
            self.shown.append(scored)

    def finish(self, paths: Sequence[str], out: str | None, format: str) -> None:
        if self.tally.rows == 0:
            raise InputError("has no rows", ", ".join(paths), "give at least one")
        if self.writer is not None:
            self.writer.finish()
            if self.writer.replaced and out is not None and _over(out, paths):
                what = f"{self.writer.replaced} texts hold what {format} cannot write and would be lost"
                raise InputError(what, out, "name another file with --out, best one that ends in .jsonl")

    def finish_sessions(self, out: str | None, stderr: bool) -> None:
        from quintet.io.writers import open_writer

        if self.sessions is None:
            return
        if out is not None:
            with open_writer(out, _format(None, out)) as writer:
                for session in self.sessions:
                    writer.write(session.to_json())
                writer.finish()
        screen.say_sessions(list(self.sessions), stderr=stderr)

    def warnings(self, format: str) -> Iterator[str]:
        if self.writer is not None and self.writer.replaced:
            yield f"{self.writer.replaced} characters that are no Unicode text were written as U+FFFD"
        if self.writer is not None and self.writer.cut:
            yield f"{screen.counted(self.writer.cut, 'text')} cut to what a cell of {format} holds"


def _in_parts(file: str, out: str | None, engine: str, workers: int, **how: Any) -> None:
    if not out or out == "-":
        raise InputError("has nowhere to write to", "--ray", "give --out FOLDER, --out s3://… or --out FILE.jsonl")
    if not is_url(out) and _over(out, [file]):
        raise InputError("would overwrite the input", out, "name another place with --out")
    seen = {True: 0, False: 0}

    def on_part(part: Part) -> None:
        seen[part.known] += part.rows

    with screen.progress(None, "parts"):
        told = api.score_parts(file, out, engine=engine, workers=workers, on_part=on_part, **how)
    view = screen.console()
    rows = [[name, column["rows"], screen.number(_or_nan(column["mean"]))] for name, column in told["columns"].items()]
    view.print(screen.plain_table(["dimension", "n", "mean"], rows, right=(1, 2)))
    parts = screen.counted(len(told["parts"]), "part")
    view.print(f"{screen.counted(told['rows'], 'row')} in {parts}; {seen[True]} rows were there already", markup=False)
    for line in dict.fromkeys(column["signature"] for column in told["columns"].values()):
        view.print(line, markup=False, soft_wrap=True)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _sessions(plan: Plan) -> Sessions:
    return Sessions(frozenset(column.label for column in plan.columns if not column.about.higher_is_better))


def _opened(
    paths: Sequence[str],
    text: dict[str, str | list[str]] | None,
    format: str | None,
    task: str | None,
    columns: str | None,
    skip_bad: bool,
    limit: int | None,
) -> Items | ManyItems:
    from quintet.io.items import Items, open_all
    from quintet.io.sources import rows_from_python

    if text is not None:
        return Items(rows_from_python([text]), task, columns, skip_bad=skip_bad)
    return open_all(paths, format, task, columns, skip_bad=skip_bad, limit=limit)


def _page(report: str | None, plan: Plan, paths: Sequence[str]) -> ReportWriter | None:
    if report is None:
        return None
    from quintet.report import ReportWriter

    named = ", ".join(PurePath(path).name for path in paths[:3]) + (" …" if len(paths) > 3 else "")
    return ReportWriter(report, plan, f"quintet: {named or 'one text'}")


def _total(paths: Sequence[str], limit: int | None) -> int | None:
    """Rows to come, for the time left."""
    from quintet.io.items import row_count

    counts = [row_count(path) for path in paths] or [1]
    rows = None if None in counts else sum(count for count in counts if count is not None)
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


def _file_and_page(out: str | None, report: str | None) -> tuple[str | None, str | None]:
    """`--out page.html` is a report."""
    if out is None or PurePath(out).suffix.lower() not in PAGES:
        return out, report
    if report is not None:
        raise InputError("two pages were asked for", f"--out {out}, --report {report}", "give one of them")
    return None, out


def _over(out: str, paths: Sequence[str]) -> bool:
    return realpath(out) in map(realpath, paths)


def _refuse_overwriting(
    paths: Sequence[str],
    out: str | None,
    report: str | None,
    cache: bool | str,
    calibration: str | None,
    task_file: str | None,
) -> None:
    """Only rows may be written over the rows they were made from, and only when all is well."""
    from quintet.io.atomic import refuse_same
    from quintet.io.items import line_files
    from quintet.io.paths import cache_folder

    if report is not None and PurePath(report).suffix.lower() not in ("", *PAGES):
        raise InputError("a report is an HTML page", report, "end its name in .html")
    store = str(cache_folder() / "results.sqlite") if cache is True else str(cache) if cache else None
    kept = {"--cache": store, "--calibration": calibration, "--task-file": task_file}
    named = [part for file in paths for part in (line_files(file) or {"": file}).items()]
    inputs = {f"the input ({field or path})": path for field, path in named}
    refuse_same({"--out": out, "--report": report}, kept)
    refuse_same({"--report": report}, inputs)
    if len(paths) > 1:
        refuse_same({"--out": out}, inputs)


def _report(plan: Plan, shown: Sequence[Scored], summary: Summary, tally: Tally, to_stdout: bool) -> None:
    """Rows (in table form), means with intervals, what was left out, the signature of each column."""
    view = screen.console(stderr=not to_stdout)
    if shown:
        highs = {label: column.high for label, column in plan.described.items()}
        view.print(screen.example_table(shown, [c.label for c in plan.columns], view.width, highs))
        if common := screen.common_flags(shown):
            view.print(f"rows above: {'; '.join(common)}", markup=False)
        if tally.rows > len(shown):
            more = screen.counted(tally.rows - len(shown), "more row")
            view.print(f"… {more}; --out FILE writes them all", markup=False)
        view.print()
    if tally.rows > 1:
        view.print(summary.table())
        for line in screen.scale_lines(plan.described.values()):
            view.print(line, markup=False)
        for line in summary.corpus_lines():
            view.print(line, markup=False, soft_wrap=True)
    for name, reason in plan.left_out.items():
        view.print(f"not scored: {name}: {reason}", markup=False)
    for kind, (count, first) in tally.reasons.items():
        of = "" if count == 1 or kind in ("", first) else "the first: "
        view.print(
            f"skipped: {screen.counted(count, 'row')}: {of}{screen.shorten(first, LONGEST_REASON)}", markup=False
        )
    done = f"{screen.counted(tally.rows, 'row')}; {screen.counted(tally.computed, 'score')} computed"
    view.print(f"{done}, {tally.known} from the cache", markup=False)
    for line in dict.fromkeys(plan.signatures.values()):
        view.print(line, markup=False, soft_wrap=True)
    sys.stdout.flush()
