"""Parameters of a metric as people type them: `rouge-1:stem=yes` or `ctc-consistency:layer=12,long=cut`."""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from typing import Any, Literal

from quintet._checked import checked
from quintet.core.metric import Metric
from quintet.core.registry import Registry
from quintet.errors import InputError, UnknownName

_PARTS = re.compile(r'(?:[^,"=]*="(?:[^"]|"")*"|[^,])+')
"""Between commas; a value in double quotes may hold commas, and a doubled quote stands for one."""

LIMITS = {
    "n": (1, 32), "order": (1, 32), "ngram": (1, 32), "char_order": (1, 32), "word_order": (0, 32),
    "layer": (0, 1000), "turns": (0, 100_000), "window": (1, 100_000), "best": (0, 100_000), "reach": (0, 100_000),
    "shortest": (0, 100_000), "samples": (1, 1000),
}  # fmt: skip
"""By a parameter's name, of any metric: beyond these nothing is measured, and some would compute for days."""


def build(registry: Registry, text: str, /, **preset: object) -> Metric:
    """A metric from its name and, after the first colon, parameters; `preset` fills those the metric has."""
    name, _, rest = text.partition(":")
    entry = registry[name]
    default = entry.build()
    hints = typing.get_type_hints(type(default))
    known = {f.name: hints[f.name] for f in dataclasses.fields(default)}
    typed = dict(_split(part, name) for part in _PARTS.findall(rest) if part.strip())
    for key in typed:
        if key not in known:
            raise UnknownName(f"parameter of {name}", key, known)
    values = {key: read_value(raw, known[key], f"{name}: {key}") for key, raw in typed.items()}
    given = {k: _fitting(v, known[k], f"{name}: {k}") for k, v in preset.items() if k in known and v is not None}
    for key, value in {**given, **values}.items():
        _refuse_beyond(key, value, f"{name}: {key}")
    return entry.build(**{**given, **values})


def _fitting(value: object, hint: Any, where: str) -> Any:
    """A value from Python or from a task file, which may be of any type."""
    if type(value) is hint or not isinstance(value, str | int | float | bool | list | dict):
        return value
    return checked(value, hint, where)


def _refuse_beyond(key: str, value: object, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    least, most = LIMITS.get(key, (-math.inf, math.inf))
    if not (math.isfinite(value) and least <= value <= most):
        todo = f"give a number from {least} to {most}" if key in LIMITS else "give a finite number"
        raise InputError(f"{value!r} is out of range", where, todo)


def build_on(registry: Registry, text: str, model: str | None, /, **preset: object) -> tuple[Metric, bool]:
    """A metric on `model`, and whether it looks at one. A metric of several models cannot know which one is meant."""
    plain = build(registry, text, **preset)
    names = [field.name for field in dataclasses.fields(plain)]
    own = ["model"] if "model" in names else [name for name in names if name.startswith("model_")]
    if model is None or not own:
        return plain, bool(own)
    if len(own) > 1:
        asked = ",".join(f"{name}=MODEL" for name in own)
        raise InputError(
            f"--model names one model, {plain.name} has {len(own)}",
            todo=f"write --metric {plain.name}:{asked} (or some)",
        )
    return build(registry, text, **{own[0]: model, **preset}), True


def read_value(raw: str, hint: Any, where: str) -> Any:
    """`raw` as the type that `hint` names; Literal and Optional are understood."""
    if typing.get_origin(hint) is Literal:
        if raw not in typing.get_args(hint):
            raise UnknownName(f"value for {where}", raw, map(str, typing.get_args(hint)))
        return raw
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if raw.lower() == "none":
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if hint is bool:
        if raw.lower() not in ("yes", "no", "true", "false"):
            raise InputError(f"{raw!r} is neither yes nor no", where)
        return raw.lower() in ("yes", "true")
    if hint in (int, float):
        try:
            return hint(raw)
        except ValueError:
            raise InputError(f"{raw!r} is not a number", where) from None
    return raw


def _split(part: str, name: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals:
        raise InputError(f"{part!r} has no '='", f"--metric {name}", "write NAME:parameter=value,parameter=value")
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1].replace('""', '"')
    return key.strip(), value
