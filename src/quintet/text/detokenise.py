"""Tokenised benchmark text and plain text in one form, with the way back to the characters as they were.

`a couple of -LRB- old -RRB- friends , do n't they ?` becomes `a couple of (old) friends, don't they?`; text that is
plain already stays as it is, but for straight quotes, single blanks and tags. Case is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quintet.text.emoji import EMOJI

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


def detokenise(text: str, emoji: bool = True) -> str:
    """The text alone, where nobody needs the places."""
    for step in _STEPS if emoji else _WITHOUT_EMOJI:
        edits = list(step(text))
        if edits:
            text = _apply(text, edits)
    return text


def detokenise_with_places(text: str, emoji: bool = True) -> Detokenised:
    """`emoji`: whether they stay; no model of ours knows what they say."""
    starts, ends = list(range(len(text))), list(range(1, len(text) + 1))
    for step in _STEPS if emoji else _WITHOUT_EMOJI:
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


def _close_quotes(text: str) -> list[Edit]:
    """Double quotes stand close to what they enclose, by parity; an odd number is left alone."""
    marks = [match.start() for match in re.finditer('"', text)]
    if len(marks) % 2:
        return []
    edits: list[Edit] = []
    for opening, closing in zip(marks[::2], marks[1::2], strict=True):
        inside = text[opening + 1 : closing]
        left = len(inside) - len(inside.lstrip())
        right = len(inside.rstrip())
        spots = ((0, left), (right, len(inside))) if right > left else ((0, len(inside)),)
        edits += [(opening + 1 + a, opening + 1 + b, "") for a, b in spots if a < b]
    return edits


_STEPS: tuple[Step, ...] = (
    _replace(r"</?[a-z]+>|&#x27;|&quot;|&amp;", lambda match: _ENTITIES.get(match.group(), " ")),
    _replace(r"-LRB-|-lrb-", "("),
    _replace(r"-RRB-|-rrb-", ")"),
    _replace(r"-LSB-|-lsb-", "["),
    _replace(r"-RSB-|-rsb-", "]"),
    _replace(r"``|''", '"'),
    _replace("[\u2018\u2019\u02bc`]", "'"),
    _replace("[\u201c\u201d]", '"'),
    _replace("[\u2013\u2014]", "-"),
    _replace(r"\s{2,}|[^\S ]", " "),
    _strip,
    _replace(r"\b(ca|wo|sha) n't\b", r"\1n't", re.IGNORECASE),
    _replace(r"\b(\w+) (?:n't|n 't)\b", r"\1n't", re.IGNORECASE),
    _replace(r" ('(?:s|re|ve|ll|d|m|t))\b", r"\1", re.IGNORECASE),
    _replace(r"(\w) ' (s|re|ve|ll|d|m|t)\b", r"\1'\2", re.IGNORECASE),
    _close_quotes,
    _replace(r" +([,.;:!?%)\]])", r"\1"),
    _replace(r"([(\[$#]) +", r"\1"),
)
_WITHOUT_EMOJI: tuple[Step, ...] = (_replace(EMOJI, " "), *_STEPS)
