"""Whether a text is plainly not English: by its letters, or by the small words that stand in it."""

from __future__ import annotations

import re

_READ = 4000
"""Characters looked at; a language shows soon."""
_LATIN_ENDS = "\u024f"
_LEAST_LETTERS, _LEAST_WORDS = 12, 3
_SHARE = 0.12
"""Small words make a third of running text; lists of names have few in any language."""
_WORDS = re.compile(r"[^\W\d_]+")
_SMALL_ENGLISH = """
the of and to in is it that for on was with as he she at by this are be or from not have has had you we they his her its
an but which what who will would there their been were can all one said more about when up out if so
"""
_SMALL_OTHERS = """
der das und ist nicht ein eine einen einer zu mit von auf für dem im sich auch wird wurde bei nach aus hat sind
le les des et est une un du que qui dans pour pas sur au aux avec plus cette été sont ne ce il elle
el las del y es por con para se su al lo como más una unos fue ha muy di che non per della sono nel alla gli
os uma não em ao dos das é foi het een van niet op zijn voor och att som det en på av för til og af ikke jeg
nie się jest na że w z je že ve bir bu için și în este cu
"""
"""German; French; Spanish, Italian; Portuguese, Dutch, Nordic; Polish, Czech, Turkish, Romanian. No English words."""
_ENGLISH, _OTHERS = frozenset(_SMALL_ENGLISH.split()), frozenset(_SMALL_OTHERS.split())


def plainly_not_english(text: str) -> bool:
    part = text[:_READ]
    letters = [character for character in part if character.isalpha()]
    if len(letters) < _LEAST_LETTERS:
        return False
    if sum(character > _LATIN_ENDS for character in letters) > len(letters) / 2:
        return True
    words = [word.lower() for word in _WORDS.findall(part)]
    english, other = sum(word in _ENGLISH for word in words), sum(word in _OTHERS for word in words)
    return other >= _LEAST_WORDS and other > 2 * english and other >= _SHARE * len(words)
