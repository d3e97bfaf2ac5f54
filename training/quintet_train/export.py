"""A trained network as a folder that anyone can open: weights, configuration, words, and what it was made from.

config.json        the encoder's (or whole model's) transformers configuration
model.safetensors  weights under transformers' names, so that `dir:FOLDER` opens them; max-pooled heads and GRADE,
                   which it lacks, have `encoder.` and `head.`
tokenizer.json     the words
model.toml         role, labels, head, limits, sha256 of the files, recipe digest, data with licences, figures
README.md          a model card to be completed
model.onnx         on request: encoder and head in one graph
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quintet._version import __version__
from quintet.errors import ModelError
from quintet.models.torch_trained import hidden_size
from quintet_train.assemble import Assembled, with_head
from quintet_train.opening import bare_from_folder, needed_kind
from quintet_train.recipe import Model, Recipe
from quintet_train.torch_parts import need
from quintet_train.trainer import load_weights, plain_weights

ROLES = {
    "sequence": "pair-classifier",
    "pooled": "pair-classifier",
    "regressor": "regressor",
    "tagger": "token-tagger",
    "order": "sentence-order",
    "grade": "pair-classifier",
    "yesno": "yes-no",
    "yesno-causal": "yes-no",
    "mlm": "masked-lm",
    "causal": "causal-lm",
}
"""The role of `quintet.models.roles` that a head plays unless the recipe names another."""


@dataclass(frozen=True)
class UsedData:
    path: str
    rows: int
    sha256: str
    licence: str
    release: str


def save(folder: Path, made: Assembled, recipe: Recipe, data: Sequence[UsedData], figures: Mapping[str, float]) -> Path:
    """Writes the folder; `model.toml` last, so that a folder without it is known to be unfinished."""
    folder.mkdir(parents=True, exist_ok=True)
    made.base.config.architectures = [type(made.base.network).__name__]
    made.base.config.save_pretrained(folder)
    need("safetensors.torch").save_file(plain_weights(kept(made)), folder / "model.safetensors", {"format": "pt"})
    made.base.encoder.tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(_tokenizer_settings(made)), encoding="utf-8")
    if made.topics is not None:
        made.topics.save(folder)
    (folder / "README.md").write_text(card(recipe, data, figures), encoding="utf-8")
    return write_toml(folder, made, recipe, data, figures)


def kept(made: Assembled) -> Any:
    """The module whose weights are written: the whole transformers model where the head is one of its own."""
    return made.network if made.head.model.head in ("pooled", "grade") else made.base.network


def _tokenizer_settings(made: Assembled) -> dict[str, str]:
    words = made.base.encoder.tokenizer
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    for role, names in {
        "pad_token": ("[PAD]", "<pad>", "<|endoftext|>"),
        "mask_token": ("[MASK]", "<mask>"),
        "eos_token": ("</s>", "[SEP]", "<|endoftext|>"),
        "cls_token": ("[CLS]", "<s>"),
        "sep_token": ("[SEP]", "</s>"),
        "unk_token": ("[UNK]", "<unk>"),
    }.items():
        found = [name for name in names if words.token_to_id(name) is not None]
        if found:
            settings[role] = found[0]
    return settings


def release_of(data: Sequence[UsedData]) -> str:
    """The narrowest term of all that went in."""
    for term in ("no", "unclear", "per source"):
        if any(used.release == term for used in data):
            return term
    return "yes"


def write_toml(
    folder: Path, made: Assembled, recipe: Recipe, data: Sequence[UsedData], figures: Mapping[str, float]
) -> Path:
    """Everything that a reader needs to use the weights as they were trained, and to judge where they came from."""
    model = recipe.model
    lines = [
        "format = 1",
        f"name = {_quoted(recipe.name)}",
        f"family = {_quoted(recipe.family)}",
        f"about = {_quoted(recipe.about)}",
        f"role = {_quoted(model.role or ROLES[model.head])}",
        f"head = {_quoted(model.head)}",
        f"labels = {_quoted(list(model.labels))}",
        f"architecture = {_quoted(made.base.config.model_type)}",
        f"layers = {_layers(made.base.config)}",
        f"width = {hidden_size(made.base.config)}",
        f"max_tokens = {model.max_tokens}",
        f"started_from = {_quoted(model.start if not model.start.startswith('dir:') else 'dir')}",
        f"recipe_sha256 = {_quoted(recipe.digest)}",
        f"quintet = {_quoted(__version__)}",
        f"release = {_quoted(release_of(data))}",
        "",
        "[input]",
        *(f"{key} = {_quoted(getattr(model, key))}" for key in
          ("first_tokens", "second_tokens", "truncate", "drop_cls")),
        f"prefix_space = {_quoted(made.base.encoder.prefix_space)}",
        "",
        "[shape]",
        *(f"{key} = {_quoted(value)}" for key, value in
          (("pooling", model.pooling), ("layers", list(model.layers)), ("activation", model.activation),
           ("dropout", model.dropout), ("loss", model.loss))),
        *(f"{key} = {_quoted(value)}" for key, value in model.options.items()),
        "",
        "[figures]",
        *(f"{key} = {float(value)!r}" for key, value in figures.items()),
        "",
        "[sha256]",
        *(f"{_quoted(path.name)} = {_quoted(_sha256(path))}" for path in sorted(folder.iterdir())
          if path.is_file() and path.name not in ("model.toml", "README.md")),
    ]  # fmt: skip
    for used in data:
        lines += ["", "[[data]]", *(f"{key} = {_quoted(value)}" for key, value in vars(used).items())]
    path = folder / "model.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _quoted(value: Any) -> str:
    """JSON's strings, numbers, booleans and flat lists are TOML's too."""
    return json.dumps(value, ensure_ascii=False)


def _layers(config: Any) -> int:
    return int(getattr(config, "num_hidden_layers", 0) or getattr(config, "n_layer", 0) or config.num_layers)


def _sha256(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def card(recipe: Recipe, data: Sequence[UsedData], figures: Mapping[str, float]) -> str:
    """A model card to be completed: what the machine knows is filled in."""
    rows = "\n".join(f"| {used.path} | {used.rows} | {used.licence} | {used.release} |" for used in data)
    numbers = "\n".join(f"- {name}: {value:.4f}" for name, value in figures.items()) or "- none"
    return f"""# {recipe.name}

