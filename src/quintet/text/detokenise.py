"""Tokenised benchmark text and plain text in one form, with the way back to the characters as they were.

`a couple of -LRB- old -RRB- friends , do n't they ?` becomes `a couple of (old) friends, don't they?`; text that is
plain already stays as it is, but for straight quotes, single blanks and tags. Case is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

# Emoji in running text: pictures with their variations, skin tones, joiners and flags.

_PICTURES = (
    "\U0001f000-\U0001faff"
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2b1b\u2b1c\u2b50\u2b55"
    # Of the miscellaneous symbols and dingbats those that Unicode calls emoji: stars, ticks and bullets are text.
    "\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640"
    "\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0"
    "\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea"
    "\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734"
    "\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf"
)
_AFTER = "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""Variation selectors, the frame of a key, skin tones and the letters of a region's flag."""
# What a selector follows was meant as a picture, unless it is a digit or letter: those stay, and lose their frame.
EMOJI = re.compile(
    rf"(?:(?:[{_PICTURES}]|[^\w\s#*\ufe0e\ufe0f](?=\ufe0f))[{_AFTER}]*(?:\u200d(?=[{_PICTURES}])|))+|[{_AFTER}]+"
)


Edit = tuple[int, int, str]
"""text[start:end] becomes the string."""
Step = Callable[[str], Iterable[Edit]]


@dataclass(frozen=True, slots=True)
class Detokenised:
    text: str
    starts: tuple[int, ...]
    """For each character of `text`: where what it stands for begins in the original, and where it ends."""
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """text[start:end] in the original."""
        return (self.starts[start], self.ends[end - 1]) if end > start else (0, 0)


def detokenise(text: str, marks: bool = True) -> str:
    """The text alone, where nobody needs the places."""
    for step in _STEPS if marks else _WITHOUT_MARKS:
        edits = list(step(text))
        if edits:
            text = _apply(text, edits)
    return text


def detokenise_with_places(text: str, marks: bool = True) -> Detokenised:
    """`marks`: whether emoji and the marks of lists, headings and emphasis stay; no model of ours knows what they
    say."""
    starts, ends = list(range(len(text))), list(range(1, len(text) + 1))
    for step in _STEPS if marks else _WITHOUT_MARKS:
        edits = list(step(text))
        if edits:
            starts, ends = _moved(text, edits, starts, ends)
            text = _apply(text, edits)
    return Detokenised(text, tuple(starts), tuple(ends))


