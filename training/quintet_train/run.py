"""A recipe carried out: rows, items, network, training, export. The one call behind `quintet train`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from quintet.errors import InputError
from quintet_train import recipe as recipes
from quintet_train import rows
from quintet_train.items import Item
from quintet_train.multitask import Stage, group_by_task, stages
from quintet_train.pseudo.builders import build
from quintet_train.recipe import AFTER, WITHOUT, Recipe, Variation
from quintet_train.torch_parts import need

EVALUATOR = "evaluator."
"""Builders whose recipes make the bundled models."""
Progress = Callable[[str, int, int, Mapping[str, float]], None]
"""Stage (empty if there is one), step, all steps, figures."""


@dataclass(frozen=True)
class Trained:
    """Where the model lies and how it did on held-out items."""

    folder: Path
    recipe: Recipe
    items: int
    steps: int
    figures: Mapping[str, float]


def run_recipe(
    path_or_name: str | Path,
    data: str | Path | None = None,
    out: str | Path = "trained",
    smoke: bool = False,
    resume: bool = True,
    progress: Progress | None = None,
    start: str = "",
    device: str = "auto",
    onnx: bool = False,
    private: bool = False,
    variation: Variation | None = None,
) -> Trained:
    """Trains and writes OUT/model. `data` is the folder that the recipe's paths are relative to; a smoke run brings
    its own rows. `start` replaces the model to start from (USR's DR from its fine-tuned MLM, say). `private` lets
    recipes of bundled models use corpora whose terms forbid giving weights away."""
    recipe = recipes.load(path_or_name, smoke, start, variation)
    need("torch")
    need("transformers")
    need("safetensors")
    target = Path(out)
    if recipe.data.builder.startswith(EVALUATOR):
        return _evaluator(recipe, _data_folder(data, smoke), target, resume, progress, device, private)
    begun = recipe
    if recipe.model.start.startswith(AFTER):
        # A chain: the model before it is trained first, beside it.
        name, _, dropped = recipe.model.start.removeprefix(AFTER).partition(WITHOUT)
        beside = target / "-without-".join(filter(None, (name, dropped)))
        own = Variation(drop=dropped)
        first = run_recipe(name, data, beside, smoke, resume, progress, device=device, variation=own)
        begun = replace(recipe, model=replace(recipe.model, start=f"dir:{first.folder}"))
    items, used = _items(recipe, _data_folder(data, smoke))
    train, dev = split(items, recipe.data.dev_fraction, recipe.data.seed)
    from quintet_train.learning import learn

    steps, made, figures = learn(begun, train, dev, target, resume, progress, device, _key(recipe, used))
    from quintet_train import curve, export

    folder = target / "model"
    export.save(folder, made, recipe, used, figures)
    if onnx:
        from quintet_train.onnx_export import export_onnx

        export_onnx(made, folder / "model.onnx")
        export.write_toml(folder, made, recipe, used, figures)
    curve.draw(sorted(target.rglob("log.jsonl")), target / "curve.png")
    if recipe.train.keep_all:
        from quintet_train.trainer import checkpoints, load_weights

        for kept in checkpoints(target / "run"):
            load_weights(made.network, kept / "model.safetensors")
            export.save(target / "steps" / kept.name, made, recipe, used, {})
    return Trained(folder, recipe, len(items), steps, figures)


def _evaluator(
    recipe: Recipe, data: Path, target: Path, resume: bool, progress: Progress | None, device: str, private: bool
) -> Trained:
    """Its many heads, neighbours and graphs have a folder of their own; trainer, log and curve are the same."""
    need("onnx")
    from quintet_train import curve
    from quintet_train.evaluator.run import carry_out

    named = None if progress is None else partial(progress, "")
    made = carry_out(recipe, data, target, resume, device, named, private)
    curve.draw(sorted((target / "run").rglob("log.jsonl")), target / "curve.png")
    return Trained(made.folder, recipe, made.items, made.steps, made.figures)


def _data_folder(data: str | Path | None, smoke: bool) -> Path:
    if data is not None:
        folder = Path(data)
        if not folder.is_dir():
            raise InputError("is not a folder", where=str(folder))
        return folder
    if not smoke:
        raise InputError("a recipe needs the folder its rows lie in", todo="pass --data FOLDER, or --smoke to try it")
    return Path(str(resources.files("quintet_train") / "recipes" / "smoke_rows"))


def _items(recipe: Recipe, folder: Path) -> tuple[list[Item], list[Any]]:
    from quintet_train.export import UsedData

    records: list[rows.Record] = []
    used: list[UsedData] = []
    for source in recipe.data.sources:
        path = folder / source.path
        facts = folder / source.facts if source.facts else None
        found = rows.read(path, source.rows, source, facts, recipe.data.seed)
        own = list(islice(found, source.limit) if source.limit else found)
        if not own:
            raise InputError("no usable row", where=str(path))
        records += own
        used.append(UsedData(source.path, len(own), rows.digest(path), source.licence, source.release))
    options = recipe.data.options
    return build(recipe.data.builder, records, recipe.data.limit, recipe.data.seed, options), used


def _key(recipe: Recipe, used: Sequence[Any]) -> str:
    """A run goes on only with the same recipe and the same bytes."""
    plain = json.dumps([recipe.digest, *(one.sha256 for one in used)])
    return hashlib.sha256(plain.encode()).hexdigest()


def split(items: Sequence[Item], dev_fraction: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Held-out items share no text group with training items: a positive and its negatives stay on one side.

    Builders put items made from one text next to each other, so blocks are held out, not single items.
    """
    if dev_fraction <= 0:
        return list(items), []
    block = 10 if len(items) >= 200 else 2
    blocks = [list(items[start : start + block]) for start in range(0, len(items), block)]
    if len(blocks) < 2:
        return list(items), []
    count = min(len(blocks) - 1, max(1, round(dev_fraction * len(blocks))))
    held = set(Random(seed).sample(range(len(blocks)), count))
    train = [item for number, own in enumerate(blocks) if number not in held for item in own]
    return train, [item for number, own in enumerate(blocks) if number in held for item in own]


def plan_stages(recipe: Recipe, train: Sequence[Item]) -> list[tuple[str, Recipe, tuple[Any, ...]]]:
    """One stage for most recipes; one per dimension, with replay, for continual ones."""
    if recipe.continual is None:
        return [("", recipe, tuple(train))]
    found: list[Stage] = stages(group_by_task(train), recipe.continual, recipe.train.epochs, recipe.data.seed)
    return [
        (f"{number}-{stage.task}", replace(recipe, train=replace(recipe.train, epochs=stage.epochs)), stage.items)
        for number, stage in enumerate(found, 1)
    ]
