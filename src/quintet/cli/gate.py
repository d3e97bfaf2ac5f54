"""`quintet gate`: exit code 3 when scores fall short of their limits or have dropped since a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from quintet import _api as api
from quintet.cli import options, screen
from quintet.cli.history import record_result, what_of
from quintet.cli.verdicts import FORMATS
from quintet.core.options import Options
from quintet.errors import InputError, UnknownName
from quintet.io.atomic import Target, refuse_same
from quintet.io.runs import is_run

if TYPE_CHECKING:
    from quintet.stats.gate import Subject


File = Annotated[
    str, typer.Argument(metavar="FILE", help="A scored file, or with --task or --metric one that is scored now.")
]
Limits = list[str] | None
Min = Annotated[
    Limits, typer.Option("--min", metavar="DIMENSION=NUMBER", help="The mean must be at least this; may be repeated.")
]
Max = Annotated[Limits, typer.Option("--max", metavar="DIMENSION=NUMBER", help="The mean must be at most this.")]
MinShare = Annotated[
    Limits,
    typer.Option("--min-share", metavar="DIMENSION@VALUE=SHARE", help="So many rows must reach a value: d@0.7=95%."),
]
MinWorst = Annotated[
    Limits,
    typer.Option("--min-worst", metavar="DIMENSION@PART=NUMBER", help="The mean of the worst rows: d@5%=0.4."),
]
MaxFlag = Annotated[
    Limits, typer.Option("--max-flag", metavar="FLAG=SHARE", help="So many rows may carry a flag: any=10%.")
]
Write = Annotated[
    list[str] | None,
    typer.Option("--write", metavar="FORMAT=FILE", help="Write the verdict too, e.g. junit=gate.xml; may be repeated."),
]
Near = Annotated[
    float, typer.Option("--near", metavar="NUMBER", min=0.0, help="Rows so close to a limit are called near it.")
]
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
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help=f"{', '.join(FORMATS)}.")]
Show = Annotated[int, typer.Option("--show", metavar="N", min=0, help="Failing examples shown for each limit.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="NUMBER", help="How small p must be for a drop to count.")]
Lower = Annotated[
    str | None, typer.Option("--lower-is-better", metavar="NAME,…", help="Dimensions where less is better, by commas.")
]
Unsure = Annotated[
    bool, typer.Option("--exclude-unsure", help="Leave out scores that a flag makes doubtful: short output, …")
]
Common = Annotated[bool, typer.Option("--common-only", help="Go on with the shared ids where the files' ids differ.")]


def gate(
    file: File,
    min: Min = None,
    max: Max = None,
    max_drop: MaxDrop = None,
    min_share: MinShare = None,
    min_worst: MinWorst = None,
    max_flag: MaxFlag = None,
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
    write: Write = None,
    show: Show = 10,
    near: Near = 0.02,
    alpha: Alpha = 0.05,
    lower_is_better: Lower = None,
    common_only: Common = False,
    exclude_unsure: Unsure = False,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """Passes (exit 0) when every limit holds; otherwise shows the failing examples, worst first (exit 3)."""
    from quintet.stats.gate import Kind, Rules, judge, read_limits

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if not 0.0 < alpha < 1.0:
        raise InputError(f"alpha is {alpha:g}", "--alpha", "give a number between 0 and 1")
    written = dict(_written(pair) for pair in write or ())
    refuse_same(
        {f"--write {name}": path for name, path in written.items()}, {"the input": file, "--baseline": baseline}
    )
    given = {
        "min": min, "max": max, "max-drop": max_drop,
        "min-share": min_share, "min-worst": min_worst, "max-flag": max_flag,
    }  # fmt: skip
    limits = [limit for kind, texts in given.items() for limit in read_limits(cast(Kind, kind), texts or ())]
    if not limits:
        raise InputError("no limit was given", todo="give --min, --max or --max-drop DIMENSION=NUMBER")
    dims = list(dict.fromkeys(limit.dimension for limit in limits if limit.kind != "max-flag"))
    kept = options.cache_choice(cache, no_cache)
    asked = Options(task, None, metric, columns, model, task_file, fast, calibration, skip_bad, kept)
    drops = list(dict.fromkeys(limit.dimension for limit in limits if limit.kind == "max-drop"))
    if drops and baseline is None:
        raise InputError("a drop needs a baseline to drop from", "--max-drop", "give --baseline OLD.jsonl")
    if baseline is not None and not drops:
        raise InputError("a baseline was given but no drop is limited", "--baseline", "give --max-drop too")
    subject = _subject(file, asked, dims)
    before = None if baseline is None else _subject(baseline, asked, drops, scored_baseline)
    for name in options.names(lower_is_better) or ():
        if name not in dims:
            raise UnknownName("dimension in --lower-is-better", name, dims)
    down = {*(options.names(lower_is_better) or ()), *_lower_is_better(asked, dims)}
    verdict = judge(subject, limits, before, Rules(down, alpha, show, near, skip_bad, common_only, exclude_unsure))
    typer.echo(FORMATS[format](verdict, file))
    for name, path in written.items():
        _put(path, FORMATS[name](verdict, file))
    if (line := screen.spent(model)) is not None:
        typer.echo(line, err=True)
    verdict.check()


def _written(pair: str) -> tuple[str, str]:
    name, _, path = pair.partition("=")
    if name not in FORMATS:
        raise UnknownName("format in --write", name, FORMATS)
    if not path:
        raise InputError("names no file", f"--write {pair}", "write FORMAT=FILE, for example junit=gate.xml")
    return name, path


def _put(path: str, text: str) -> None:
    target = Target(path)
    try:
        with target.told():
            target.stream.write((text + "\n").encode("utf-8", "replace"))
        target.finish()
    finally:
        target.abandon()


def _subject(path: str, asked: Options, dims: Sequence[str], as_it_stands: bool = False) -> Subject:
    from quintet.stats.gate import calibrated_subject, scored_file, scored_now

    if as_it_stands or is_run(path) or not asked.scores:
        # A baseline taken as it stands is on the scale of its own making.
        plain = asked.calibration is None or as_it_stands or is_run(path)
        return scored_file(path, dims) if plain else calibrated_subject(path, dims, str(asked.calibration))
    result = api.score_with(replace(asked, dims=None if asked.metrics else dims or None), path)
    screen.say_columns(result.read_as)
    if asked.cache is not False:
        record_result(result, what_of(asked.task, asked.metrics), [path], asked.cache)
    return scored_now(result, path, dims)


def _lower_is_better(asked: Options, dims: Sequence[str]) -> set[str]:
    if not asked.scores:
        return set()
    return {c.label for c in api.make_plan(replace(asked, dims=dims)).columns if not c.about.higher_is_better}
