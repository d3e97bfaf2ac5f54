"""A recipe: one TOML file that says what is trained, on what, from where and how; unknown keys are refused.

[data]       builder, sources, limit, options for the builder
[model]      start (hf:NAME, dir:FOLDER, tiny:KIND, recipe:NAME), head and its shape
[train]      steps, rates, batches, what to keep
[continual]  only for stages: order, replay, epochs by stage
[smoke]      the same tables again, laid over the others for the tiny run
like         another recipe, over which this one is laid: only what differs is written
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from quintet.errors import InputError, UnknownName

AFTER, WITHOUT = "recipe:", " without "
"""A model that starts from what another recipe makes, and which kind of intermediate task that one leaves out."""
INTERMEDIATE, INTERMEDIATE_BUILDER = "unieval-intermediate", "unieval.intermediate"
RELEASE_VALUES = ("yes", "no", "unclear", "per source")


@dataclass(frozen=True)
class Source:
    path: str
    rows: str
    licence: str
    release: str = "unclear"
    """May weights that the project ships be trained on it: yes, no, unclear, per source."""
    limit: int = 0
    facts: str = ""
    """A second file with the grounding texts, for rows that only point at them."""
    skip_sources: tuple[str, ...] = ()
    """Values of a row's `source` field to leave out (parts under other licences)."""
    keep_sources: tuple[str, ...] = ()
    """If any, only rows with these values."""
    share: float = 1.0
    """Share of the rows that is drawn, by the seed of the data."""
    name: str = ""
    """What its texts are called in a recipe's tables of shares; else the row's source or the file."""


@dataclass(frozen=True)
class Data:
    builder: str
    sources: tuple[Source, ...]
    limit: int = 0
    dev_fraction: float = 0.1
    seed: int = 42
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    start: str
    head: str
    role: str = ""
    """What it is for, if not what its head is for otherwise; see `quintet.models.roles`."""
    labels: tuple[str, ...] = ()
    """Names of the classes, in the order of the outputs."""
    max_tokens: int = 512
    first_tokens: int = 0
    """At most so many sub-words of the first text; 0 for no limit of its own."""
    second_tokens: int = 0
    truncate: str = "longest"
    """Which text gives way: longest, second, or keep-ends (the end of the first, the start of the second)."""
    drop_cls: bool = False
    pooling: str = "first"
    layers: tuple[int, ...] = ()
    activation: str = "none"
    dropout: float = 0.1
    loss: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    epochs: float = 1.0
    max_steps: int = 0
    """If not 0, exactly so many steps, whatever `epochs` says."""
    seconds: float = 0.0
    """If not 0, so long (without evaluations), however many steps that gives; then a run cannot be repeated exactly."""
    batch: int = 16
    tokens: int = 0
    """If not 0, batches hold so many sub-words with padding, and `batch` does not count; for lessons that pack."""
    accumulate: int = 1
    rate: float = 1e-5
    warmup: float = 0.0
    """Share of all steps with a rising rate; afterwards it falls in a straight line to 0."""
    floor: float = 0.0
    """The rate falls to this share of itself, not to 0."""
    head_rate: float = 1.0
    """How much faster the heads learn than the encoder below them."""
    betas: tuple[float, ...] = (0.9, 0.999)
    average: float = 0.0
    """If not 0, what is kept is a running mean of the weights with this decay, taken every ten steps."""
    decay: float = 0.0
    """Weight decay; never on biases and norms."""
    epsilon: float = 1e-8
    clip: float = 1.0
    evaluate_every: int = 0
    """Steps between evaluations; 0 for four in a run."""
    save_every: int = 0
    """Steps between checkpoints; 0 for the same steps as evaluations."""
    patience: int = 0
    """Stop after so many evaluations without a better one; 0 for never."""
    keep: str = "score"
    """The dev figure that chooses the weights kept; "last" keeps the last."""
    keep_all: bool = False
    """Every checkpoint stays and becomes a model of its own: how a figure moves with training (CTC, Figure 7)."""
    precision: str = "auto"
    """auto: bf16 on a GPU that has it, else fp32."""
    seed: int = 42


