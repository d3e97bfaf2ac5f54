"""Texts as people would have typed them. Every function gives the same again when applied to its own result."""

from __future__ import annotations

import re
from collections.abc import Callable

_QUOTES = str.maketrans({
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "´": "'",
    "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"', "«": '"', "»": '"',
})  # fmt: skip
_DOUBLED = re.compile(r"``|''|` `|' '(?=\s|$)")
_SPACE = re.compile(r"\s+")
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
_BRACKET = re.compile("|".join(_BRACKETS), re.IGNORECASE)


def unify_quotes(text: str) -> str:
    """Curly, low and angled quotes, and the ``…'' of treebanks, become ' and \"."""
    return _until_same(text.translate(_QUOTES), lambda t: _DOUBLED.sub('"', t))


def unify_spaces(text: str) -> str:
    """Runs of any white space become one space; none at the ends."""
    return _SPACE.sub(" ", text).strip()


def detokenise(text: str) -> str:
    """Takes back the spaces a tokenizer put in: `do n't stop , he said .` becomes `don't stop, he said.`"""
    return _until_same(text, _detokenise_once)


def normalize(text: str) -> str:
    """Quotes, spaces and tokenizer traces taken back; words and case stay."""
    return _until_same(text, lambda t: detokenise(unify_spaces(unify_quotes(t))))


# Applied in this order; each rule only takes characters away, so repeating them comes to an end.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r" ?@(-|,|\.|:)@ ?"), r"\1"),  # Moses and WikiText: 1 @,@ 000
    (re.compile(r"(?<=\w) n ' t\b", re.IGNORECASE), "n't"),
    (re.compile(r"(?<=\w) (n't|n’t)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"(?<=\w) ([''’]) ?(s|re|ve|ll|d|m|t)\b(?![''’])", re.IGNORECASE), r"\1\2"),
    (re.compile(r"\b(gon|wan) na\b", re.IGNORECASE), r"\1na"),
    (re.compile(r"\b(got) ta\b", re.IGNORECASE), r"\1ta"),
    (re.compile(r"(?<=[^\s(\[{]) +([,;:!?%)\]}]|\.(?!\d))(?=[\s.,;:!?)\]}\"']|$)"), r"\1"),
    (re.compile(r"([(\[{]|[$£€#](?=\s\d)) +(?=\S)"), r"\1"),
)


def _detokenise_once(text: str) -> str:
    text = _BRACKET.sub(lambda match: _BRACKETS[match.group().lower()], text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _pair_quotes(text)


_BEFORE_OPENING = frozenset(["", *" ([{"])
_AFTER_CLOSING = frozenset(["", *" .,;:!?)]}"])


def _pair_quotes(text: str) -> str:
    """A straight double quote between spaces joins the word it encloses; which side, its number in the text tells."""
    pieces: list[str] = []
    at, opening = 0, True
    for match in re.finditer('"', text):
        place = match.start()
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        if opening and after == " " and before in _BEFORE_OPENING:
            pieces.append(text[at : place + 1])
            at = place + 2
        elif not opening and before == " " and after in _AFTER_CLOSING and place - 1 >= at:
            pieces += [text[at : place - 1], '"']
            at = place + 1
        opening = not opening
    return "".join(pieces) + text[at:]


def _until_same(text: str, step: Callable[[str], str]) -> str:
    while (changed := step(text)) != text:
        text = changed
    return text
