"""`quintet history`, `quintet show`, `quintet cache`: the runs of this machine and what is kept of them."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path, PurePath
from typing import Annotated

import numpy as np
import typer

from quintet._version import __version__
from quintet.cli import options, screen
from quintet.core.item import Scored
from quintet.core.metric import Metric
from quintet.core.result import Column as About
from quintet.core.result import Result
from quintet.errors import InputError, UnknownName
from quintet.io.paths import cache_folder
from quintet.io.runs import Column, Run, RunStore, number_or_none, runs_file
from quintet.stats.significance import mean_interval

FORMATS = ("text", "json")
PARTS = ("results", "runs", "all")
_BARS = "▁▂▃▄▅▆▇█"
WORST = 5

What = Annotated[str, typer.Option("--what", metavar="TEXT", help="Only runs of this task or metric.")]
Branch = Annotated[str, typer.Option("--branch", metavar="NAME", help="Only runs on this branch.")]
File = Annotated[str, typer.Option("--file", metavar="TEXT", help="Only runs of files with this in their names.")]
Last = Annotated[int, typer.Option("--last", metavar="N", min=1, help="So many runs, the latest ones.")]
Trend = Annotated[str | None, typer.Option("--trend", metavar="DIMENSION", help="One dimension from run to run.")]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text or json.")]
Name = Annotated[str, typer.Argument(metavar="RUN", help="Its number, @-1 for the latest, or last-on-BRANCH.")]
Clear = Annotated[str | None, typer.Option("--clear", metavar="NAME", help=f"Throw away: {', '.join(PARTS)}.")]
Keep = Annotated[int, typer.Option("--keep", metavar="N", min=0, help="With --clear runs: all but the latest N.")]


class Recorder:
    """Gathers a run as its rows go by."""

    def __init__(self, about: Mapping[str, About]) -> None:
        self._about = about
        self._ids: list[str] = []
        self._values: dict[str, list[float]] = {label: [] for label in self._about}
        self._started = time.monotonic()

    def add(self, scored: Scored) -> None:
        example = scored.item.example
        self._ids.append(example.id if example and example.id else str(len(self._ids) + 1))
        for label, values in self._values.items():
            values.append(scored.scores[label].value)

    def finish(self, what: str, files: Sequence[str], cache: bool | str | Path) -> None:
        seconds = round(time.monotonic() - self._started, 2)
        columns = {}
        for label, values in self._values.items():
            known = np.array([value for value in values if math.isfinite(value)])
            low, high = mean_interval(known)
            mean = float(known.mean()) if len(known) else math.nan
            about = self._about[label]
            columns[label] = Column(
                number_or_none(mean), number_or_none(low), number_or_none(high), len(known), about.higher_is_better,
                about.signature,
            )  # fmt: skip
        kept = {k: [number_or_none(round(v, 6)) for v in column] for k, column in self._values.items()}
        run = Run(what, tuple(files), len(self._ids), columns, seconds, version=__version__, ids=self._ids, values=kept)
        with suppress(
            InputError, sqlite3.Error
        ):  # scores are there and shown; a run that cannot be kept spoils nothing
            RunStore(runs_file(cache)).record(run)


def record_result(result: Result, what: str, files: Sequence[str], cache: bool | str | Path) -> None:
    recorder = Recorder(result.columns)
    for row in result.rows:
        recorder.add(row)
    recorder.finish(what, files, cache)


def what_of(task: str | None, metrics: Sequence[str | Metric] | None) -> str:
    return ", ".join(m if isinstance(m, str) else m.name for m in metrics) if metrics else f"task {task}"


def history(
    what: What = "",
    branch: Branch = "",
    file: File = "",
    dims: options.Dims = None,
    last: Last = 20,
    trend: Trend = None,
    format: Format = "text",
) -> None:
    """The runs kept beside the cache, the latest below; names for compare and gate: @-1, @-2, last-on-main."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    runs = RunStore().runs(what=what, branch=branch, file=file)
    if trend is not None:
        known = {label for run in runs for label in run.columns}
        if trend not in known:
            raise UnknownName("dimension of a kept run", trend, known)
        runs = [run for run in runs if trend in run.columns]
    runs = runs[-last:]
    if format == "json":
        typer.echo(json.dumps([run.to_json() for run in runs], indent=1))
    elif not runs:
        typer.echo("no run is kept here yet" if not (what or branch or file) else "no run fits", err=True)
    elif trend is not None:
        _show_trend(runs, trend)
    else:
        wanted = options.names(dims)
        headers = ["run", "when (UTC)", "what", "file", "commit", "rows", "means"]
        rows = [[str(r.number), r.at[:16], r.what, _files(r), _commit(r), str(r.rows), _means(r, wanted)] for r in runs]
        screen.console().print(screen.plain_table(headers, rows, right=(0, 5), whole=(0, 1)))


