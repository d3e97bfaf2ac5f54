"""Claims turned false by rules: antonyms and negation, numbers, names, pruning (after Chen et al. 2021, as in UniEval).

No tagger is needed: names are runs of capitalised words, numbers match a pattern, antonyms come from a small table of
our own; a file of tab-separated pairs (one exported from WordNet, say) can take its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from quintet.errors import InputError
from quintet_train.text import chunks

_PAIRS = """increase/decrease increased/decreased increases/decreases rise/fall rose/fell rising/falling up/down
more/less most/least higher/lower highest/lowest high/low large/small larger/smaller largest/smallest
big/small bigger/smaller good/bad better/worse best/worst early/late earlier/later before/after first/last old/new
older/younger
oldest/youngest young/old long/short longer/shorter strong/weak stronger/weaker hot/cold warm/cool fast/slow
faster/slower rich/poor richer/poorer open/closed opened/closed opens/closes win/lose won/lost wins/loses win/lose
accept/reject accepted/rejected accepts/rejects allow/forbid allowed/banned agree/disagree agreed/refused agrees/refuses
love/hate loved/hated loves/hates like/dislike liked/disliked begin/end began/ended start/stop started/stopped
starts/stops buy/sell bought/sold buys/sells enter/leave arrive/leave arrived/left gain/lose gained/lost give/take
gave/took push/pull pass/fail passed/failed passes/fails succeed/fail succeeded/failed support/oppose
supported/opposed supports/opposes attack/defend attacked/defended arrest/release arrested/released guilty/innocent
legal/illegal possible/impossible likely/unlikely public/private true/false right/wrong safe/dangerous
easy/difficult happy/sad healthy/sick alive/dead male/female man/woman men/women boy/girl boys/girls father/mother
son/daughter sons/daughters brother/sister husband/wife king/queen uncle/aunt north/south northern/southern east/west
eastern/western inside/outside above/below near/far always/never often/rarely all/none everyone/nobody many/few
remember/forget remembered/forgot success/failure victory/defeat friend/enemy friends/enemies peace/war day/night
morning/evening top/bottom full/empty light/dark clean/dirty cheap/expensive correct/incorrect common/rare
famous/unknown major/minor positive/negative include/exclude includes/excludes included/excluded improve/worsen
improved/worsened approve/deny approved/denied confirm/deny confirmed/denied join/leave joined/left build/destroy
built/destroyed save/waste saved/wasted with/without"""
_NEGATABLE = (
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "will",
    "would",
    "can",
    "could",
    "should",
    "does",
    "did",
)
_NEGATED = {**{word: f"{word} not" for word in _NEGATABLE}, "can": "cannot"}
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = re.compile(r"\b\d+(?:,\d{3})*(?:\.\d+)?\b|\b(?:" + "|".join(_NUMBER_WORDS) + r")\b", re.IGNORECASE)
_NAME_WORD = r"[A-Z][\w’'-]*[\w]"
_NAME = re.compile(rf"{_NAME_WORD}(?:\s+(?:(?:of|the|de|van|von)\s+)?{_NAME_WORD})*")


@dataclass(frozen=True)
class Edit:
    """The changed claim and the rule that changed it."""

    text: str
    rule: str


def _both_ways(pairs: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for first, second in pairs:
        table[first] = tuple(dict.fromkeys((*table.get(first, ()), second)))
        table[second] = tuple(dict.fromkeys((*table.get(second, ()), first)))
    return table


ANTONYMS: Mapping[str, tuple[str, ...]] = _both_ways([(a, b) for a, _, b in (p.partition("/") for p in _PAIRS.split())])


def read_antonyms(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Two words a line with a tab between them; both directions are used."""
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split("\t")
        if not line.strip():
            continue
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise InputError("expected two words with a tab between them", where=f"{path}:{number}")
        pairs.append((parts[0].strip().lower(), parts[1].strip().lower()))
    return _both_ways(pairs)


def swap_antonym(claim: str, rng: Random, table: Mapping[str, tuple[str, ...]] = ANTONYMS) -> str | None:
    """One word for its opposite, or an auxiliary negated (or freed of its `not`)."""
    choices: list[tuple[int, int, str]] = []
    for match in re.finditer(r"[A-Za-z']+", claim):
        low = match.group().lower()
        for opposite in table.get(low, ()):
            choices.append((match.start(), match.end(), _cased_like(match.group(), opposite)))
        follows = re.match(r"\s+not\b", claim[match.end() :])
        if low in _NEGATED and follows:
            choices.append((match.start(), match.end() + follows.end(), match.group()))
        elif low in _NEGATED:
            choices.append((match.start(), match.end(), _cased_like(match.group(), _NEGATED[low])))
    return _apply(claim, choices, rng)


