"""Edits that make a true sentence false or unsupported, with the characters they touched; edits that keep it true."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import NamedTuple

from quintet.text.content_words import STOP, is_content, plain_words

_NAME = re.compile(
    r"\b(?:[A-Z][a-z]+|[A-Z]{2,}|[A-Z][a-z]*[A-Z]\w*)(?:[ -](?:[A-Z][a-z]+|[A-Z]{2,}|of|de|van|al)(?= |\b))*"
    r"(?:[ -][A-Z][a-z]+)?"
)
_NUMBER = re.compile(
    r"\b\d[\d,.:]*\d|\b\d\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|"
    r"hundred|thousand|million|first|second|third|fourth|half)\b"
)
_AUXILIARY = re.compile(
    r"\b(is|was|are|were|will|has|have|had|can|could|would|should|does|did|do|may|might)\b(?! not|n't)", re.IGNORECASE
)
_NOT = re.compile(r" not\b|n't\b")
_PREPOSITIONAL = re.compile(
    r"\b(?:in|at|on|for|with|after|from|by|during|against|near) (?:the |a |his |her |their )?(?:[\w'-]+ ){0,3}[\w'-]+"
    r"(?=[,.;]| and | but |$)"
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty",
    "forty", "fifty",
)  # fmt: skip
_OPPOSITE_PAIRS = """
increase/decrease increased/decreased rise/fall rose/fell rising/falling win/lose won/lost winning/losing beat/lost_to
support/oppose supported/opposed accept/reject accepted/rejected more/less most/least before/after first/last high/low
higher/lower highest/lowest good/bad better/worse best/worst up/down old/new young/old male/female man/woman men/women
boy/girl boys/girls son/daughter father/mother brother/sister husband/wife he/she his/her north/south east/west
northern/southern eastern/western open/close opened/closed start/end started/ended began/ended begin/finish alive/dead
guilty/innocent arrested/released agreed/refused agree/disagree approved/denied approve/deny confirmed/denied allow/ban
allowed/banned always/never all/none everyone/nobody many/few success/failure successful/failed early/late earlier/later
hot/cold big/small large/small larger/smaller long/short public/private local/national rich/poor safe/dangerous
happy/sad love/hate loves/hates loved/hated like/dislike buy/sell bought/sold borrow/lend found/lost gained/lost
inside/outside above/below left/right day/night morning/evening easy/difficult cheap/expensive strong/weak
return/leave returned/left arrive/depart arrived/departed include/exclude attack/defend attacked/defended
employer/employee teacher/student hospital/prison police/army president/minister
"""


def _opposites() -> dict[str, str]:
    out: dict[str, str] = {}
    for pair in _OPPOSITE_PAIRS.split():
        one, other = pair.replace("_", " ").split("/")
        out.setdefault(one, other)
        out.setdefault(other, one)
    return out


OPPOSITES = _opposites()


class Named(NamedTuple):
    start: int
    end: int
    text: str


class Edited(NamedTuple):
    text: str
    wrong: tuple[tuple[int, int], ...]
    """Characters that no longer hold."""


@dataclass(frozen=True)
class Donors:
    """What other texts lend to an edit."""

    names: Sequence[str] = ()
    numbers: Sequence[str] = ()
    phrases: Sequence[str] = ()
    similar: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words of the same kind, by lower-case word."""


def names(text: str) -> list[Named]:
    """Runs of capitalised words, but for the first word of a sentence where it may be an ordinary one."""
    out = []
    for match in _NAME.finditer(text):
        found = match.group()
        first = found.split()[0].lower()
        before = text[max(0, match.start() - 2) : match.start()].strip()
        begins = match.start() == 0 or before in (".", "!", "?", '"', "")
        if begins and (first in STOP or (" " not in found and len(found) < 4)):
            continue
        if found in DAYS or found in MONTHS or first in STOP:
            continue
        out.append(Named(match.start(), match.end(), found))
    return out


def numbers(text: str) -> list[str]:
    return [match.group() for match in _NUMBER.finditer(text)]


def phrases(text: str) -> list[str]:
    """Prepositional phrases of two to six words."""
    return [match.group() for match in _PREPOSITIONAL.finditer(text) if 2 <= len(match.group().split()) <= 6]


def _put(text: str, start: int, end: int, new: str) -> Edited:
    return Edited(text[:start] + new + text[end:], ((start, start + len(new)),))


