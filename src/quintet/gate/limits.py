"""`consistency=0.8` as a person writes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.errors import InputError

Kind = Literal["min", "max", "max-drop"]


@dataclass(frozen=True, slots=True)
class Limit:
    kind: Kind
    dimension: str
    value: float


def read_limits(kind: Kind, given: Sequence[str]) -> list[Limit]:
    """One or several `NAME=NUMBER`, each also as a list with commas."""
    limits = [_read(kind, part.strip()) for text in given for part in text.split(",") if part.strip()]
    names = [limit.dimension for limit in limits]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} has two limits", f"--{kind}", "give one")
    return limits


def _read(kind: Kind, text: str) -> Limit:
    # A metric's own name may hold an equals sign (bertscore-f:layer=12), so the last one counts.
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not equals or not name.strip() or not math.isfinite(value):
        raise InputError(f"cannot read {text!r}", f"--{kind}", "write DIMENSION=NUMBER, for example consistency=0.8")
    if kind == "max-drop" and value < 0:
        raise InputError(f"a drop of {value:g} is none", f"--{kind}", "give 0 or more")
    return Limit(kind, name.strip(), value)
