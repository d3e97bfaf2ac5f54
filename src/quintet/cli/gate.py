"""`quintet gate`: exit code 3 when scores fall short of their limits or have dropped since a baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from quintet import _api as api
from quintet.cli import options
from quintet.cli.history import record_result, what_of
from quintet.cli.spent import spent
from quintet.core.evidence import counted, shorten
from quintet.errors import InputError, UnknownName
from quintet.io.runs import is_run

if TYPE_CHECKING:
    from quintet.stats.gate import Check, Failing, Subject, Verdict


# A verdict for a terminal, for a comment on a pull request, or for a program.

_HEADERS = ("dimension", "limit", "mean", "95 % interval", "n", "verdict")
_MARKED = "\\`*_{}[]<>|~&$:"
"""What means something in Markdown; a colon ends a link's scheme."""
_CALLS = "@#"
"""GitHub looks for people and issues after entities are read: a word joiner keeps the sign apart from the name."""


def as_json(verdict: Verdict) -> str:
    return json.dumps(verdict.to_json(), indent=1, allow_nan=False)


def as_text(verdict: Verdict) -> str:
    rows = [_HEADERS, *(_cells(check) for check in verdict.checks)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADERS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for check in verdict.failed:
        lines += ["", _heading(check)]
        lines += [f"  {shorten(e.id, 40)}  {_score(e)}  {shorten(e.evidence, 120)}" for e in check.examples]
    lines += _notes(verdict)
    return "\n".join(lines)


def as_markdown(verdict: Verdict) -> str:
    title = "### quintet: passed" if verdict.passed else "### quintet: fell short"
    lines = [title, "", _row(_HEADERS), _row(["---"] * len(_HEADERS))]
    lines += [_row([escape(cell) for cell in _cells(check)]) for check in verdict.checks]
    for check in verdict.failed:
        lines += ["", f"<details><summary>{escape(_heading(check))}</summary>", "", _row(["id", "score", "evidence"])]
        lines.append(_row(["---"] * 3))
        lines += [
            _row([escape(shorten(e.id, 60)), _score(e), escape(shorten(e.evidence, 160))]) for e in check.examples
        ]
        lines += ["", "</details>"]
    notes = _notes(verdict)
    lines += ["", *(escape(note) + "  " for note in notes if note)] if notes else []
    return "\n".join(lines)


def escape(text: str) -> str:
    """A text is data: it can neither break the table nor draw, link or call anyone."""
    return "".join(f"&#{ord(c)};" if c in _MARKED else f"{c}\u2060" if c in _CALLS else c for c in text)


FORMATS: dict[str, Callable[[Verdict], str]] = {"text": as_text, "markdown": as_markdown, "json": as_json}


def _cells(check: Check) -> tuple[str, ...]:
    verdict = "passed" if check.passed else "FAILED"
    if check.difference is not None and check.p is not None:
        mean = f"{check.before:.3f} → {check.mean:.3f}"
        span = f"difference {check.difference:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"
        return check.dimension, f"drop ≤ {check.limit:g}", mean, span, str(check.n), f"{verdict} ({check.p_text})"
    sign = "≥" if check.kind == "min" else "≤"
    single = math.isnan(check.low)
    span = "–" if single else f"[{check.low:.3f}, {check.high:.3f}]"
    clear = check.low >= check.limit if check.kind == "min" else check.high <= check.limit
    if check.passed and not clear and not single:
        verdict = "passed, but the interval holds the limit"
    return check.dimension, f"{sign} {check.limit:g}", f"{check.mean:.3f}", span, str(check.n), verdict


def _heading(check: Check) -> str:
    verb = "is" if check.below == 1 else "are"
    what = "lost more than" if check.kind == "max-drop" else f"{verb} {'below' if check.kind == 'min' else 'above'}"
    more = f", the worst {len(check.examples)}" if check.below > len(check.examples) else ""
    return f"{check.dimension}: {check.below} of {counted(check.n, 'example')} {what} {check.limit:g}{more}"


def _score(example: Failing) -> str:
    return f"{example.score:.3f}" if example.before is None else f"{example.before:.3f} → {example.score:.3f}"


def _notes(verdict: Verdict) -> list[str]:
    missing = {check.dimension: check.missing for check in verdict.checks if check.missing}
    lines = [
        f"{counted(count, 'row')} {'was' if count == 1 else 'were'} not judged on {name}"
        for name, count in missing.items()
    ]
    lines += verdict.signatures
    return ["", *lines] if lines else []


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


File = Annotated[
    str, typer.Argument(metavar="FILE", help="A scored file, or with --task or --metric one that is scored now.")
]
Limits = list[str] | None
Min = Annotated[
    Limits, typer.Option("--min", metavar="DIMENSION=NUMBER", help="The mean must be at least this; may be repeated.")
]
Max = Annotated[Limits, typer.Option("--max", metavar="DIMENSION=NUMBER", help="The mean must be at most this.")]
MaxDrop = Annotated[
    Limits,
    typer.Option(
        "--max-drop",
        metavar="DIMENSION=NUMBER",
        help="Fails when the mean fell significantly more than this.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="FILE", help="The scores of before, matched by id: a file, @-2, or last-on-main."
    ),
]
ScoredBaseline = Annotated[
    bool, typer.Option("--scored-baseline", help="With --task: take the baseline's scores as they stand.")
]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text, markdown or json.")]
Show = Annotated[int, typer.Option("--show", metavar="N", min=0, help="Failing examples shown for each limit.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="NUMBER", help="How small p must be for a drop to count.")]
Lower = Annotated[
    str | None, typer.Option("--lower-is-better", metavar="NAME,…", help="Dimensions where less is better, by commas.")
]
Common = Annotated[bool, typer.Option("--common-only", help="Go on with the shared ids where the files' ids differ.")]


def gate(
    file: File,
    min: Min = None,
    max: Max = None,
    max_drop: MaxDrop = None,
    baseline: Baseline = None,
    task: options.Task = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    model: options.Model = None,
    task_file: options.TaskFile = None,
    fast: options.Fast = False,
    calibration: options.Calibration = None,
    scored_baseline: ScoredBaseline = False,
    format: Format = "text",
    show: Show = 10,
    alpha: Alpha = 0.05,
    lower_is_better: Lower = None,
    common_only: Common = False,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """Passes (exit 0) when every limit holds; otherwise shows the failing examples, worst first (exit 3)."""
    from quintet.stats.gate import Rules, judge, read_limits

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if not 0.0 < alpha < 1.0:
        raise InputError(f"alpha is {alpha:g}", "--alpha", "give a number between 0 and 1")
    limits = [*read_limits("min", min or ()), *read_limits("max", max or ()), *read_limits("max-drop", max_drop or ())]
    if not limits:
        raise InputError("no limit was given", todo="give --min, --max or --max-drop DIMENSION=NUMBER")
    dims = list(dict.fromkeys(limit.dimension for limit in limits))
    scoring = _Scoring(
        task, metric, columns, model, task_file, skip_bad, options.cache_choice(cache, no_cache), calibration, fast
    )
    drops = list(dict.fromkeys(limit.dimension for limit in limits if limit.kind == "max-drop"))
    if drops and baseline is None:
        raise InputError("a drop needs a baseline to drop from", "--max-drop", "give --baseline OLD.jsonl")
    if baseline is not None and not drops:
        raise InputError("a baseline was given but no drop is limited", "--baseline", "give --max-drop too")
    subject = scoring.subject(file, dims)
    before = None if baseline is None else scoring.subject(baseline, drops, as_it_stands=scored_baseline)
    for name in options.names(lower_is_better) or ():
        if name not in dims:
            raise UnknownName("dimension in --lower-is-better", name, dims)
    down = {*(options.names(lower_is_better) or ()), *scoring.lower_is_better(dims)}
    verdict = judge(subject, limits, before, Rules(down, alpha, show, skip_bad, common_only))
    typer.echo(FORMATS[format](verdict))
    if (line := spent(model)) is not None:
        typer.echo(line, err=True)
    verdict.check()


@dataclass(frozen=True)
class _Scoring:
    task: str | None
    metrics: list[str] | None
    columns: str | None
    model: str | None
    task_file: str | None
    skip_bad: bool
    cache: bool | str
    calibration: str | None
    fast: bool

    def subject(self, path: str, dims: Sequence[str], as_it_stands: bool = False) -> Subject:
        from quintet.stats.gate import calibrated_subject, scored_file, scored_now

        if as_it_stands or is_run(path) or not (self.task or self.metrics):
            # A baseline taken as it stands is on the scale of its own making.
            plain = self.calibration is None or as_it_stands or is_run(path)
            return scored_file(path, dims) if plain else calibrated_subject(path, dims, str(self.calibration))
        result = api.score(
            path,
            self.task,
            dims=None if self.metrics else dims,
            metrics=self.metrics,
            columns=self.columns,
            model=self.model,
            task_file=self.task_file,
            fast=self.fast,
            calibration=self.calibration,
            skip_bad=self.skip_bad,
            cache=self.cache,
        )
        if self.cache is not False:
            record_result(result, what_of(self.task, self.metrics), [path], self.cache)
        return scored_now(result, path, dims)

    def lower_is_better(self, dims: Sequence[str]) -> set[str]:
        if not (self.task or self.metrics):
            return set()
        plan = api.make_plan(
            self.task,
            dims,
            self.metrics,
            None,
            self.model,
            self.task_file,
            fast=self.fast,
            calibration=self.calibration,
        )
        return {c.label for c in plan.columns if not c.about.higher_is_better}
