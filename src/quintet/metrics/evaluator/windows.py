"""Long texts for the judge: windows of whole sentences that overlap, and which of them to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.metrics.evaluator.rarity import word_table
from quintet.metrics.evaluator.reading import Output, memory, read_document
from quintet.models.roles import PairModel
from quintet.text.content_words import content_words, plain_words
from quintet.text.runs import overlapping_runs
from quintet.text.tokens import Piece, whitespace_words

Size = Literal["small", "big"]
SIZES: Mapping[Size, tuple[int, int]] = {"small": (96, 40), "big": (310, 100)}
"""Sub-words of a window, and how many of them it shares with the next."""
USUAL: Size = "big"
"""Signals that look at the same windows share the reading of them."""
MANY = 60
"""So many small windows are too many to look at each: big ones are taken then."""


@dataclass(frozen=True, slots=True)
class Window:
    text: str
    words: frozenset[str]


def document_windows(judge: PairModel, source: str, size: Size = USUAL) -> tuple[Window, ...]:
    """Windows over a document; none for one without a word."""
    key = ("windows", judge.identity, source, size)
    return memory.once(key, lambda: _windows(judge, read_document(source), *SIZES[size]))


def text_windows(judge: PairModel, text: str) -> tuple[Window, ...]:
    """A short text is one window, as it stands; a long one is cut as a document is."""
    if judge.lengths([text])[0] <= SIZES[USUAL][0]:
        return (Window(text, frozenset(plain_words(text))),)
    return document_windows(judge, text)


def choose(text: str, windows: Sequence[Window], count: int) -> list[Window]:
    """The `count` windows that share most with a text, by the rarity of the shared words; 0: all of them."""
    if not count or len(windows) <= count:
        return list(windows)
    table, own = word_table(), set(content_words(text))
    shared = [table.weight(own & window.words) for window in windows]
    best = sorted(range(len(windows)), key=lambda i: (-shared[i], i))[:count]
    return [windows[i] for i in sorted(best)]


def output_pieces(judge: PairModel, output: Output) -> tuple[list[Piece], list[int]]:
    """An output as the judge can take it: whole, or in runs of sentences; and the sub-words of each."""
    whole = Piece(output.text, 0, len(output.text))
    longest = judge.longest_output
    (length,) = judge.lengths([output.text])
    if length <= longest:
        return [whole], [length]
    units, lengths = sentence_units(judge, output)
    runs = overlapping_runs(lengths, longest, 0)
    pieces = [(units[first].start, units[last - 1].end) for first, last in runs]
    return [Piece(output.text[a:b], a, b) for a, b in pieces], [sum(lengths[a:b]) for a, b in runs]


def sentence_units(judge: PairModel, output: Output) -> tuple[list[Piece], list[int]]:
    """The sentences of an output, one that is too long for the judge in several pieces; and the sub-words of each."""
    return fitting(judge, output.sentences, judge.longest_output)


def fitting(judge: PairModel, pieces: Sequence[Piece], size: int) -> tuple[list[Piece], list[int]]:
    """Pieces of at most `size` sub-words, cut between words, inside one only if it alone is too long."""
    found: list[Piece] = []
    lengths: list[int] = []
    for piece, length in zip(pieces, judge.lengths([piece.text for piece in pieces]), strict=True):
        parts = [piece] if length <= size else _cut_piece(judge, piece, size)
        found += parts
        lengths += [length] if length <= size else judge.lengths([part.text for part in parts])
    return found, lengths


def _cut_piece(judge: PairModel, piece: Piece, size: int) -> list[Piece]:
    words = [
        Piece(piece.text[at : min(word.end, at + size)], at, min(word.end, at + size))
        for word in whitespace_words(piece.text)
        # No sub-word is shorter than a character, so so many characters surely fit.
        for at in range(word.start, word.end, size if len(word.text) > size else len(word.text))
    ]
    lengths = judge.lengths([word.text for word in words])
    cut = [(words[first].start, words[last - 1].end) for first, last in overlapping_runs(lengths, size, 0)]
    return [Piece(piece.text[a:b], piece.start + a, piece.start + b) for a, b in cut]


def _windows(judge: PairModel, texts: Sequence[str], size: int, shared: int) -> tuple[Window, ...]:
    pieces, lengths = fitting(judge, [Piece(text, 0, len(text)) for text in texts], size)
    found = []
    for first, last in overlapping_runs(lengths, size, shared):
        text = " ".join(piece.text for piece in pieces[first:last])
        found.append(Window(text, frozenset(plain_words(text))))
    return tuple(found)