def show(run: Name, format: Format = "text") -> None:
    """One run: files, commit, means with intervals, its worst rows, signatures."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    found = RunStore().find(run)
    if format == "json":
        rows = [{"id": id, **{k: v[at] for k, v in found.values.items()}} for at, id in enumerate(found.ids)]
        typer.echo(json.dumps({**found.to_json(), "scores": rows}, indent=1))
        return
    view = screen.console()
    view.print(f"run {found.number}: {found.what}, {', '.join(found.files)}", markup=False, soft_wrap=True)
    view.print(f"{found.at} UTC, {_commit(found) or 'no commit'}, {screen.counted(found.rows, 'row')}, "
               f"{found.seconds:g} s, quintet {found.version}", markup=False)  # fmt: skip
    table = []
    for label, about in found.columns.items():
        worst = sorted(
            ((v, id) for v, id in zip(found.values[label], found.ids, strict=True) if v is not None),
            reverse=not about.higher_is_better,
        )
        listed = ", ".join(f"{screen.shorten(id, 24)} {value:.3f}" for value, id in worst[:WORST])
        interval = "–" if about.low is None or about.high is None else f"{about.low:.3f} – {about.high:.3f}"
        table.append([label, str(about.n), _number(about.mean), interval, listed])
    headers = ["dimension", "n", "mean", "95 % interval", "worst rows"]
    view.print(screen.plain_table(headers, table, right=(1, 2, 3)))
    for line in dict.fromkeys(about.signature for about in found.columns.values()):
        view.print(line, markup=False, soft_wrap=True)


def cache(clear: Clear = None, keep: Keep = 0) -> None:
    """What lies in the cache folder and how large it is."""
    folder = cache_folder()
    if clear is not None:
        if clear not in PARTS:
            raise UnknownName("part of the cache", clear, PARTS)
        if clear in ("runs", "all"):
            typer.echo(f"{screen.counted(RunStore().forget(keep), 'run')} thrown away")
        if clear in ("results", "all"):
            _clear_results(folder / "results.sqlite")
        return
    rows = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size
        if not path.name.endswith(("-wal", "-shm")):
            rows.append([path.name, _holds(path), f"{size / 1e6:,.1f} MB"])
    typer.echo(str(folder))
    screen.console().print(screen.plain_table(["file", "holds", "size"], rows, right=(2,)))


def _clear_results(path: Path) -> None:
    if not path.exists():
        typer.echo("no results are kept")
        return
    try:
        with closing(sqlite3.connect(path, timeout=5.0)) as db:
            with db:
                gone = db.execute("DELETE FROM results").rowcount
            db.execute("VACUUM")
    except sqlite3.Error as error:
        raise InputError(f"cannot be cleared ({error})", str(path), "wait for other runs to end") from None
    typer.echo(f"{screen.counted(gone, 'result')} thrown away")


def _holds(path: Path) -> str:
    table = {"results.sqlite": ("results", "result"), "runs.sqlite": ("runs", "run")}.get(path.name)
    if table is None:
        return "downloads" if path.is_dir() else ""
    try:
        with closing(sqlite3.connect(path, timeout=5.0)) as db:
            (count,) = db.execute(f"SELECT count(*) FROM {table[0]}").fetchone()
        return screen.counted(count, table[1])
    except sqlite3.Error as error:
        return f"cannot be read ({error})"


def _show_trend(runs: Sequence[Run], label: str) -> None:
    means = [run.columns[label].mean for run in runs]
    known = [mean for mean in means if mean is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    rows = []
    for run, mean, before in zip(runs, means, [None, *means[:-1]], strict=True):
        bar = "" if mean is None else _BARS[round((mean - low) / (high - low or 1.0) * (len(_BARS) - 1))]
        change = "" if mean is None or before is None else f"{mean - before:+.3f}"
        about = run.columns[label]
        interval = "–" if about.low is None or about.high is None else f"{about.low:.3f} – {about.high:.3f}"
        rows.append([str(run.number), run.at[:16], _commit(run), _files(run), _number(mean), interval, change, bar])
    headers = ["run", "when (UTC)", "commit", "file", label, "95 % interval", "change", ""]
    screen.console().print(screen.plain_table(headers, rows, right=(0, 4, 5, 6), whole=(0, 1)))


def _means(run: Run, wanted: list[str] | None) -> str:
    kept = {label: about for label, about in run.columns.items() if wanted is None or label in wanted}
    return ", ".join(f"{label} {_number(about.mean)}" for label, about in kept.items())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _files(run: Run) -> str:
    first = PurePath(run.files[0]).name if run.files else ""
    return first if len(run.files) < 2 else f"{first} and {len(run.files) - 1} more"


def _commit(run: Run) -> str:
    return f"{run.branch}@{run.commit[:7]}" if run.commit else ""
