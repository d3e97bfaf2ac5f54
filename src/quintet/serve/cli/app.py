"""The commands, one module each; this one hangs them on the `quintet` program."""

from __future__ import annotations

import typer

from quintet._version import __version__
from quintet.serve.cli import bench, calibrate, compare, data, explain, gate, inventory, people, score, train
from quintet.serve.http import command as http

app = typer.Typer(
    add_completion=False,
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


app.command("score")(score.score)
app.command("explain")(explain.explain)
app.command("bench")(bench.bench)
app.command("calibrate")(calibrate.calibrate)
app.command("compare")(compare.compare)
app.command("gate")(gate.gate)
app.command("data")(data.data)
app.command("people")(people.people)
app.command("metrics")(inventory.metrics)
app.command("train")(train.train)
app.add_typer(inventory.models_app, name="models")
app.command("tasks")(inventory.tasks)
app.command("serve")(http.serve)
