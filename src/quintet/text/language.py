"""Which language a text is in, where it is not plainly English."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import cast

from quintet.text.content_words import STOP, plain_words

SHORTEST = 12
"""Letters of the Latin alphabet without which no language is named."""
LONGEST = 2000
"""Characters that are looked at."""
SURE = 0.8
ENGLISH = 0.2
"""A text of which so many words are English function words is English; nothing more is asked then."""


def other_language(text: str) -> str:
    """The code of the language a text is in (`de`), empty for English and where one cannot tell."""
    text = text[:LONGEST]
    words = plain_words(text)
    if words and sum(word in STOP for word in words) >= ENGLISH * len(words):
        return ""
    letters = sum(map(str.isalpha, text))
    latin = sum(character.isascii() and character.isalpha() for character in text)
    by_letters = latin <= letters / 2
    if letters < (2 if by_letters else SHORTEST) or not _prose(text):
        return ""
    found, chance = classifier()(text)
    return found if found != "en" and (by_letters or chance >= SURE) else ""


def _prose(text: str) -> bool:
    """Records, code and lists of names are in no language."""
    signs = sum(character in "[](){}<>=_|;/\\#*" for character in text)
    return signs < len(text) / 25


@lru_cache(maxsize=1)
def classifier() -> Callable[[str], tuple[str, float]]:
    """Of a text its language, as two letters, and how likely that is."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # One of our own: probabilities are asked for, and no other user of the library can narrow the languages.
    classify = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True).classify
    return cast(Callable[[str], tuple[str, float]], classify)
