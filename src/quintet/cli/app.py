"""The commands by name, and the program that they hang on.

A command's module is imported when it is the one that is asked for: all of them together take longer than most runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import typer

from quintet._version import __version__
from quintet.errors import MissingPackage

_COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("quintet.cli.score:score", "Score every row of a file."),
    "init": ("quintet.cli.config:init", "Write quintet.toml: the task and columns of this project."),
    "explain": ("quintet.cli.explain:explain", "Show why one row got its scores."),
    "report": ("quintet.cli.report:report", "The page of a scored file: charts and evidence."),
    "claims": ("quintet.cli.claims:claims", "What each output claims, and whether its source supports it."),
    "compare": ("quintet.cli.compare:compare", "Which of two or more systems is better, with tests."),
    "prefer": ("quintet.cli.prefer:prefer", "Which of two outputs is better, and how surely."),
    "corpus": ("quintet.cli.corpus:corpus", "BLEU, chrF and TER of whole files, with paired tests."),
    "history": ("quintet.cli.history:history", "The runs of this machine, and how a dimension went."),
    "show": ("quintet.cli.history:show", "One run: its scores, files and commit."),
    "cache": ("quintet.cli.history:cache", "What is kept on disk; throw some of it away."),
    "gate": ("quintet.cli.gate:gate", "Fail where scores fall short or have dropped: for CI."),
    "calibrate": ("quintet.cli.calibrate:calibrate", "Put scores on the scale of your own labels."),
    "bench": ("quintet.cli.bench:bench", "How well metrics agree with people."),
    "reproduce": ("quintet.cli.reproduce:reproduce", "The tables of the five papers, printed figures beside ours."),
    "people": ("quintet.cli.bench:people", "How well people agree with people."),
    "tasks": ("quintet.cli.inventory:tasks", "The tasks and their dimensions."),
    "metrics": ("quintet.cli.inventory:metrics", "The metrics: what each needs, its range, its paper."),
    "data": ("quintet.cli.data:data", "The benchmark sets."),
    "train": ("quintet.cli.app:_train_missing", "Train a model by a recipe."),
    "serve": ("quintet.server.command:serve", "Score over HTTP, with a page to try it."),
}
"""Where each stands, and what the list of commands says of it."""
_GROUPS = {"models": ("quintet.cli.inventory:models_app", "The bundled models; convert a checkpoint.")}


def program_for(given: Sequence[str]) -> typer.Typer:
    """The program for what was typed: the command that it names is whole, of the others it has the names."""
    return _program(next((word for word in given if not word.startswith("-")), ""))


def __getattr__(name: str) -> Any:
    if name == "app":
        return _program(None)
    raise AttributeError(name)


@cache
def _program(only: str | None) -> typer.Typer:
    """With all commands, or one."""
    app = typer.Typer(
        add_completion=True,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Judges generated text on every dimension people care about, with evidence for each score.",
    )
    app.callback()(_options)
    for name, (place, summary) in _COMMANDS.items():
        app.command(name, short_help=summary)(_command(name, place) if only in (None, name) else _named)
    for name, (place, summary) in _GROUPS.items():
        group = _found(place) if only in (None, name) else typer.Typer()
        if only not in (None, name):
            group.command("list")(_named)
        app.add_typer(group, name=name, short_help=summary)
    return app


def _options(
    version: bool = typer.Option(
        False, "--version", "-V", callback=lambda asked: _version(asked), is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"quintet {__version__}")
        raise typer.Exit


def _named() -> None:
    """A command that was not asked for."""


def _command(name: str, place: str) -> Callable[..., None]:
    from importlib.metadata import entry_points

    for plugin in entry_points(group="quintet.commands", name=name):  # quintet-train brings `train`
        with contextlib.suppress(ImportError):  # half removed: the command says what to install
            found: Callable[..., None] = plugin.load()
            return found
    command: Callable[..., None] = _found(place)
    return command


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _train_missing() -> None:
    """Trains a model by a recipe, once quintet-train is installed."""
    raise MissingPackage("quintet-train", "quintet train")
