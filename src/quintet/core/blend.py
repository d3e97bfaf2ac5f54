"""A Blend: named signals, stored constants and weights, read from TOML. Nothing is fitted to the texts being scored.

    value = intercept + sum of weight × clip((signal - shift) / scale)

then, where `probability = [intercept, slope]` is given, the calibrated probability 1 / (1 + exp(-intercept - slope *
value)) (Platt 1999); or, where `levels` are given, the share of rated outputs (in the sets the blend was made with)
that lie below.

A blend that says what it `needs` goes on without the rest: a signal that cannot be had counts as its mean, which adds
nothing, and is named in the flags.
"""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from quintet.core.dimension import Dimension
from quintet.core.example import FIELDS, Example
from quintet.core.metric import Composite, Metric, Row
from quintet.core.parameters import build
from quintet.core.plain import Cells, JsonObject
from quintet.core.registry import metrics as registry
from quintet.core.score import Score, Span
from quintet.errors import InputError, MissingField, UnknownName

_RECIPE_KEYS = {"question", "signals", "intercept", "levels", "low", "high", "paper", "evidence", "note"}
_RECIPE_KEYS |= {"needs", "either", "origin", "probability"}
_SIGNAL_KEYS = {"metric", "of", "label", "shift", "scale", "clip", "weight", "parameters"}

ADDS = " adds"
"""Ends the name of the part that says what a signal adds to the blend."""
TAIL = 0.005
"""The share of the scale, at each end, for values beyond any that were seen."""


@dataclass(frozen=True, slots=True)
class Signal:
    label: str
    metric: Metric
    dimension: str
    shift: float = 0.0
    scale: float = 1.0
    clip: tuple[float, float] = (-math.inf, math.inf)
    weight: float = 1.0

    def normalised(self, value: float) -> float:
        return min(max((value - self.shift) / self.scale, self.clip[0]), self.clip[1])


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """What a linear ensemble comes to for one example, and what it was made of."""

    value: float
    parts: Mapping[str, float]
    """By label, the score of each signal as it came."""
    shares: Mapping[str, float]
    """By label, what it adds."""
    flags: Mapping[str, None]
    cut: Mapping[str, int]
    """Of each field the most that any signal did not see."""


def weighted_sum(
    signals: Iterable[Signal], rows: Mapping[Metric, Row], intercept: float = 0.0, lenient: bool = False
) -> WeightedSum:
    """intercept + sum of weight × clip((score - shift) / scale): of the evaluator, USR and IM2, and of anyone's own.

    `lenient`: a signal without a score adds nothing and is named in the flags.
    """
    value = intercept
    parts: dict[str, float] = {}
    shares: dict[str, float] = {}
    flags: dict[str, None] = {}
    cut: dict[str, int] = {}
    for signal in signals:
        found = rows[signal.metric][signal.dimension]
        if lenient and found.missing:
            flags[f"without {signal.label} ({', '.join(found.flags)})"] = None
            continue
        share = signal.weight * signal.normalised(found.value)
        value += share
        parts[signal.label], shares[signal.label] = found.value, share
        flags.update(dict.fromkeys(found.flags))
        cut.update({field: max(count, cut.get(field, 0)) for field, count in found.cut.items()})
    return WeightedSum(value, parts, shares, flags, cut)


@dataclass(frozen=True)
class Blend(Composite):
    recipe: str = ""
    """`NAME/DIMENSION` of a bundled file, or `FILE.toml#DIMENSION` of one's own."""

    name = "blend"

    @property
    def source(self) -> str:
        """Where the constants stand."""
        return self.recipe

    @property
    def table(self) -> Cells:
        return _table(self.source)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        every = dict.fromkeys(f for s in self.signals for f in s.metric.fields if f != "output")
        low, high = (0.0, 1.0) if {"levels", "probability"} & set(self.table) else (-math.inf, None)
        return (
            Dimension(
                self.recipe.replace("#", "/").rpartition("/")[2],
                self.table["question"],
                tuple(self.table.get("needs", every)),
                self.table.get("low", low),
                self.table.get("high", high),
            ),
        )

    @property
    def signals(self) -> tuple[Signal, ...]:
        return _signals(self.source)

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return tuple(dict.fromkeys(signal.metric for signal in self.signals))

    @property
    def parameters(self) -> JsonObject:
        # The constants are part of what the number is, so they are part of the signature.
        return {"recipe": self.recipe, "constants": _digest(self.source)}

    @property
    def lenient(self) -> bool:
        """Whether it goes on without a signal that cannot be had."""
        return "needs" in self.table

    def lacks(self, present: Container[str]) -> list[str]:
        if not self.lenient:
            return super().lacks(present)
        either = self.table.get("either", ())
        none_of = [] if not either or any(field in present for field in either) else list(either)
        return [*(field for field in self.table["needs"] if field not in present), *none_of]

    def check(self, example: Example) -> None:
        if not self.lenient:
            return super().check(example)
        lacking = self.lacks([field for field in FIELDS if example.has(field)])
        if lacking:
            raise MissingField(lacking[0], example.id, self.dimensions[0].name)
        return None

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        found = weighted_sum(self.signals, rows, float(self.table.get("intercept", 0.0)), self.lenient)
        value, flags = found.value, tuple(found.flags)
        shares = {f"{label}{ADDS}": share for label, share in found.shares.items()} if self.lenient else {}
        if "probability" in self.table:
            value = _platt(value, *self.table["probability"])
        elif "levels" in self.table:
            value = percentile(value, self.table["levels"])
        return {self.dimensions[0].name: Score(value, self._spans(rows), {**found.parts, **shares}, flags, found.cut)}

    def _spans(self, rows: Mapping[Metric, Row]) -> tuple[Span, ...]:
        """Of the signals that the recipe names as evidence; by default of the first that has any."""
        named = self.table.get("evidence", ())
        found = {signal.label: rows[signal.metric][signal.dimension].spans for signal in self.signals}
        if isinstance(named, str):
            found = {named: found.pop(named, ()), **found}
            named = ()
        if named:
            chosen = tuple(dict.fromkeys(span for label in named for span in found.get(label, ())))
        else:
            chosen = next((spans for spans in found.values() if spans), ())
        return with_counterparts(chosen, (span for spans in found.values() for span in spans))


