"""A Dimension: one question about a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dimension:
    """One question about a text, what it needs, and the range of the answers.

    >>> quintet.Dimension("shouting", "Does it shout?", needs=("source",)).higher_is_better
    True
    """

    name: str
    question: str
    needs: tuple[str, ...] = ()
    """Fields beside the output that must be present to answer the question."""
    low: float = 0.0
    high: float | None = 1.0
    """`None`: unbounded above (sums over words grow with length)."""
    higher_is_better: bool = True
