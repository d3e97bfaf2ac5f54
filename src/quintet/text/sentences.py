"""Where English sentences begin and end: rules, no model, linear time.

A sentence ends at a run of `. ! ? …` with the quotes and brackets that close after it, if white space or the end of
the text follows. The rest of this module says when it does not: abbreviations, initials, list numbers, ellipses that
trail on, quotations that a speaker is hung on. Benchmarks hold much lower-case text with spaces around every mark
(` . `, ` '' `), where case says nothing; there a free-standing period always ends a sentence.
"""

from __future__ import annotations

import re
from typing import Literal

from quintet.text.tokens import Piece

# English abbreviations that end in a period, and words that tell whether a sentence ended there. Lower case.


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


BEFORE_NAME: frozenset[str] = _words("""
    mr mrs ms mx dr prof gen sen rep reps sens gov lt col sgt cpl pvt capt cmdr cdr adm maj brig rev hon fr st ste mt
    messrs mme mlle supt insp det pres amb sec treas dir atty
""")
"""Stand before a name: a sentence almost never ends here."""

BEFORE_NUMBER: frozenset[str] = _words("no nos fig figs eq eqs ch chap pp vol vols art ver approx ca")
"""Stand before a number: abbreviations only if one follows."""

INSIDE: frozenset[str] = frozenset(["e.g", "i.e", "vs", "cf", "viz", "al", "w.va", "ie", "eg"])
"""Stand in the middle of a sentence, whatever follows."""

ANYWHERE: frozenset[str] = _words("""
    inc corp co cos ltd llc plc bros jr sr esq etc ph.d m.d b.a m.a dept univ assn bldg ave blvd rd ln hwy apt est
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ala ariz ark calif colo conn del fla ga ill ind kan ky la md mass mich minn miss mo mont neb nev okla ore pa tenn
    tex vt va wash wis wyo ont que penn ft yr yrs hr hrs min mins lb lbs oz mph km kg cm mm sq tel ext ed eds trans
    a.m p.m u.s u.k u.n u.s.a u.s.s.r d.c a.d b.c c.e e.u
""")
"""May also end a sentence: the next word decides."""

ALSO_WORDS: frozenset[str] = _words("""
    art ark ed est ext fig ga ill in ind la mar mass min mins miss mo no nos oz pa que sat sec sun wash wed mon
""")
"""Abbreviations that are ordinary words too, so that lower case before them says nothing."""

AFTER_TIME: frozenset[str] = _words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december est edt et cst cdt ct mst mdt mt pst pdt pt gmt bst utc cet eastern pacific
    central local
""")
"""Follow `p.m.` within a sentence although capitalised."""

STARTERS: frozenset[str] = _words("""
    the a an this that these those he she it they we you i his her its their our my your there here who what when
    where why how which if although though while since because after before during despite until unless once as in on
    at for from with by to of under over among between within without but and or so yet nor however also then thus
    therefore moreover meanwhile nevertheless nonetheless instead still indeed similarly perhaps maybe now later today
    yesterday last next some many most both all each every several few more no not one two three another other such
    even just only according is are was were do does did can could will would should may might have has had let please
    yes i'm it's he's she's that's there's they're we're i've i'll don't didn't what's
""")
"""Capitalised after an abbreviation they open a sentence; names do not."""

SPEECH: frozenset[str] = _words("""
    said says say asked asks ask replied replies answered added adds told tells wrote writes shouted cried exclaimed
    whispered yelled wondered wonders thought asserted insisted declared explained continued joked quipped demanded
""")
"""Verbs that hang a quotation on its speaker: “Why?” he asked."""


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
    return any(word.strip(".,:;!?") in SPEECH for word in text[close : min(end, close + 60)].split()[:3])


def _period_ends_sentence(text: str, start: int, at: int, close: int, following: str) -> bool:
    """Whether the single period at `at` ends a sentence before the word `following`."""
    chunk = text[max(start, at - _LAST_WORD) : at]
    if not chunk or chunk[-1].isspace():
        return True
    last = chunk.split()[-1].lstrip("(\"'“‘[{<`*").rpartition("-")[2]
    word = last.lower()
    capital = following[0].isupper()
    starter = capital and following.rstrip(".,:;!?").lower().replace("’", "'") in STARTERS
    if word in INSIDE:
        return False
    if word in BEFORE_NAME and (last[:1].isupper() or not capital) and word not in {"sec", "dir"}:
        return starter and word == "st" and following.lower() not in {"a", "one"}
    if word in BEFORE_NUMBER and following[0].isdigit():
        return False
    if last.isdigit():
        # «1. Wash it. 2. Dry it.»: a short number alone at the start counts the items of a list.
        return len(last) > 2 or text[max(start, at - _LAST_WORD) : at].strip("(*# \t\n") != last
    if len(last) == 1 and last.isalpha():
        return _initial_ends_sentence(chunk, last, starter, following)
    if word in {"a.m", "p.m"}:
        return capital and following.rstrip(".,;:").lower() not in AFTER_TIME
    if word == "etc":
        return capital
    if _ACRONYM.fullmatch(last) or word in ANYWHERE:
        if word in ALSO_WORDS and not last[0].isupper():
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
