"""Which words of another text support a word of the output: evidence for people, beside the numbers of `matching`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.core.example import Example
from quintet.core.score import Span
from quintet.metrics.evaluator.reading import PERSONA, Output, memory, read_plain
from quintet.models.roles import TokenVectors
from quintet.text.content_words import plain_words
from quintet.text.detokenise import detokenise_with_places
from quintet.text.sentences import sentences
from quintet.text.tokens import whitespace_words

Back = Callable[[int, int], tuple[int, int]]
"""A piece of a text in plain form, as (start, end) of the field that the user gave."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Each piece of the output with its nearest in `other`."""

    other: TokenVectors
    nearest: NDArray[np.intp]
    cosine: NDArray[np.float32]
    field: str
    back: Back


def supports(
    output: Output, own: TokenVectors, content: NDArray[np.bool_], found: Sequence[Aligned]
) -> tuple[Span, ...]:
    """One span per word of the output: how near its nearest is, on average over its pieces, and where it stands.

    `content`: the pieces of the output that are of content words; they say where, marks and endings do not.
    """
    spans = []
    for word in whitespace_words(output.text):
        inside = np.flatnonzero((own.starts >= word.start) & (own.starts < word.end))
        if not len(inside) or not plain_words(word.text):
            continue
        inside = inside[content[inside]] if content[inside].any() else inside
        best = max(found, key=lambda aligned: float(aligned.cosine[inside].mean()))
        surest = int(inside[int(best.cosine[inside].argmax())])
        there = best.back(*_whole_word(best.other, int(best.nearest[surest])))
        place = output.span(word.start, word.end, float(best.cosine[inside].mean()), "word")
        spans.append(Span(place.start, place.end, place.value, "word", other=(best.field, *there)))
    return tuple(spans)


def _whole_word(text: TokenVectors, piece: int) -> tuple[int, int]:
    start, end = int(text.starts[piece]), int(text.ends[piece])
    while start > 0 and text.text[start - 1].isalnum() and text.text[start].isalnum():
        start -= 1
    while end < len(text.text) and text.text[end].isalnum() and text.text[end - 1].isalnum():
        end += 1
    return start, end


def plain_back(text: str, offset: int = 0) -> Back:
    """For a text that was only put into plain form; `offset`: where it begins in its field."""
    places = memory.once(("places", text), lambda: detokenise_with_places(text, marks=False))

    def back(start: int, end: int) -> tuple[int, int]:
        first, last = places.span(start, end)
        return offset + first, offset + last

    return back


def document_back(text: str) -> Back:
    """For `" ".join(read_document(text))`."""
    return memory.once(("document places", text), lambda: _document_back(text))


def _document_back(text: str) -> Back:
    begins, pieces, at, offset = [], [], 0, 0
    for line in text.split("\n"):
        places = detokenise_with_places(line, marks=False)
        for piece in sentences(places.text, "line"):
            begins.append(at)
            pieces.append((offset, places, piece.start))
            at += len(piece.text) + 1
        offset += len(line) + 1

    def back(start: int, end: int) -> tuple[int, int]:
        place = max(0, bisect_right(begins, start) - 1)
        line, places, first = pieces[place]
        a = start - begins[place] + first
        found = places.span(a, min(end - begins[place] + first, len(places.text)))
        return line + found[0], line + found[1]

    return back


def fact_back(text: str) -> Back:
    """For `fact_of`: blanks at the ends and PersonaChat's prefixes are gone there."""
    kept = list(_kept(text))
    plain = plain_back("".join(text[i] for i in kept))

    def back(start: int, end: int) -> tuple[int, int]:
        first, last = plain(start, end)
        return kept[first], kept[last - 1] + 1

    return back


def _kept(text: str) -> Iterator[int]:
    at, end = len(text) - len(text.lstrip()), len(text.rstrip())
    while at < end:
        if text.startswith(PERSONA, at, end):
            at += len(PERSONA)
        else:
            yield at
            at += 1


def backs_of(example: Example, beside: str) -> tuple[str, list[Back]]:
    """The field that `matching` looks at, and the way back from each text it was given."""
    if beside == "document":
        return "source", [document_back(example.source or "")]
    if beside == "input":
        return "source", [plain_back(example.source or "")]
    if beside == "fact":
        return "context", [fact_back(example.context or "")]
    field = "references" if beside == "references" else "history"
    texts = example.references if beside == "references" else example.history or ()
    found, offset = [], 0
    for text in texts:
        if read_plain(text):
            found.append(plain_back(text, offset))
        offset += len(text) + 1
    return field, found if beside == "references" else found[-1:]
