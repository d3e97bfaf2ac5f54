"""Parameters of a metric as people type them: `rouge-1:stem=yes` or `ctc-consistency:layer=12,long=cut`."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal

from quintet.core.metric import Metric
from quintet.core.registry import Registry
from quintet.errors import InputError, UnknownName


def build(registry: Registry, text: str, **preset: Any) -> Metric:
    """A metric from its name and, after the first colon, parameters; `preset` fills those the metric has."""
    name, _, rest = text.partition(":")
    entry = registry[name]
    default = entry.build()
    hints = typing.get_type_hints(type(default))
    known = {f.name: hints[f.name] for f in dataclasses.fields(default)}
    typed = dict(_split(part, name) for part in rest.split(",") if part.strip())
    for key in typed:
        if key not in known:
            raise UnknownName(f"parameter of {name}", key, known)
    values = {key: read_value(raw, known[key], f"{name}: {key}") for key, raw in typed.items()}
    return entry.build(**{k: v for k, v in preset.items() if k in known and v is not None}, **values)


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
    return key.strip(), value.strip()