def _other_name(text: str, rng: Random, donors: Donors) -> Edited | None:
    found = names(text)
    if not found:
        return None
    start, end, own = rng.choice(found)
    others = [name for name in donors.names if name != own and name not in text and own not in name]
    return _put(text, start, end, rng.choice(others)) if others else None


def _other_number(text: str, rng: Random, donors: Donors) -> Edited | None:
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    old = match.group()
    if not old[0].isdigit():
        new = rng.choice([word for word in NUMBER_WORDS if word != old])
        return _put(text, match.start(), match.end(), new)
    others = [number for number in donors.numbers if number[0].isdigit() and number != old]
    if others and rng.random() < 0.5:
        new = rng.choice(others)
    else:
        place = rng.choice([index for index, letter in enumerate(old) if letter.isdigit()])
        new = old[:place] + rng.choice([digit for digit in "123456789" if digit != old[place]]) + old[place + 1 :]
    return _put(text, match.start(), match.end(), new)


def _negate(text: str, rng: Random, donors: Donors) -> Edited | None:
    auxiliaries = list(_AUXILIARY.finditer(text))
    denied = _NOT.search(text)
    if denied and rng.random() < 0.5 and "can't" not in text and "won't" not in text:
        out = text[: denied.start()] + text[denied.end() :]
        return Edited(out, ((max(0, denied.start() - 4), min(len(out), denied.start() + 6)),))
    if not auxiliaries:
        return None
    match = rng.choice(auxiliaries)
    out = text[: match.end()] + " not" + text[match.end() :]
    return Edited(out, ((match.start(), match.end() + 4),))


def _opposite(text: str, rng: Random, donors: Donors) -> Edited | None:
    found = [match for match in re.finditer(r"[A-Za-z]+", text) if match.group().lower() in OPPOSITES]
    if not found:
        return None
    match = rng.choice(found)
    return _put(text, match.start(), match.end(), OPPOSITES[match.group().lower()])


def _similar_word(text: str, rng: Random, donors: Donors) -> Edited | None:
    """A word of the same kind, as a language model would slip in."""
    if not donors.similar:
        return None
    found = [
        match
        for match in re.finditer(r"\b[a-z]{4,}\b", text)
        if match.group() in donors.similar and match.group() not in STOP
    ]
    if not found:
        return None
    match = rng.choice(found)
    return _put(text, match.start(), match.end(), rng.choice(donors.similar[match.group()]))


def _swap_names(text: str, rng: Random, donors: Donors) -> Edited | None:
    found = names(text)
    if len(found) < 2:
        return None
    one, other = sorted(rng.sample(found, 2))
    if one.text == other.text or one.end > other.start:
        return None
    out = text[: one.start] + other.text + text[one.end : other.start] + one.text + text[other.end :]
    first = one.start + len(other.text)
    second = first + other.start - one.end
    return Edited(out, ((one.start, first), (second, second + len(one.text))))


def _add_phrase(text: str, rng: Random, donors: Donors) -> Edited | None:
    if not donors.phrases:
        return None
    phrase = rng.choice(donors.phrases)
    if phrase.lower() in text.lower():
        return None
    base = text.rstrip()
    mark = base[-1:] if base[-1:] in (".", "!", "?") else ""
    stem = base[: len(base) - len(mark)]
    start = len(stem) + 1
    return Edited(f"{stem} {phrase}{mark}", ((start, start + len(phrase)),))


def _other_date(text: str, rng: Random, donors: Donors) -> Edited | None:
    found = [match for match in re.finditer(r"[A-Z][a-z]+", text) if match.group() in DAYS or match.group() in MONTHS]
    if not found:
        return None
    match = rng.choice(found)
    kind = DAYS if match.group() in DAYS else MONTHS
    return _put(text, match.start(), match.end(), rng.choice([name for name in kind if name != match.group()]))


_EDITS: tuple[Callable[[str, Random, Donors], Edited | None], ...] = (
    _other_name, _other_name, _other_name, _other_number, _other_number, _negate, _opposite, _opposite, _swap_names,
    _add_phrase, _add_phrase, _other_date, _similar_word,
)  # fmt: skip


def deny(text: str, rng: Random) -> str | None:
    """The sentence with a "not" more or less, or with two names in each other's place."""
    for edit in rng.sample((_negate, _swap_names), 2):
        made = edit(text, rng, Donors())
        if made is not None:
            return made.text
    return None


def falsify(text: str, rng: Random, donors: Donors) -> Edited | None:
    """One edit, the first that this text allows in a random order; None if it allows none."""
    edits = list(_EDITS)
    rng.shuffle(edits)
    return next((made for edit in edits if (made := edit(text, rng, donors)) is not None), None)


