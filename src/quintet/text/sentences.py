"""Where English sentences begin and end: rules, no model, linear time.

A sentence ends at a run of `. ! ? …` with the quotes and brackets that close after it, if white space or the end of
the text follows. The rest of this module says when it does not: abbreviations, initials, list numbers, ellipses that
trail on, quotations that a speaker is hung on. Benchmarks hold much lower-case text with spaces around every mark
(` . `, ` '' `), where case says nothing; there a free-standing period always ends a sentence.
"""

from __future__ import annotations

import re
from typing import Literal

from quintet.text import abbreviations
from quintet.text.tokens import Piece

Newlines = Literal["space", "paragraph", "line"]
"""What ends a sentence beside punctuation: nothing, an empty line, or every line break."""

_STOP = re.compile(r"[.!?…]+(?:[ \t]+[.!?…]+(?=\s|$))*|[。！？]+")
_CLOSED = re.compile(r"""(?:''|["'”’»)\]}])*(?:[^\S\n]+(?:''|[”’»)\]}]|-r[rsc]b-)(?=\s|$))*""", re.IGNORECASE)
_SPACED_QUOTE = re.compile(r"""[^\S\n]+["'](?=\s|$)""")
_NEXT = re.compile(r"""\s+(?:(?:-l[rsc]b-|["'“‘«(\[{<*_#`\-–—•])\s*)*([^\s"”’)\]}]{0,40})""", re.IGNORECASE)
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_LAST_WORD = 40
"""Characters looked at before a period; no abbreviation is longer."""
_QUOTED = 2000
"""Characters looked back for an open quote. Bounds like these keep the time linear on any text."""
_BREAKS = {"paragraph": re.compile(r"\n[^\S\n]*\n\s*"), "line": re.compile(r"\s*\n\s*"), "space": re.compile(r"(?!)")}


def sentences(text: str, newlines: Newlines = "paragraph") -> list[Piece]:
    """Sentences in order, without the white space between them; none for a text without a visible character."""
    found: list[Piece] = []
    begin = 0
    for hard in _BREAKS[newlines].finditer(text):
        found += _paragraph(text, begin, hard.start())
        begin = hard.end()
    return found + _paragraph(text, begin, len(text))


def _paragraph(text: str, begin: int, end: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = begin
    search = begin
    while stop := _STOP.search(text, search, end):
        close = _closing(text, start, stop.end(), end)
        search = max(close, stop.end())
        if _ends_sentence(text, start, stop, close, end):
            _keep(pieces, text, start, search)
            start = search
    _keep(pieces, text, start, end)
    return pieces


def _keep(pieces: list[Piece], text: str, start: int, end: int) -> None:
    """Adds text[start:end]; marks without a letter or digit belong to the sentence before them."""
    body = text[start:end]
    visible = body.strip()
    if not visible:
        return
    first = start + body.index(visible[0])
    last = first + len(visible)
    if pieces and len(visible) < _LAST_WORD and not any(map(str.isalnum, visible)):
        before = pieces.pop()
        pieces.append(Piece(text[before.start : last], before.start, last))
    else:
        pieces.append(Piece(visible, first, last))


def _closing(text: str, start: int, at: int, end: int) -> int:
    """End of the quotes and brackets that close after the stop at `at`."""
    closed = _CLOSED.match(text, at, end)
    at = closed.end() if closed else at
    spaced = _SPACED_QUOTE.match(text, at, end)
    # A straight double quote between spaces closes if the sentence opened one; a single one opens too rarely to count.
    if spaced and (spaced.group()[-1] == "'" or text.count('"', max(start, at - _QUOTED), at) % 2 == 1):
        return spaced.end()
    return at


def _ends_sentence(text: str, start: int, stop: re.Match[str], close: int, end: int) -> bool:
    mark = stop.group()
    if mark[0] in "。！？":
        return True
    if close < end and not text[close].isspace():
        return False
    following = _NEXT.match(text, close, end)
    word = following.group(1) if following else ""
    if not word:
        return close >= end or text[close:end].isspace() or _only_marks_follow(text, close, end)
    if word[0] in ",;:.!?%":
        return False
    lower = word[0].islower()
    if lower and mark[-1] in "!?" and any(quote in text[stop.end() : close] for quote in "\"'”’»"):
        return not _hangs_on_speaker(text, start, close, end)
    if "…" in mark or mark.count(".") > 1:
        # Lower case, digits and «I» say nothing of a new sentence.
        return "?" in mark or "!" in mark or not (lower or word[0].isdigit() or re.match(r"I\b", word))
    if mark != ".":
        return True
    return _period_ends_sentence(text, start, stop.start(), close, word)


def _only_marks_follow(text: str, close: int, end: int) -> bool:
    """The next thing is no word but, say, a symbol: good enough to end a sentence before it."""
    following = text[close : min(end, close + 8)].lstrip()
    return bool(following) and following[0] not in ",;:)]}"


def _hangs_on_speaker(text: str, start: int, close: int, end: int) -> bool:
    """“Why?” he asked: one sentence. In text without capitals only a verb of speech within three words tells."""
    if any(map(str.isupper, text[max(start, close - _QUOTED) : close])):
        return True
    return any(word.strip(".,:;!?") in abbreviations.SPEECH for word in text[close : min(end, close + 60)].split()[:3])


def _period_ends_sentence(text: str, start: int, at: int, close: int, following: str) -> bool:
    """Whether the single period at `at` ends a sentence before the word `following`."""
    chunk = text[max(start, at - _LAST_WORD) : at]
    if not chunk or chunk[-1].isspace():
        return True
    last = chunk.split()[-1].lstrip("(\"'“‘[{<`*").rpartition("-")[2]
    word = last.lower()
    capital = following[0].isupper()
    starter = capital and following.rstrip(".,:;!?").lower().replace("’", "'") in abbreviations.STARTERS
    if word in abbreviations.INSIDE:
        return False
    if word in abbreviations.BEFORE_NAME and (last[:1].isupper() or not capital) and word not in {"sec", "dir"}:
        return starter and word == "st" and following.lower() not in {"a", "one"}
    if word in abbreviations.BEFORE_NUMBER and following[0].isdigit():
        return False
    if last.isdigit():
        # «1. Wash it. 2. Dry it.»: a short number alone at the start counts the items of a list.
        return len(last) > 2 or text[max(start, at - _LAST_WORD) : at].strip("(*# \t\n") != last
    if len(last) == 1 and last.isalpha():
        return _initial_ends_sentence(chunk, last, starter, following)
    if word in {"a.m", "p.m"}:
        return capital and following.rstrip(".,;:").lower() not in abbreviations.AFTER_TIME
    if word == "etc":
        return capital
    if _ACRONYM.fullmatch(last) or word in abbreviations.ANYWHERE:
        if word in abbreviations.ALSO_WORDS and not last[0].isupper():
            return True
        return starter
    # «12 sqft. each»: a unit after a number, known or not.
    before = chunk.split()[-2:-1]
    return capital or not (before and before[0].isdigit() and word.isalpha() and not set(word) & set("aeiouy"))


def _initial_ends_sentence(before: str, letter: str, starter: bool, following: str) -> bool:
    """«J. Smith» goes on; «So do I. The» and «vitamin C. It» end; a lower-case letter alone is a name in lower case."""
    if not starter or following.lower() in {"a", "i"}:
        return letter == "I" and following[0].isupper() and before[-3:-1].strip().islower()
    words_before = before[:-1].split()
    # Initials come in rows and after capitals: «George W. In»… is rarer than «Plan B. In».
    return bool(words_before) and (words_before[-1].islower() or letter == "I")