def _apply(text: str, edits: list[Edit]) -> str:
    parts, at = [], 0
    for start, end, new in edits:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _moved(text: str, edits: list[Edit], starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """Places after the edits. A character that survives keeps its own; one that is new stands for the whole match."""
    new_starts: list[int] = []
    new_ends: list[int] = []
    at = 0
    for start, end, new in edits:
        new_starts += starts[at:start]
        new_ends += ends[at:start]
        old = start
        for character in new:
            found = text.find(character, old, end)
            if found >= 0:
                new_starts.append(starts[found])
                new_ends.append(ends[found])
                old = found + 1
            else:
                new_starts.append(starts[start])
                new_ends.append(ends[end - 1])
        at = end
    return new_starts + starts[at:], new_ends + ends[at:]


def _replace(pattern: str | re.Pattern[str], new: str | Callable[[re.Match[str]], str], flags: int = 0) -> Step:
    compiled = re.compile(pattern, flags)
    if isinstance(new, str):
        return lambda text: [(m.start(), m.end(), m.expand(new)) for m in compiled.finditer(text)]
    return lambda text: [(m.start(), m.end(), new(m)) for m in compiled.finditer(text)]


_ENTITIES = {"&#x27;": "'", "&quot;": '"', "&amp;": "&"}


def _strip(text: str) -> list[Edit]:
    left, right = len(text) - len(text.lstrip()), len(text.rstrip())
    if right <= left:
        return [(0, len(text), "")] if text else []
    return [edit for edit in ((0, left, ""), (right, len(text), "")) if edit[0] < edit[1]]


_DOUBLE_QUOTE = re.compile("``|''|[\u201c\u201d\"]")
_OPENING, _CLOSING = ("``", "\u201c"), ("''", "\u201d")


def _straight_quotes(text: str) -> list[Edit]:
    """Double quotes become straight ones and move to what they enclose, if it can be told on which side that is.
    Blanks are single and inside the text here."""
    marks = list(_DOUBLE_QUOTE.finditer(text))
    edits: list[Edit] = []
    done = 0
    for mark, side in zip(marks, _sides(text, marks), strict=True):
        start, end = mark.span()
        if side == "closes" and start > done and text[start - 1] == " ":
            start -= 1
        done = end + 1 if side == "opens" and text[end : end + 1] == " " else end
        if (start, done, mark.group()) != (*mark.span(), '"'):
            edits.append((start, done, '"'))
    return edits


def _sides(text: str, marks: list[re.Match[str]]) -> list[str]:
    """Whether each double quote opens or closes; "" where nothing tells.

    A quote that touches the word after it opens, and forms (`` or '') tell where they make sense: some tokenisers write
    every quote in one form, or the wrong one. The rest alternate; an odd number with nothing to go by stays.
    """
    shown = [
        form if _between_blanks(text, mark) else _touching(text, mark)
        for mark, form in zip(marks, _forms(marks), strict=True)
    ]
    if len(marks) % 2 and not any(shown):
        return [""] * len(marks)
    sides = []
    inside = False
    for place, side in enumerate(shown):
        following = shown[place + 1] if place + 1 < len(shown) else "opens"
        if not side and (inside or following != "opens"):
            side = "closes" if inside else "opens"
        inside = side == "opens" if side else inside
        sides.append(side)
    return sides


def _forms(marks: list[re.Match[str]]) -> list[str]:
    """The side that each form stands for; "" for straight quotes, and for all if one form is missing or one closes
    what nothing has opened."""
    forms = ["opens" if mark[0] in _OPENING else "closes" if mark[0] in _CLOSING else "" for mark in marks]
    told = [form for form in forms if form]
    sound = "closes" in told and told[0] == "opens" and ("closes", "closes") not in pairwise(told)
    return forms if sound else [""] * len(marks)


def _touching(text: str, mark: re.Match[str]) -> str:
    """Of a quote that touches something; one with a word before it and a blank after it may be either."""
    before, after = text[max(0, mark.start() - 1) : mark.start()], text[mark.end() : mark.end() + 1]
    if before in ("", " ") or (before in "([{-/:" and after != " "):
        return "opens"
    return "" if after == " " else "closes"


def _between_blanks(text: str, mark: re.Match[str]) -> bool:
    """Marks that end a sentence or a phrase count as blanks: they are closed up later."""
    start, end = mark.span()
    return (start == 0 or text[start - 1] == " ") and (end == len(text) or text[end] in " ,.;:!?)]")


_STEPS: tuple[Step, ...] = (
    _replace(r"</?[a-z]+>|&#x27;|&quot;|&amp;", lambda match: _ENTITIES.get(match.group(), " ")),
    _replace(r"-LRB-|-lrb-", "("),
    _replace(r"-RRB-|-rrb-", ")"),
    _replace(r"-LSB-|-lsb-", "["),
    _replace(r"-RSB-|-rsb-", "]"),
    _replace("[\u2013\u2014]", "-"),
    _replace(r"\s{2,}|[^\S ]", " "),
    _strip,
    _straight_quotes,
    _replace("[\u2018\u2019\u02bc`]", "'"),
    _replace(r"\b(ca|wo|sha) n't\b", r"\1n't", re.IGNORECASE),
    _replace(r"\b(\w+) (?:n't|n 't)\b", r"\1n't", re.IGNORECASE),
    _replace(r" ('(?:s|re|ve|ll|d|m|t))\b", r"\1", re.IGNORECASE),
    _replace(r"(\w) ' (s|re|ve|ll|d|m|t)\b", r"\1'\2", re.IGNORECASE),
    # Endings that some data-to-text corpora write as tokens: `moderate -ly priced hotel -s`.
    _replace(r"(?<=[a-z]) -(s|ly)(?![\w'-])", r"\1", re.IGNORECASE),
    _replace(r" +([,.;:!?%)\]])", r"\1"),
    _replace(r"([(\[$#]) +", r"\1"),
)
BULLET = r"[-*+\u2022\u2023\u25e6\u25aa\u25cf\u2013\u2014\u00b7>][^\S\n]+"
LIST_NUMBER = r"\(?\d{1,2}[.)][^\S\n]+"
HEADING = r"#{1,6}[^\S\n]+"
"""What may stand at the beginning of a line, before what it says."""
_NUMBERED = re.compile(rf"^[^\S\n]*{LIST_NUMBER}(?=\S)", re.MULTILINE)


def _without_numbers(text: str) -> list[Edit]:
    """List numbers, where there are at least two: one alone may open a sentence."""
    found = list(_NUMBERED.finditer(text))
    return [(match.start(), match.end(), "") for match in found] if len(found) > 1 else []


_WITHOUT_MARKS: tuple[Step, ...] = (
    # A heading announces what follows.
    _replace(rf"^[^\S\n]*{HEADING}(\S[^\n]*?)[ :]*$", r"\1:", re.MULTILINE),
    _replace(r"^[^\S\n]*\*\*(\S[^*\n]*?)[ :]*\*\*[ :]*$", r"\1:", re.MULTILINE),
    _replace(rf"^[^\S\n]*{BULLET}(?=\S)", "", re.MULTILINE),
    _without_numbers,
    _replace(r"(\*\*|__)(?=[^\s*_])([^*_\n]+)(?<=\S)\1", r"\2"),
    _replace(EMOJI, " "),
    *_STEPS,
)
