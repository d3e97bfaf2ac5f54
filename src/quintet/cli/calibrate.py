"""`quintet calibrate`: what a score means on your own texts, from 50 to 500 labels of your own people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from quintet import _api as api
from quintet.cli import options
from quintet.cli.screen import counted
from quintet.core.calibration import Calibration, Curve
from quintet.core.plain import Cells
from quintet.errors import InputError, UnknownName

# What a calibration found, in lines that a person reads.

_SHOWN = 6
"""Places of the map that are printed."""


def lines_of(calibration: Calibration) -> list[str]:
    return [
        line for name in calibration.curves for line in _lines(name, calibration.curves[name], calibration.facts[name])
    ]


def _lines(name: str, curve: Curve, facts: Cells) -> list[str]:
    good = "" if facts["good"] is None else f", {facts['good']} good"
    dropped = f", {counted(facts['dropped'], 'row')} without a label or score left out" if facts["dropped"] else ""
    lines = [f"{name} ({facts['labels']}, n = {facts['n']}{good}{dropped})"]
    ranking = f"Spearman {_estimate(facts['spearman'])}, {_shown(facts['spearman_held_out'])} on held-out rows"
    if facts["auc"] is not None:
        ranking += f"; AUC {_estimate(facts['auc'])}"
    error, drift = facts["brier"], facts["calibration_error"]
    lines += [
        f"  agreement  {ranking}",
        f"  error      Brier {_shown(error['before'])} before, {_shown(error['held_out'])} after "
        f"({_shown(error['always_the_mean'])} for always saying the mean); "
        f"calibration error {_shown(drift['before'])} before, {_shown(drift['held_out'])} after",
        f"  map        {_map(curve, facts['value_intervals'])}",
    ]
    line = facts.get("threshold_facts")
    if line is not None:
        sign = "≥" if curve.higher_is_better else "≤"
        held = line["held_out"]
        lines.append(
            f"  threshold  score {sign} {_estimate(line['score'])}, chosen for {line['chosen_for']}; on held-out rows: "
            f"balanced accuracy {_shown(held['balanced_accuracy'])}, precision {_shown(held['precision'])}, "
            f"recall {_shown(held['recall'])}"
        )
    return lines


def _map(curve: Curve, band: Sequence[Sequence[float]]) -> str:
    count = len(curve.scores)
    places = sorted({round(k * (count - 1) / (_SHOWN - 1)) for k in range(_SHOWN)})
    shown = [
        f"{curve.scores[k]:.2f} → {curve.values[k]:.2f} [{band[k][0]:.2f}, {band[k][1]:.2f}]" for k in places
    ]  # fmt: skip
    return ", ".join(shown)


def _estimate(found: Sequence[float | None]) -> str:
    value, low, high = found
    return f"{_shown(value)} [{_shown(low)}, {_shown(high)}]"


def _shown(value: float | None) -> str:
    from quintet.stats.records import decimal  # with numpy, which the other commands need not load

    return "–" if value is None else decimal(value)


FORMATS = ("text", "json")

Labels = Annotated[
    str,
    typer.Option(
        "--labels",
        metavar="DIMENSION=COLUMN,…",
        help="Ratings, or yes/no; COLUMN alone where there is one dimension.",
    ),
]
Scores = Annotated[
    str | None,
    typer.Option(
        "--scores",
        metavar="DIMENSION=COLUMN,…",
        help="Scores that FILE has already; nothing is scored.",
    ),
]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where the calibration is written (JSON).")]
Accept = Annotated[
    str | None,
    typer.Option(
        "--accept", metavar="NUMBER", help="The lowest rating that is good enough: NUMBER or DIMENSION=NUMBER,…."
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision", metavar="SHARE", help="Choose the threshold so that this share of the accepted is good."
    ),
]
Recall = Annotated[
    float | None,
    typer.Option("--recall", metavar="SHARE", help="Choose the threshold so that this share of the good is accepted."),
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="LOW,HIGH", help="The ends of your rating scale: 1,5; default: as found."),
]
Lower = Annotated[
    str | None, typer.Option("--lower-is-better", metavar="NAME,…", help="Dimensions where less is better, by commas.")
]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text or json.")]


def calibrate(
    file: options.File,
    labels: Labels,
    task: options.Task = None,
    metric: options.Metrics = None,
    scores: Scores = None,
    out: Out = "calibration.json",
    accept: Accept = None,
    precision: Precision = None,
    recall: Recall = None,
    scale: Scale = None,
    lower_is_better: Lower = None,
    columns: options.Columns = None,
    model: options.Model = None,
    task_file: options.TaskFile = None,
    fast: options.Fast = False,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    format: Format = "text",
) -> None:
    """Fits a monotone map from score to label, and a threshold; `quintet score --calibration` applies them."""
    from quintet.core.calibration import write_calibration
    from quintet.io.labelled_rows import named_columns

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if scores is not None and (task or metric):
        raise InputError("--scores takes scores as they stand; --task and --metric score anew", todo="give one")
    calibration = api.calibrate(
        file,
        named_columns(labels, "--labels"),
        task,
        metrics=metric,
        scores=None if scores is None else named_columns(scores, "--scores"),
        columns=columns,
        model=model,
        task_file=task_file,
        fast=fast,
        accept=_accept(accept),
        precision=precision,
        recall=recall,
        scale=_scale(scale),
        lower_is_better=options.names(lower_is_better) or (),
        skip_bad=skip_bad,
        cache=options.cache_choice(cache, no_cache),
        on_note=lambda note: typer.echo(note, err=True),
    )
    write_calibration(calibration, Path(out))
    if format == "json":
        typer.echo(json.dumps(dict(calibration.facts), indent=1))
        return
    for line in lines_of(calibration):
        typer.echo(line)
    typer.echo(f"written to {out}; apply it with quintet score FILE … --calibration {out}")


def _accept(text: str | None) -> dict[str, float] | float | None:
    if text is None:
        return None
    from quintet.io.labelled_rows import named_columns

    found = {name: _number(value, "--accept") for name, value in named_columns(text, "--accept").items()}
    return found.get("", found)


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    ends = [_number(part, "--scale") for part in text.split(",")]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"cannot read {text!r}", "--scale", "write LOW,HIGH, for example 1,5")
    return ends[0], ends[1]


def _number(text: str, option: str) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{text!r} is not a number", option)
    return value
