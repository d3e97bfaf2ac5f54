"""How GRUEN cuts a text into sentences: the released code's clean-up, or sentences as they stand."""

from __future__ import annotations

import re
import string

from quintet.text.punkt import RULES, splitter
from quintet.text.tokens import Piece

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER_POINT_NUMBER = re.compile(r"\d+\. \d+")


def released_sentences(text: str, by: str = RULES) -> list[str]:
    """The released code's order of steps: it breaks "U.S." apart and turns 3.5 into UNK."""
    text = text.strip().replace("\n\n", ". ").replace("\n", ". ").replace("..", ".")
    text = text.replace(".", ". ").replace(". . ", ". ").replace(".  . ", ". ")
    while "  " in text:
        text = text.replace("  ", " ")
    while match := _NUMBER_POINT_NUMBER.search(text):
        text = text.replace(match.group(), "UNK")
    return [piece.text for piece in splitter(by)(text.strip()) if has_two_words(piece.text)]


def has_two_words(sentence: str) -> bool:
    """Sentences of one word or none are not judged."""
    return len(sentence.translate(_PUNCTUATION).split()) > 1


def place(text: str, pieces: list[str]) -> list[tuple[int, int]]:
    """Where each sentence stands in `text`, searched in order; (0, 0) where the clean-up changed it."""
    places, start = [], 0
    for sentence in pieces:
        found = text.find(sentence, start)
        if found < 0:
            places.append((0, 0))
            continue
        start = found + len(sentence)
        places.append((found, start))
    return places


def placed_sentences(text: str, cleaned: bool, by: str = RULES) -> list[Piece]:
    """Sentences worth judging with their places: after the released clean-up, or as they stand. `by`: see `punkt`."""
    if not cleaned:
        return [piece for piece in splitter(by)(text) if has_two_words(piece.text)]
    kept = released_sentences(text, by)
    return [Piece(sentence, *where) for sentence, where in zip(kept, place(text, kept), strict=True)]
