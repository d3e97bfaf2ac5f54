"""The Porter stemmer (1980) with his later amendments and those of NLTK, which rouge-score and METEOR use.

NLTK's additions: a short list of irregular forms, `ies`/`ied` kept as `ie` in words of four letters, `y` to `i` after
any consonant, `alli` and `fulli` undone in step 2, and «vowel, consonant» counted as an ending of kind *o.
"""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
    "cannings": "canning", "canning": "canning", "howe": "howe",
    "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
# Within a step the first suffix that fits decides, whether or not its condition then holds.
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip
_VOWEL_RUN = re.compile("v+c+")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters stay."""
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffixes, _adjectives, _noun_endings, _final_e, _final_ll):
        word = step(word)
    return word


def _shape(word: str) -> str:
    """Consonants and vowels as c and v; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(part: str) -> int:
    """Porter's m: how often vowels are followed by consonants."""
    return len(_VOWEL_RUN.findall(_shape(part)))


def _ends_short(part: str) -> bool:
    """Condition *o: consonant, vowel, consonant other than w, x, y at the end."""
    shape = _shape(part)
    return shape == "vc" or (shape[-3:] == "cvc" and part[-1] not in "wxy")


def _ends_double(part: str) -> bool:
    """Condition *d: the same consonant twice at the end."""
    return len(part) >= 2 and part[-1] == part[-2] and _shape(part)[-1] == "c"


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + ("ie" if len(word) == 4 else "i")
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + ("ie" if len(word) == 4 else "i")
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    part = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _shape(part):
        return word
    if part.endswith(("at", "bl", "iz")):
        return part + "e"
    if _ends_double(part):
        return part if part[-1] in "lsz" else part[:-1]
    return part + "e" if _measure(part) == 1 and _ends_short(part) else part


def _final_y(word: str) -> str:
    part = word[:-1]
    return part + "i" if word.endswith("y") and len(part) > 1 and _shape(part)[-1] == "c" else word


def _double_suffixes(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffixes(word[:-2])
    for suffix, instead in _STEP_2:
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            # Before «logi» the l counts, so that «geology» and «theology» are treated alike.
            return part + instead if _measure(word[:-3] if suffix == "logi" else part) > 0 else word
    return word


def _adjectives(word: str) -> str:
    for suffix, instead in _STEP_3:
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            return part + instead if _measure(part) > 0 else word
    return word


def _noun_endings(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            fits = _measure(part) > 1 and (suffix != "ion" or part[-1] in "st")
            return part if fits else word
    return word


def _final_e(word: str) -> str:
    part = word[:-1]
    if word.endswith("e") and (_measure(part) > 1 or (_measure(part) == 1 and not _ends_short(part))):
        return part
    return word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
