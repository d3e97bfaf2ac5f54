"""A blend as the text of a TOML file: what a fit hands to the user."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from quintet.core.plain import Cells


def blend_toml(name: str, question: str, signals: Iterable[Cells], intercept: float = 0.0) -> str:
    """One table in the form that `Blend` reads; `name` may be nested (`mine/nuf`)."""
    path = ".".join(json.dumps(part, ensure_ascii=False) for part in name.split("/"))
    lines = [f"[{path}]", f"question = {plain_toml(question)}", f"intercept = {plain_toml(intercept)}"]
    for signal in signals:
        lines += ["", f"[[{path}.signals]]", *(f"{key} = {plain_toml(value)}" for key, value in signal.items())]
    return "\n".join(lines) + "\n"


def plain_toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {plain_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(plain_toml(inner) for inner in value) + "]"
    if isinstance(value, float):
        # repr keeps every digit, so that a blend read back gives the same numbers.
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False)
