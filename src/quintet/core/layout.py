"""How scores stand beside the input's own columns in a written row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SCORE_PREFIX = "quintet."
INPUT_PREFIX = "input."


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` maps what we call a value (`coherence`) to its column (`quintet.coherence` where the input has one)."""

    input_columns: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input_columns, *self.names.values())

    def row(self, values: Mapping[str, Any], scores: Mapping[str, Any]) -> dict[str, Any]:
        """Input columns first, then ours in a fixed order. `values` is not changed."""
        ours = set(self.names.values())
        # A column that shows up after the names were settled moves aside rather than being overwritten.
        merged = {(INPUT_PREFIX + name if name in ours else name): value for name, value in values.items()}
        for name, column in self.names.items():
            merged[column] = scores.get(name)
        return merged


def score_layout(input_columns: Iterable[str], names: Iterable[str]) -> Layout:
    """Ours keep their names unless the input uses them already: then ours are prefixed, the input's never change."""
    given = tuple(input_columns)
    taken = set(given)
    columns: dict[str, str] = {}
    for name in names:
        column = name
        while column in taken:
            column = SCORE_PREFIX + column
        taken.add(column)
        columns[name] = column
    return Layout(given, columns)
