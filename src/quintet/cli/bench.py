"""`quintet bench`: how well do metrics, ours or anyone's, agree with people?"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quintet import _api as api
from quintet.cli import options, screen
from quintet.core.plain import JsonObject
from quintet.errors import InputError, UnknownName

if TYPE_CHECKING:
    from quintet.stats.inputs import Ratings, Scores
    from quintet.stats.records import Record


FORMATS = ("text", "markdown", "latex", "csv", "json")
_WORTH_SAYING = 5.0
"""Seconds."""
LEVELS = ("pooled", "by document", "by system")

Sets = Annotated[list[str], typer.Argument(metavar="SET", help="Benchmark sets by name: see quintet data.")]
ScoreFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--scores",
        metavar="[NAME=]FILE",
        help="A file of scores made elsewhere (FILE or NAME=FILE), matched by id; 'authors' for published ones.",
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        "--level", metavar="NAME", help="pooled, by document or by system; default: as published for the set."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude-systems", metavar="NAME", help="Leave the outputs of this system out; may be repeated."),
]
Unanimous = Annotated[
    str, typer.Option("--unanimous", metavar="DIMENSION", help="Only texts whose raters all agree in this dimension.")
]
Format = Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text, markdown, latex, csv or json.")]
Plot = Annotated[
    str | None, typer.Option("--plot", metavar="FOLDER", help="Draw the figures (PNG and SVG) into this folder.")
]
Data = Annotated[
    str | None, typer.Option("--data", metavar="FOLDER", help="The folder that holds the benchmark files.")
]
Variant = Annotated[
    str, typer.Option("--variant", metavar="NAME", help="Another form of the same items, where a set has one.")
]
Statistics = Annotated[
    str, typer.Option("--stats", metavar="NAME", help="pearson, spearman, kendall, accuracy: what tables show.")
]
Words = Annotated[
    bool, typer.Option("--token-accuracy", help="Do metrics call the same words unsupported as people (xsum_faith)?")
]
Baseline = Annotated[str, typer.Option("--baseline", metavar="NAME", help="Test every other metric against this one.")]


def bench(
    sets: Sets,
    metric: options.Metrics = None,
    scores: ScoreFiles = None,
    dims: options.Dims = None,
    level: Level = None,
    exclude_systems: Exclude = None,
    unanimous: Unanimous = "",
    format: Format = "text",
    plot: Plot = None,
    data: Data = None,
    variant: Variant = "",
    model: options.Model = None,
    fast: options.Fast = False,
    stats: Statistics = "spearman",
    baseline: Baseline = "",
    token_accuracy: Words = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
) -> None:
    """Correlations with human ratings, with n, level and a bootstrap interval; by default of the bundled evaluator."""
    from quintet.io.score_rows import named_file

    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if level is not None and level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    if token_accuracy:
        typer.echo(_words(sets, metric, data, model, format, plot, options.cache_choice(cache, no_cache)))
        return
    shown = options.names(stats) or ["spearman"]
    drawn: list[tuple[str, Ratings, list[Scores]]] = []
    with screen.progress(_texts(sets), "scoring") as tick:
        records = api.bench(
            sets,
            metric,
            scores=[named_file(text) for text in scores or []],
            dims=options.names(dims),
            level=level,
            exclude_systems=exclude_systems or (),
            unanimous=unanimous,
            data=data,
            variant=variant,
            model=model,
            fast=fast,
            baseline=baseline,
            cache=options.cache_choice(cache, no_cache),
            on_row=tick,
            on_note=lambda note: typer.echo(note, err=True),
            on_judged=_Judged(drawn),
            accuracy="accuracy" in shown,
        )
    ours = not metric and not scores and shown == ["spearman"]
    typer.echo(_table(records, sets, format, shown, ours and format in ("text", "markdown", "latex")))
    if plot is not None:
        _draw(records, drawn, Path(plot))


def _words(
    sets: list[str],
    metrics: list[str] | None,
    data: str | None,
    model: str | None,
    format: str,
    plot: str | None,
    cache: bool | str | Path,
) -> str:
    """A line a metric: single words beside people's, and scores beside ratings (CTC, Figure 7)."""
    if format not in ("text", "json"):
        raise InputError(f"words are not shown as {format}", todo="name text or json")
    if not metrics:
        raise InputError("no metric", todo="name those to compare with --metric, e.g. ctc-consistency:aligner=D")
    with screen.progress(_texts(sets), "scoring") as tick:
        found = {name: api.word_agreement(name, metrics, data=data, model=model, cache=cache, on_row=tick)
                 for name in sets}  # fmt: skip
    if plot is not None:
        from quintet.stats.plots import draw_points

        for name, own in found.items():
            points = [(one.metric, one.accuracy, one.pearson) for one in own]
            axes = ("accuracy of words", "Pearson with ratings")
            for path in draw_points(points, axes, f"{name}: words and whole texts", plot, f"{name}-words"):
                typer.echo(str(path), err=True)
    if format == "json":
        return json.dumps([{"set": name, **asdict(one)} for name, own in found.items() for one in own], indent=1)
    rows = [[name, one.metric, str(one.words), f"{one.accuracy:.4f}", f"{one.guess:.4f}", f"{one.pearson:.4f}"]
            for name, own in found.items() for one in own]  # fmt: skip
    view = screen.console()
    with view.capture() as capture:
        heads = ["set", "metric", "words", "accuracy", "one guess for all", "Pearson"]
        view.print(screen.plain_table(heads, rows, right=(2, 3, 4, 5)))
    return capture.get().rstrip()


