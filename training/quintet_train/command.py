"""`quintet train`: a recipe is a TOML file and a seed; running it makes the model again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

Recipe = Annotated[str, typer.Argument(metavar="RECIPE", help="A bundled recipe by name, or the path of a TOML file.")]
Data = Annotated[
    str | None, typer.Option("--data", metavar="FOLDER", help="The folder that holds the training corpora.")
]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the model, its checkpoints and the loss curve go.")
]
Smoke = Annotated[bool, typer.Option("--smoke", help="The tiny version of the recipe: minutes on a CPU.")]
Start = Annotated[
    str, typer.Option("--start", metavar="MODEL", help="The folder of a model to start from, instead of the recipe's.")
]
Onnx = Annotated[bool, typer.Option("--onnx", help="Write an ONNX file beside the weights.")]
Private = Annotated[
    bool, typer.Option("--private", help="Also learn from corpora whose terms forbid giving the weights away.")
]
Strategy = Annotated[
    str, typer.Option("--strategy", metavar="NAME", help="UniEval: continual, multi or single:DIMENSION.")
]
Order = Annotated[str, typer.Option("--order", metavar="A,B,…", help="UniEval: the order of the dimensions.")]
Replay = Annotated[
    float | None, typer.Option("--replay", metavar="SHARE", help="UniEval: how much of each earlier dimension is kept.")
]
Drop = Annotated[
    str, typer.Option("--drop", metavar="KIND", help="UniEval's first stage without nli, sst, ling or qa (Table 6).")
]
NoIntermediate = Annotated[
    bool, typer.Option("--no-intermediate", help="UniEval without its first stage (Tables 3 and 4, last row).")
]
KeepAll = Annotated[
    bool, typer.Option("--keep-all", help="Every checkpoint becomes a model in OUT/steps (CTC, Figure 7).")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start anew instead of resuming from the last checkpoint.")]


def train(
    recipe: Recipe,
    data: Data = None,
    out: Out = "trained",
    smoke: Smoke = False,
    fresh: Fresh = False,
    start: Start = "",
    onnx: Onnx = False,
    private: Private = False,
    strategy: Strategy = "",
    order: Order = "",
    replay: Replay = None,
    drop: Drop = "",
    no_intermediate: NoIntermediate = False,
    keep_all: KeepAll = False,
) -> None:
    """Trains a model by RECIPE; a stopped run goes on from its last checkpoint."""
    from quintet_train.recipe import Variation
    from quintet_train.run import run_recipe

    dimensions = tuple(name.strip() for name in order.split(",") if name.strip())
    variation = Variation(strategy, dimensions, replay, keep_all, drop, no_intermediate)

    def progress(stage: str, step: int, steps: int, figures: Mapping[str, float]) -> None:
        if step == steps or step % max(1, steps // 20) == 0:
            told = ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
            typer.echo(f"{stage + ': ' if stage else ''}step {step} of {steps}: {told}", err=True)

    made = run_recipe(
        recipe, data=data, out=Path(out), smoke=smoke, resume=not fresh, progress=progress, start=start, onnx=onnx,
        private=private, variation=variation,
    )  # fmt: skip
    told = ", ".join(f"{name} {value:.4f}" for name, value in made.figures.items())
    typer.echo(f"dir:{made.folder} ({made.items} items, {made.steps} steps; {told})")
