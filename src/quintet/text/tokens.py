"""Words with the place where they stand."""

from __future__ import annotations

import re
from typing import NamedTuple


class Piece(NamedTuple):
    """A stretch of a text: `text == whole[start:end]`."""

    text: str
    start: int
    end: int


# Python's \w knows letters and digits but not combining marks, without which Hindi or vocalised Arabic words fall
# apart; scripts that write no spaces are cut into single characters, as sacrebleu's zh tokenizer does.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0903\u093a-\u093c"
    "\u093e-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0983\u09bc-\u09d7\u0a00-\u0a03\u0a3c-\u0a51\u0abc-\u0acd"
    "\u0b3c-\u0b57\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57"
    "\u0d81-\u0d83\u0dca-\u0df3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f"
)
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER = rf"(?:(?![{_SPACELESS}])[\w{_MARKS}])"
_WORD = re.compile(
    rf"""
      \d+(?:[.,:/]\d+)+                             # 3.14, 1,000, 12:30
    | (?:[^\W\d_]\.){{2,}}                          # U.S., e.g.
    | {_LETTER}+(?:['’\-\u2010\u2011]{_LETTER}+)*   # don't, well-known
    | [{_SPACELESS}]
    | (?P<mark>[.]{{2,}}|[^\w\s])                   # punctuation and symbols, an ellipsis in one piece
    """,
    re.VERBOSE,
)
_CHUNK = re.compile(r"\S+")


def words(text: str, punctuation: bool = False) -> list[Piece]:
    """Words of any script; with `punctuation`, marks and symbols are pieces too."""
    return [
        Piece(match.group(), match.start(), match.end())
        for match in _WORD.finditer(text)
        if punctuation or match.lastgroup is None
    ]


def whitespace_words(text: str) -> list[Piece]:
    """What `text.split()` gives, with places."""
    return [Piece(match.group(), match.start(), match.end()) for match in _CHUNK.finditer(text)]