def _texts(sets: list[str]) -> int | None:
    from quintet.data.catalog import entry

    return sum(entry(name).size for name in sets) or None


@dataclass
class _Judged:
    """Says what is done where no bar shows it, and keeps what figures are drawn from."""

    drawn: list[tuple[str, Ratings, list[Scores]]]
    started: float = field(default_factory=time.monotonic)

    def __call__(self, name: str, ratings: Ratings, scores: list[Scores]) -> None:
        self.drawn.append((name, ratings, scores))
        now = time.monotonic()
        if not sys.stderr.isatty() and now - self.started > _WORTH_SAYING:
            typer.echo(f"{name}: {len(ratings.ids)} rated texts done after {now - self.started:.0f} s", err=True)
        self.started = now


def _table(records: list[Record], sets: list[str], format: str, shown: list[str], overview: bool) -> str:
    from quintet.data.catalog import entry
    from quintet.stats.tables import overview_table, records_table

    if not overview:
        return records_table(records, format, shown)
    known = {name: entry(name) for name in sets}
    by = {(r.set, r.dimension): known[r.set].answers.get(r.dimension, f"{known[r.set].task}.{r.dimension}")
          for r in records}  # fmt: skip
    return overview_table(records, by, format)


def _draw(records: list[Record], judged: list[tuple[str, Ratings, list[Scores]]], folder: Path) -> None:
    """Bars, heat map and agreement of each set, and a scatter of each metric on each dimension."""
    from quintet.stats.plots import draw_all, draw_scatters

    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = draw_all(records, folder)
        for name, ratings, scores in judged:
            paths += draw_scatters(name, ratings, scores, records, folder)
    except OSError as error:
        raise InputError(f"cannot draw there ({error.strerror})", str(folder), "name a folder with --plot") from None
    for path in paths:
        typer.echo(str(path), err=True)


# `quintet people`: how well people agree with one another on a set, and what they mean by "overall".

Set = Annotated[
    str, typer.Argument(metavar="SET", help="A set with single ratings: topical_chat, persona_chat, fed_turn, …")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


BySystem = Annotated[bool, typer.Option("--by-system", help="The mean rating of each system instead (USR, Table 2).")]


def people(set: Set, data: Data = None, by_system: BySystem = False, json_: AsJson = False) -> None:
    """Agreement of people with people (as in USR's Table 1), and how much each quality weighs in overall."""
    found = api.human_agreement(set, data)
    if json_:
        typer.echo(json.dumps(found, indent=1))
        return
    view = screen.console()
    if by_system:
        if not found["systems"]:
            raise InputError("no system names are known", set, "try topical_chat, persona_chat or summeval")
        names = list(next(iter(found["systems"].values())))
        lines = [[system, *(f"{row[name]:.2f}" for name in names)] for system, row in found["systems"].items()]
        view.print(screen.plain_table(["system", *names], lines, right=range(1, len(names) + 1)))
        return
    rows = [[name, *(f"{row[key]:.4f}" for key in ("spearman", "pearson", "kendall", "alpha"))]
            for name, row in found["agreement"].items()]  # fmt: skip
    view.print(screen.plain_table(["dimension", "Spearman", "Pearson", "Kendall", "alpha"], rows, right=(1, 2, 3, 4)))
    view.print("Correlations: mean over the pairs of rating columns. Alpha: Krippendorff's, ordinal.\n", markup=False)
    if found["overall"]:
        names = list(found["overall"]["all"]["softmax"])
        lines = [_weights(who, told, names) for who, told in found["overall"].items()]
        view.print(screen.plain_table(["rater", "n", *names, "R²"], lines, right=range(1, len(names) + 3)))
        view.print(
            "Weights: softmax of the regression from z-scored qualities to overall (USR, Figure 2).", markup=False
        )
        if any(who.startswith("column") for who in found["overall"]):
            view.print("Who gave which rating is not published: a column is a place, not a person.", markup=False)


def _weights(who: str, told: JsonObject, names: list[str]) -> list[str]:
    return [who, str(told["n"]), *(f"{told['softmax'][name]:.3f}" for name in names), f"{told['r_squared']:.3f}"]