@dataclass(frozen=True)
class Continual:
    order: tuple[str, ...]
    replay: float = 0.2
    epochs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    name: str
    family: str
    about: str
    data: Data
    model: Model
    train: Plan
    continual: Continual | None = None

    @property
    def digest(self) -> str:
        """Changes with anything that changes the weights."""
        plain = json.dumps(dataclasses.asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(plain.encode()).hexdigest()


def names() -> list[str]:
    """The recipes that come with quintet."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def _folder() -> Traversable:
    return resources.files("quintet_train") / "recipes"


def load(path_or_name: str | Path, smoke: bool = False, start: str = "", variation: Variation | None = None) -> Recipe:
    """A recipe from a file or by name; `smoke` lays the tiny tables over it, `start` replaces [model] start, and a
    variation changes what an ablation changes."""
    table, where = _table_of(path_or_name)
    tiny = table.pop("smoke", None)
    if smoke:
        if tiny is None:
            raise InputError("no [smoke] table", where=where)
        table = _laid_over(table, tiny)
    if start:
        table.setdefault("model", {})["start"] = start
    recipe: Recipe = _build(Recipe, table, where, "")
    if variation is not None:
        recipe = varied(recipe, variation)
    _check(recipe, where)
    return recipe


@dataclass(frozen=True)
class Variation:
    """UniEval's ablations (its Tables 3 to 6), as changes of a recipe."""

    strategy: str = ""
    """continual, multi (all dimensions at once), or single:DIMENSION."""
    order: tuple[str, ...] = ()
    """Of the dimensions, for continual learning."""
    replay: float | None = None
    keep_all: bool = False
    drop: str = ""
    """A kind of intermediate task to leave out: nli, sst (opening sentences), ling or qa."""
    no_intermediate: bool = False
    """Start from T5 as it is, without the intermediate tasks."""


DROPPED: Mapping[str, tuple[str, ...]] = {
    "nli": ("nli", "mrpc", "qqp"),
    "sst": ("opening",),
    "ling": ("cola",),
    "qa": ("qa", "strategy"),
}
"""Kinds of UniEval's Table 6, and the tasks of its Table 8 that belong to each."""


def varied(recipe: Recipe, by: Variation) -> Recipe:
    data, continual = recipe.data, recipe.continual
    kind, _, dimension = by.strategy.partition(":")
    if kind not in ("", "continual", "multi", "single") or (kind == "single") != bool(dimension):
        raise InputError(f"no strategy {by.strategy!r}", recipe.name, "write continual, multi or single:DIMENSION")
    if (by.strategy or by.order or by.replay is not None) and continual is None:
        raise InputError("it has no dimensions to learn one after another", recipe.name, "strategies are UniEval's")
    if kind == "single":
        data = dataclasses.replace(data, options={**data.options, "dimensions": [dimension]})
    if kind in ("multi", "single"):
        continual = None
    if continual is not None and by.order:
        continual = dataclasses.replace(continual, order=by.order)
    if continual is not None and by.replay is not None:
        continual = dataclasses.replace(continual, replay=by.replay)
    model, first = recipe.model, AFTER + INTERMEDIATE
    if by.drop and by.drop not in DROPPED:
        raise UnknownName("kind of intermediate task", by.drop, DROPPED)
    if by.drop and by.no_intermediate:
        raise InputError("--drop and --no-intermediate exclude each other", recipe.name, "name one of them")
    if ((by.drop and data.builder != INTERMEDIATE_BUILDER) or by.no_intermediate) and not model.start.startswith(first):
        raise InputError("it starts from no intermediate tasks", recipe.name, "UniEval's recipes do, without --start")
    if by.no_intermediate:
        model = dataclasses.replace(model, start=load(INTERMEDIATE).model.start)
    if by.drop and data.builder != INTERMEDIATE_BUILDER:
        model = dataclasses.replace(model, start=f"{first}{WITHOUT}{by.drop}")
    elif by.drop:
        kept = [task for tasks in DROPPED.values() for task in tasks if task not in DROPPED[by.drop]]
        data = dataclasses.replace(data, options={**data.options, "tasks": kept})
    train = dataclasses.replace(recipe.train, keep_all=by.keep_all or recipe.train.keep_all)
    return dataclasses.replace(recipe, data=data, model=model, continual=continual, train=train)


def _table_of(path_or_name: str | Path) -> tuple[dict[str, Any], str]:
    text, where = _text_of(path_or_name)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=where) from None
    like = table.pop("like", None)
    return (_laid_over(_table_of(like)[0], table) if like else table), where


def _text_of(path_or_name: str | Path) -> tuple[str, str]:
    path = Path(path_or_name)
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise InputError("no such recipe file", where=str(path), todo=f"or name one of: {', '.join(names())}")
        return path.read_text(encoding="utf-8"), str(path)
    if str(path_or_name) not in names():
        raise UnknownName("recipe", str(path_or_name), names())
    entry = _folder() / f"{path_or_name}.toml"
    return entry.read_text(encoding="utf-8"), f"{path_or_name}.toml"


def _laid_over(table: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(table)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _laid_over(out[key], value) if both else value
    return out


def _build(kind: Any, table: Mapping[str, Any], where: str, at: str) -> Any:
    hints = typing.get_type_hints(kind)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(fields)}"
            raise InputError(f"unknown key {at}{key}", where=where, todo=hint)
    values = {key: _value(hints[key], value, where, f"{at}{key}") for key, value in table.items()}
    for name, item in fields.items():
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise InputError(f"missing key {at}{name}", where=where)
    return kind(**values)


def _value(hint: Any, value: Any, where: str, at: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is types.UnionType:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
        origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise InputError(f"{at} must be a table", where=where)
        return _build(hint, value, where, f"{at}.")
    if origin is tuple:
        inner = typing.get_args(hint)[0]
        if not isinstance(value, list):
            raise InputError(f"{at} must be a list", where=where)
        return tuple(_value(inner, one, where, f"{at}[{number}]") for number, one in enumerate(value))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted: Any = dict if origin is not None else hint
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise InputError(f"{at} must be {getattr(wanted, '__name__', wanted)}, not {value!r}", where=where)
    return value


def _check(recipe: Recipe, where: str) -> None:
    if not recipe.data.sources:
        raise InputError("data.sources is empty", where=where)
    for source in recipe.data.sources:
        if source.release not in RELEASE_VALUES:
            raise InputError(f"release of {source.path} must be one of {', '.join(RELEASE_VALUES)}", where=where)
    plan = recipe.train
    for name in ("batch", "accumulate", "rate"):
        if getattr(plan, name) <= 0:
            raise InputError(f"train.{name} must be above 0", where=where)
    if not 0 <= recipe.data.dev_fraction < 1 or not 0 <= plan.warmup <= 1:
        raise InputError("data.dev_fraction and train.warmup are shares between 0 and 1", where=where)
    if not all(0 <= share < 1 for share in (plan.floor, plan.average)) or len(plan.betas) != 2:
        raise InputError("train.floor and train.average are shares below 1, train.betas two numbers", where=where)
    if not all(0 < source.share <= 1 for source in recipe.data.sources):
        raise InputError("the share of a source is above 0 and at most 1", where=where)