{recipe.about}

Trained by quintet {__version__} with recipe `{recipe.name}` (sha256 `{recipe.digest[:16]}`), starting from
`{recipe.model.start if not recipe.model.start.startswith("dir:") else "a local folder"}`.

## Held-out figures

{numbers}

## Data

May weights be released: **{release_of(data)}**.

| file | rows | licence | release |
|---|---:|---|---|
{rows}

## Intended use and limits

(to be completed)
"""


def open_trained(folder: Path) -> Assembled:
    """Opens a folder written by `save`: the network, its head and its words, ready to score or to train further."""
    if not (folder / "model.toml").is_file():
        raise ModelError(f"{folder} has no model.toml; it is not a finished model of quintet")
    table = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
    for name, wanted in table["sha256"].items():
        path = folder / name
        if not path.is_file() or _sha256(path) != wanted:
            raise ModelError(f"{path} is missing or not the file that model.toml names")
    known = {item.name for item in dataclasses.fields(Model)}
    shape = {**table["input"], **table["shape"], "max_tokens": table["max_tokens"], "role": table["role"]}
    plain: dict[str, Any] = {key: value for key, value in shape.items() if key in known}
    plain["layers"] = tuple(plain["layers"])
    # [input] says how texts are read; what a recipe calls options stands in [shape].
    options = {key: value for key, value in table["shape"].items() if key not in known}
    labels = tuple(table["labels"])
    model = Model(start=f"dir:{folder}", head=table["head"], labels=labels, options=options, **plain)
    base = bare_from_folder(folder, needed_kind(model), max(1, len(model.labels)))
    made = with_head(model, base, (), max(1, len(model.labels)), folder)
    load_weights(kept(made), folder / "model.safetensors")
    made.network.eval()
    return made