def edit_number(claim: str, rng: Random) -> str | None:
    """One number for another of the same form: digits keep their count, years stay near, words stay words."""
    choices = [(m.start(), m.end(), _other_number(m.group(), rng)) for m in _NUMBER.finditer(claim)]
    return _apply(claim, choices, rng)


def _other_number(number: str, rng: Random) -> str:
    if number.isalpha():
        other = rng.choice([word for word in _NUMBER_WORDS if word != number.lower()])
        return _cased_like(number, other)
    if re.fullmatch(r"(?:19|20)\d\d", number):
        return str(int(number) + rng.choice((-1, 1)) * rng.randint(1, 20))
    digits = [i for i, character in enumerate(number) if character.isdigit()]
    out = list(number)
    place = rng.choice(digits)
    leading = place == digits[0] and len(digits) > 1
    out[place] = rng.choice([d for d in "0123456789" if d != number[place] and not (leading and d == "0")])
    return "".join(out)


def names(text: str) -> list[str]:
    """Runs of capitalised words; a single word that opens a sentence counts only if it is capitalised elsewhere too."""
    found: list[str] = []
    inner: set[str] = set()
    opening: list[str] = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        opens = not before or before[-1] in '.!?"“:\n'
        name = match.group()
        first = name.split()[0]
        if opens and first.lower() in chunks.CLOSED_CLASSES:
            name = name[len(first) :].strip()
            opens = False
        if opens and " " not in name:
            opening.append(name)
        elif name and name.lower() not in chunks.CLOSED_CLASSES:
            inner.add(name)
            found.append(name)
    return list(dict.fromkeys(found + [name for name in opening if name in inner]))


def swap_name(claim: str, donors: Sequence[str], rng: Random) -> str | None:
    """A name of the claim for a name of the document (or any donor) that the claim does not hold."""
    held = names(claim)
    others = [donor for donor in dict.fromkeys(donors) if donor not in claim and not any(h in donor for h in held)]
    if not held or not others:
        return None
    old = rng.choice(held)
    place = claim.index(old)
    return claim[:place] + rng.choice(others) + claim[place + len(old) :]


def prune(claim: str, rng: Random, parser: chunks.Parser = chunks.parse) -> str | None:
    """A modifier that narrows the claim falls away: a prepositional phrase or an adjective, from the tree."""
    words = chunks.split_words(claim)
    tags = chunks.tag(words)
    phrases = list(_walk(parser(words))) if words else []
    spans = [(p.start, p.end) for p in phrases if p.kind == "PP" and p.start > 0]
    spans += [(i, i + 1) for i, tag in enumerate(tags[:-1]) if tag == "JJ" and tags[i + 1].startswith("NN")]
    spans = [(a, b) for a, b in spans if any(w.isalnum() for w in [*words[:a], *words[b:]])]
    if not spans:
        return None
    start, end = rng.choice(spans)
    return chunks.join_words([*words[:start], *words[end:]])


def _walk(node: chunks.Phrase) -> list[chunks.Phrase]:
    return [node, *(inner for child in node.children for inner in _walk(child))]


def falsify(
    claim: str, document: str, rng: Random, table: Mapping[str, tuple[str, ...]] = ANTONYMS, pruned: bool = True
) -> Edit | None:
    """One of the four rules, in random order until one applies; None if none does.

    `pruned`: whether a modifier may fall away, as in UniEval; what is left is often true.
    """
    rules: list[tuple[str, Callable[[], str | None]]] = [
        ("antonym", lambda: swap_antonym(claim, rng, table)),
        ("number", lambda: edit_number(claim, rng)),
        ("name", lambda: swap_name(claim, names(document), rng)),
        *([("prune", lambda: prune(claim, rng))] if pruned else []),
    ]
    rng.shuffle(rules)
    for rule, change in rules:
        text = change()
        if text and text.split() != claim.split():
            return Edit(text, rule)
    return None


def _apply(claim: str, choices: Sequence[tuple[int, int, str]], rng: Random) -> str | None:
    if not choices:
        return None
    start, end, fresh = rng.choice(choices)
    return claim[:start] + fresh + claim[end:]


def _cased_like(model: str, word: str) -> str:
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if model[:1].isupper() else word