def with_counterparts(chosen: tuple[Span, ...], known: Iterable[Span]) -> tuple[Span, ...]:
    """Says of each word where its nearest stands, if another signal has found that.

    Value and note stay those of the signal that judged the word: what is shown is what lowered the score.
    """
    if all(span.other is not None or span.kind != "word" for span in chosen):
        return chosen
    there = {(span.field, span.start, span.end): span.other for span in known if span.other is not None}
    return tuple(
        replace(span, other=place)
        if span.kind == "word"
        and span.other is None
        and (place := there.get((span.field, span.start, span.end))) is not None
        else span
        for span in chosen
    )


def _platt(value: float, intercept: float, slope: float) -> float:
    return value if math.isnan(value) else 0.5 * (1.0 + math.tanh(0.5 * (intercept + slope * value)))


def percentile(value: float, levels: list[float]) -> float:
    """Where `value` stands among `levels`, the quantiles of the blend at equal steps from 0 to 1.

    What lies beyond the first or last level still goes on falling or rising, within the last half per cent.
    """
    if math.isnan(value):
        return value
    width = (levels[-1] - levels[0]) / len(levels) or 1.0
    if value < levels[0]:
        return TAIL * math.exp((value - levels[0]) / width)
    if value >= levels[-1]:
        return 1.0 - TAIL * math.exp((levels[-1] - value) / width)
    above = bisect_right(levels, value)
    below, upper = levels[above - 1], levels[above]
    share = (above - 1 + (value - below) / (upper - below)) / (len(levels) - 1)
    return TAIL + (1.0 - 2.0 * TAIL) * share


@lru_cache(maxsize=64)
def _file(source: str) -> Cells:
    try:
        if source.endswith(".toml"):
            text = Path(source).read_text(encoding="utf-8")
        else:
            text = _bundled(source).read_text(encoding="utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"no blend file {source!r}", todo="name a bundled blend or the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", source) from None


def _bundled(source: str) -> Traversable:
    """quintet's own blends, or the one a paper's folder brings along (`usr/topical-chat`)."""
    own = files("quintet.metrics.blends").joinpath(f"{source}.toml")
    return own if own.is_file() else files("quintet.metrics").joinpath(source, "blend.toml")


def read_table(recipe: str) -> Cells:
    """One blend as plain data: question, intercept and signals."""
    return _table(recipe)


def digest(recipe: str) -> str:
    """Eight digits over the constants of a blend."""
    return _digest(recipe)


@lru_cache(maxsize=256)
def _table(recipe: str) -> Cells:
    source, _, name = recipe.rpartition("#") if "#" in recipe else recipe.partition("/")
    table: Any = _file(source)
    for key in name.split("/"):
        if not isinstance(table, dict) or key not in table:
            raise UnknownName(f"blend in {source}", name, table if isinstance(table, dict) else ())
        table = table[key]
    found: Cells = table
    for key in found:
        if key not in _RECIPE_KEYS:
            raise UnknownName(f"key of blend {recipe}", key, _RECIPE_KEYS)
    if not found.get("signals") or "question" not in found:
        raise InputError(f"blend {recipe} needs a question and signals", source)
    return found


@lru_cache(maxsize=256)
def _signals(recipe: str) -> tuple[Signal, ...]:
    return tuple(_signal(row, recipe) for row in _table(recipe)["signals"])


def read_signals(recipe: str, known: Mapping[str, Metric]) -> tuple[Signal, ...]:
    """The signals of a blend whose metrics are among `known`, which are built already."""
    return tuple(_signal(row, recipe, known) for row in _table(recipe)["signals"])


def _signal(row: Cells, recipe: str, known: Mapping[str, Metric] | None = None) -> Signal:
    for key in row:
        if key not in _SIGNAL_KEYS:
            raise UnknownName(f"key of a signal in blend {recipe}", key, _SIGNAL_KEYS)
    if known is not None and row["metric"] not in known:
        raise UnknownName(f"part of {recipe}", row["metric"], known)
    metric = build(registry, row["metric"], **row.get("parameters", {})) if known is None else known[row["metric"]]
    names = [d.name for d in metric.dimensions]
    dimension = row.get("of", names[0])
    if dimension not in names:
        raise UnknownName(f"dimension of {row['metric']} in blend {recipe}", dimension, names)
    low, high = row.get("clip", (-math.inf, math.inf))
    return Signal(
        label=row.get("label", row["metric"]),
        metric=metric,
        dimension=dimension,
        shift=float(row.get("shift", 0.0)),
        scale=float(row.get("scale", 1.0)),
        clip=(float(low), float(high)),
        weight=float(row.get("weight", 1.0)),
    )


def _digest(recipe: str) -> str:
    import hashlib
    import json

    return hashlib.sha256(json.dumps(_table(recipe), sort_keys=True).encode("utf-8")).hexdigest()[:8]
