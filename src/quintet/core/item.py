"""What travels through the engine: an example or a row that could not be read, and later its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quintet.core.example import Example
from quintet.core.plain import Cells
from quintet.core.score import Score


@dataclass(frozen=True, slots=True)
class Item:
    """Row k of the input, whatever became of it."""

    example: Example | None
    problem: str = ""
    """Why there is no example."""
    carried: Cells = field(default_factory=dict)
    """The row as it came; unknown columns are handed through to the output."""
    raw: str = ""
    """The row's text, where its cells could not be told apart: it is handed through as well."""
    kind: str = ""
    """The problem without its place, by which bad rows are counted."""


@dataclass(frozen=True, slots=True)
class Scored:
    item: Item
    scores: Mapping[str, Score]
    """By column label; a score that could not be given is NaN with its reason as a flag."""
