"""The commands, one module each; this one hangs them on the `quintet` program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib.metadata import entry_points

import typer

from quintet._version import __version__
from quintet.cli import (
    bench,
    calibrate,
    claims,
    compare,
    config,
    corpus,
    data,
    explain,
    gate,
    history,
    inventory,
    people,
    report,
    reproduce,
    score,
)
from quintet.errors import MissingPackage
from quintet.server import command as http

app = typer.Typer(
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Judges generated text on every dimension people care about, with evidence for each score.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"quintet {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: bool = typer.Option(False, "--version", "-V", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def _train_missing() -> None:
    """Trains a model by a recipe, once quintet-train is installed."""
    raise MissingPackage("quintet-train", "quintet train")


_COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "score": (score.score, "Score every row of a file."),
    "init": (config.init, "Write quintet.toml: the task and columns of this project."),
    "explain": (explain.explain, "Show why one row got its scores."),
    "report": (report.report, "The page of a scored file: charts and evidence."),
    "claims": (claims.claims, "What each output claims, and whether its source supports it."),
    "compare": (compare.compare, "Which of two or more systems is better, with tests."),
    "corpus": (corpus.corpus, "BLEU, chrF and TER of whole files, with paired tests."),
    "history": (history.history, "The runs of this machine, and how a dimension went."),
    "show": (history.show, "One run: its scores, files and commit."),
    "cache": (history.cache, "What is kept on disk; throw some of it away."),
    "gate": (gate.gate, "Fail where scores fall short or have dropped: for CI."),
    "calibrate": (calibrate.calibrate, "Put scores on the scale of your own labels."),
    "bench": (bench.bench, "How well metrics agree with people."),
    "reproduce": (reproduce.reproduce, "The tables of the five papers, printed figures beside ours."),
    "people": (people.people, "How well people agree with people."),
    "tasks": (inventory.tasks, "The tasks and their dimensions."),
    "metrics": (inventory.metrics, "The metrics: what each needs, its range, its paper."),
    "data": (data.data, "The benchmark sets."),
    "train": (_train_missing, "Train a model by a recipe."),
    "serve": (http.serve, "Score over HTTP, with a page to try it."),
}
for plugin in entry_points(group="quintet.commands"):  # quintet-train brings `train`
    if plugin.name in _COMMANDS:
        with contextlib.suppress(ImportError):  # half removed: the command says what to install
            _COMMANDS[plugin.name] = (plugin.load(), _COMMANDS[plugin.name][1])
for name, (function, summary) in _COMMANDS.items():
    app.command(name, short_help=summary)(function)
app.add_typer(inventory.models_app, name="models", short_help="The bundled models; convert a checkpoint.")