_TOKEN = re.compile(r"[A-Za-z0-9#]+(?:['\u2019,.-][A-Za-z0-9#]+)*")
_FIGURES = {word: str(number) for number, word in enumerate(NUMBER_WORDS[:11], 2)}
_FIGURES |= {figure: word for word, figure in _FIGURES.items()}
_STEM = 5
_ENDINGS = ("ing", "ed", "es", "ly", "s", "e", "y")


@dataclass(frozen=True)
class Known:
    """The words of a text, for looking up which words of another one it does not have."""

    text: str
    other: frozenset[str] = frozenset()

    @cached_property
    def _words(self) -> frozenset[str]:
        return self.other | {*plain_words(self.text), *tokens(self.text)}

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(_stem, self._words))

    def and_of(self, text: str) -> Known:
        return Known(text, self._words)

    def has(self, token: str, exact: bool) -> bool:
        """Names and figures only as they are; other words in any form."""
        word = token.lower()
        if word in self._words or _FIGURES.get(word) in self._words:
            return True
        parts = plain_words(token)
        return all(part in self._words if exact else _stem(part) in self._stems for part in parts)


def tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), "")
    return word.removesuffix(ending)[:_STEM]


class Strange(NamedTuple):
    """Content words that a text does not support."""

    spans: tuple[tuple[int, int], ...]
    telling: int
    """How many are names or figures."""
    checked: int

    @property
    def clear(self) -> bool:
        """One new word may be another word for something that is there."""
        return self.telling > 0 or len(self.spans) > 1


def strange_words(text: str, known: Known, start: int = 0) -> Strange:
    spans, telling, checked = [], 0, 0
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        named = _telling(token, match.start())
        if not (any(map(str.isdigit, token)) or is_content(token.lower())):
            continue
        checked += 1
        if not known.has(token, named):
            spans.append(match.span())
            telling += named
    return Strange(tuple(spans), telling, checked)


def strange_names(text: str, known: Known) -> list[tuple[int, int]]:
    """Names and figures that a text does not have; words of one name count as one."""
    found = [span for span in strange_words(text, known).spans if _telling(text[span[0] : span[1]], span[0])]
    out: list[tuple[int, int]] = []
    for start, end in found:
        if out and text[out[-1][1] : start] == " ":
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _telling(token: str, place: int) -> bool:
    return any(map(str.isdigit, token)) or (token[0].isupper() and place > 0)


def supported(text: str, known: Known) -> bool:
    """Names and figures are all there, and most other words."""
    found = strange_words(text, known)
    return found.checked > 1 and not found.telling and len(found.spans) <= 0.25 * found.checked


_OPENING = re.compile(r"^(?:[A-Z][\w' ]{3,40}, )(?=[a-zA-Z])")
_ASIDE = re.compile(r" ?\([^)]*\)| - [^-]{3,60} - |, (?:who|which|where) [^,]{3,80}(?:,|(?=\.))")
_SAID = re.compile(
    r",? (?:(?:he|she|they|police|officials|it|[A-Z]\w+(?: [A-Z]\w+)?) (?:said|says|added|told [\w ]{2,20}|reported)"
    r"|according to [\w ]{3,40})\.?$"
)
_SECOND_CLAUSE = re.compile(r", (?:and|but|while|after|as|because|with|although) ")
_SMALL_ADVERB = re.compile(r"\b(very|also|just|already|still|now|then|really|only|early|recently)\b ?")


def shorten(text: str, rng: Random) -> str:
    """A shorter sentence that the original still supports: asides, openings, sayers and second clauses go."""
    if rng.random() < 0.7:
        text = _ASIDE.sub(lambda match: "" if rng.random() < 0.7 else match.group(), text)
    if rng.random() < 0.5:
        rest = _OPENING.sub("", text)
        if len(rest.split()) > 4 and rest != text:
            text = rest[0].upper() + rest[1:]
    if rng.random() < 0.5:
        rest = _SAID.sub(".", text)
        text = rest if len(rest.split()) > 4 else text
    if rng.random() < 0.4:
        clause = _SECOND_CLAUSE.search(text)
        if clause and clause.start() > 25:
            text = text[: clause.start()] + "."
    if rng.random() < 0.25:
        text = _SMALL_ADVERB.sub("", text)
    return text.replace(" .", ".").replace("..", ".").replace("  ", " ")
