"""`quintet people`: how well people agree with one another on a set, and what they mean by "overall"."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from quintet import _api as api
from quintet.cli import screen
from quintet.cli.bench import Data
from quintet.errors import InputError

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


def _weights(who: str, told: dict[str, Any], names: list[str]) -> list[str]:
    return [who, str(told["n"]), *(f"{told['softmax'][name]:.3f}" for name in names), f"{told['r_squared']:.3f}"]
