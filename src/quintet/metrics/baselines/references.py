"""Several references: which one a score is taken from, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from quintet.core.example import Example
from quintet.core.score import Score, Span
from quintet.text.tokens import Piece

NO_REFERENCE = "no reference with a visible character"


class Reference(NamedTuple):
    text: str
    offset: int
    """Where it begins in `example.text("references")`, to which evidence points."""

    def place(self, start: int, end: int) -> tuple[str, int, int]:
        return ("references", self.offset + int(start), self.offset + int(end))

    def matched(self, mine: Piece, theirs: Piece, value: float = 1.0) -> Span:
        """Evidence: a piece of the output and its counterpart in this reference."""
        return Span(mine.start, mine.end, value, other=self.place(theirs.start, theirs.end))


def references(example: Example) -> list[Reference]:
    """Those with something in them."""
    found, offset = [], 0
    for text in example.references:
        if text.strip():
            found.append(Reference(text, offset))
        offset += len(text) + 1
    return found


def best_reference(
    example: Example, score: Callable[[Reference], Score], better: Callable[[Score], float] = lambda s: s.value
) -> Score:
    """The score against the reference that is best by `better`; the first of equals."""
    found = references(example)
    return max(map(score, found), key=better) if found else no_reference(0.0)


def nearest_reference(example: Example, distance: Callable[[Reference], Score], furthest: float) -> Score:
    """For distances."""
    found = references(example)
    return min(map(distance, found), key=lambda s: s.value) if found else no_reference(furthest)


def no_reference(worst: float) -> Score:
    """Nothing to agree with, as when the output is empty."""
    return Score(worst, flags=(NO_REFERENCE,))


def harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def texts_of(examples: Iterable[Example]) -> list[str]:
    """Every output and reference, for one request to an encoder."""
    return [text for e in examples for text in (e.output, *(r.text for r in references(e)))]
