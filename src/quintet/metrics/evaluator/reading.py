"""The door: every text in one form before a signal looks at it, and the way back to the user's characters."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from quintet.core.cache import current
from quintet.core.example import Example
from quintet.core.score import Span
from quintet.text.detokenise import BULLET, HEADING, LIST_NUMBER, Detokenised, detokenise, detokenise_with_places
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

NO_FACT = frozenset({"", "_nofact", "nofact"})
"""What data sets write where there is no fact."""
PERSONA = "your persona: "
"""PersonaChat's files put this before every line of a persona; it says nothing."""
_NOTHING_LEFT = "."
"""Stands for an output of which the door leaves nothing, such as a lone tag."""
_REMEMBERED = 8192

Made = TypeVar("Made")


class Memory:
    """What was made of a text, kept while a chunk is scored: several signals look at the same texts."""

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        kept: dict[Hashable, Any] = current().store(self, dict)
        found = kept.get(key, self)
        if found is self:
            found = make()
            if len(kept) >= _REMEMBERED:
                kept.clear()
            kept[key] = found
        return found


memory = Memory()


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """The judged text, with places."""

    text: str
    places: Detokenised
    sentences: tuple[Piece, ...]

    def span(self, start: int, end: int, value: float, kind: str, note: str = "") -> Span:
        """Evidence at text[start:end], said of the characters that the user gave."""
        first, last = self.places.span(start, end) if self.places.text else (0, 0)
        return Span(first, last, round(float(value), 4), kind, note=note)


def read_output(text: str) -> Output:
    return memory.once(("output", text), lambda: _read_output(text))


def _read_output(text: str) -> Output:
    places = detokenise_with_places(text, marks=False)
    plain = places.text or _NOTHING_LEFT
    return Output(plain, places, tuple(read_sentences(text, places)) or (Piece(plain, 0, len(plain)),))


_BREAK = re.compile(r"\s*\n\s*")
_OPENS = re.compile(rf"{BULLET}|{LIST_NUMBER}|{HEADING}|[\w .'-]{{1,30}}: ")
"""The start of a line that is an item, a heading or a turn of a talk."""
_WRAPPED = 60
"""Characters of a line that may have been broken for want of room."""


def _begins(text: str, broken: re.Match[str]) -> bool:
    """Whether a line break ends a sentence. One that stands in the middle of running text does not."""
    if broken.group().count("\n") > 1 or broken.end() == len(text):
        return True
    if text[broken.end()].islower():
        return False
    line = text[text.rfind("\n", 0, broken.start()) + 1 : broken.start()]
    return len(line) < _WRAPPED or line[-1:] in ".!?:;\"')" or bool(_OPENS.match(text, broken.end()))


def read_sentences(text: str, read: Detokenised) -> Iterator[Piece]:
    """Sentences of what was made of `text`; items of a list and lines of a talk are their own."""
    cuts = [broken.end() for broken in _BREAK.finditer(text) if _begins(text, broken)]
    begins = [0, *(bisect_left(read.starts, cut) for cut in cuts), len(read.text)]
    for start, end in pairwise(begins):
        for piece in sentences(read.text[start:end], "line"):
            yield Piece(piece.text, start + piece.start, start + piece.end)


def read_document(text: str) -> tuple[str, ...]:
    """Its sentences; every line ends one."""
    return memory.once(("document", text), lambda: _read_document(text))


def _read_document(text: str) -> tuple[str, ...]:
    lines = (detokenise(line, marks=False) for line in text.split("\n"))
    return tuple(piece.text for line in lines for piece in sentences(line, "line"))


def read_plain(text: str) -> str:
    return memory.once(("plain", text), lambda: detokenise(text, marks=False))


def fact_of(example: Example) -> str:
    """The fact in plain form, without PersonaChat's prefix; empty where there is none."""
    text = (example.context or "").strip()
    return "" if text in NO_FACT else read_plain(text.replace(PERSONA, ""))


def turns_of(example: Example, count: int) -> tuple[str, ...]:
    """The last turns that say something, oldest first."""
    plain = [turn for turn in map(read_plain, example.history or ()) if turn]
    return tuple(plain[-count:])


def references_of(example: Example) -> tuple[str, ...]:
    return tuple(text for text in map(read_plain, example.references) if text)


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = float(sum(weights))
    if total == 0.0:
        return float(sum(values)) / len(values)
    return float(sum(value * weight for value, weight in zip(values, weights, strict=True))) / total
