"""A trained evaluator or language model as the folder that is bundled: graph, words, description, card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from quintet.errors import InputError
from quintet.models import packed_weights
from quintet.models.folder import HEADS
from quintet_train import export, rows
from quintet_train.evaluator.groups import QUESTIONS
from quintet_train.evaluator.language_grid import compressed
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.starting import WEIGHTS, EncoderStart, LanguageStart
from quintet_train.export_evaluator import export_evaluator
from quintet_train.export_judge_lm import Shape, export_judge_lm
from quintet_train.recipe import Recipe
from quintet_train.torch_parts import need
from quintet_train.trainer import plain_weights

CARD = "CARD.md"


@dataclass(frozen=True)
class Made:
    """What is told about a model in its folder."""

    recipe: Recipe
    data: Sequence[export.UsedData]
    figures: Mapping[str, float]
    notes: Sequence[str]
    """Sentences for the card: what was left out, and what was not checked."""


@dataclass(frozen=True)
class Heads:
    """What a language model that judges has beside its own weights."""

    weights: Mapping[str, Tensor]
    taught: tuple[str, ...]
    """Questions that were trained, entailment and `words` among them."""


def ship_evaluator(start: EncoderStart, target: Path, made: Made) -> Path:
    """OUT/weights.safetensors for further training, OUT/model for use."""
    weights = plain_weights(start.network)
    need("safetensors.torch").save_file(weights, target / WEIGHTS)
    words = _words(start.tokenizer, target)
    arrays = {name: value.float().numpy() for name, value in weights.items()}
    precision = str(made.recipe.model.options.get("precision", "int8"))
    folder = export_evaluator(
        arrays, target / "model", words, tuple(QUESTIONS), name=made.recipe.name, precision=precision,
        together=read_together(made.recipe.model.options),
    )  # fmt: skip
    return _told(folder, made)


def read_together(options: Mapping[str, Any]) -> frozenset[str]:
    """The recipe's heads that read an output and its grounds as one text."""
    named = frozenset(options.get("together", ()))
    if strange := named - set(QUESTIONS):
        raise InputError(f"model.options.together: no head {min(strange)!r}", todo=f"one of: {', '.join(QUESTIONS)}")
    return named


def ship_language_model(start: LanguageStart, target: Path, made: Made, heads: Heads | None = None) -> Path:
    """The same, and config.json."""
    if not start.network.shape.tied or start.network.shape.biased:
        raise InputError(
            "a language model with an output table of its own, or with biases, is not shipped",
            todo="start from one of SmolLM2's kind",
        )
    stored = compressed(plain_weights(start.network))
    every = {**stored, **heads.weights} if heads else stored
    need("safetensors.torch").save_file(every, target / WEIGHTS)
    words = _words(start.tokenizer, target)
    shape = start.network.shape
    _configured(start, target)
    folder = export_judge_lm(
        {name: value.numpy() for name, value in every.items()},
        target / "model",
        words,
        Shape(shape.heads, shape.theta, shape.epsilon, made.recipe.model.max_tokens),
        name=made.recipe.name,
        start=start.first,
        taught=heads.taught if heads else (),
    )
    return _told(folder, made)


def keep_teacher(start: LanguageStart, network: LanguageJudge, target: Path) -> None:
    """OUT/weights.safetensors in half precision, to be opened by `dir:`; nothing that the product would load."""
    body = network.body
    weights = {name.removeprefix(body): value.bfloat16() for name, value in plain_weights(network).items()}
    need("safetensors.torch").save_file(weights, target / WEIGHTS)
    _words(start.tokenizer, target)
    _configured(start, target)


def _configured(start: LanguageStart, target: Path) -> None:
    """What the weights do not say themselves."""
    shape = start.network.shape
    told = {"num_attention_heads": shape.heads, "rope_theta": shape.theta, "rms_norm_eps": shape.epsilon}
    (target / "config.json").write_text(json.dumps(told), encoding="utf-8")


def _words(tokenizer: object, target: Path) -> Path:
    path = target / "tokenizer.json"
    tokenizer.save(str(path))  # type: ignore[attr-defined]
    return path


def _told(folder: Path, made: Made) -> Path:
    """Adds to model.toml where the weights come from, and a card to be completed."""
    recipe, release = made.recipe, export.release_of(made.data)
    start = recipe.model.start if not recipe.model.start.startswith("dir:") else "dir"
    lines = [
        f"recipe_sha256 = {json.dumps(recipe.digest)}",
        f"started_from = {json.dumps(start)}",
        f"release = {json.dumps(release)}",
        "",
        "[figures]",
        *(f"{name} = {float(value)!r}" for name, value in made.figures.items()),
        "",
        "[sha256]",
        *(f"{json.dumps(name)} = {json.dumps(rows.digest(folder / name))}" for name in
          ("model.onnx", "tokenizer.json", packed_weights.FILE, HEADS) if (folder / name).is_file()),
    ]  # fmt: skip
    for used in made.data:
        lines += ["", "[[data]]", *(f"{key} = {json.dumps(value)}" for key, value in vars(used).items())]
    path = folder / "model.toml"
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")
    card = export.card(recipe, made.data, made.figures)
    notes = "".join(f"- {note}\n" for note in made.notes)
    (folder / CARD).write_text(card.replace("## Intended use", f"{notes}\n## Intended use"), encoding="utf-8")
    return folder
