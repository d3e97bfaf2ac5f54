"""A sentence said more briefly or in another order, by rules that keep it true; and facts given to the wrong person.

Near-copies that are true are what teaches that a changed word is not a fault: a reader that only sees whole copies as
supported learns to distrust every summary that shortens a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Rule = Callable[[str, Random], str | None]

_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|may|might|must|should|does|did|said|made|took|went|came|got"
    r"|won|lost|found|told|gave|left|began|led|held|kept|ran|rose|fell|sold|bought|paid|met|became|\w{3,}ed)\b"
)
_OPEN = re.compile(
    r"\b(?:if|unless|whether|until|den(?:y|ies|ied)|would|could|might|alleg\w+|claim\w*|accus\w+|no|not|never|nor|neither"
    r"|only|either|both|according|hope\w*|fear\w*|plan\w*)\b|n't\b",
    re.IGNORECASE,
)
"""Where one of these stands, a part may not be true of its own."""
_NAMED = re.compile(r"[A-Z][a-z][\w'-]*(?: (?:(?:van|von|de|of|the) )?[A-Z][\w'-]+)*")
_COMMON = "The A An In On At It He She They But And This That These Those There We I You His Her If"
_STARTERS = frozenset(_COMMON.split())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _small(text: str) -> str:
    """The start of a sentence inside another one; names keep their capital."""
    return text[:1].lower() + text[1:] if text.split(" ", 1)[0] in _STARTERS - {"I"} else text


def _ended(text: str) -> str:
    text = text.rstrip(" ,;:-")
    return text if text.endswith((".", "!", "?")) else text + "."


def without_brackets(text: str, rng: Random) -> str | None:
    found = re.sub(r" ?\([^()]{2,80}\)", "", text)
    return found if found != text else None


def without_relative(text: str, rng: Random) -> str | None:
    """`Ann, who lives in Leith, won.` -> `Ann won.`"""
    match = re.search(r", (?:which|who|whose|where) [^,;:\"]{8,110}?(?P<end>,|[.]$)", text)
    if match is None:
        return None
    return text[: match.start()] + ("." if match["end"] == "." else "") + text[match.end() :]


def without_apposition(text: str, rng: Random) -> str | None:
    """`Ann Hay, a nurse from Leith, won.` -> `Ann Hay won.`"""
    match = re.search(r"(?<=[a-z]), (?:\d\d|an? [a-z][^,;:\"]{3,60}|the [a-z][^,;:\"]{3,60}), (?=[a-z])", text)
    if match is None or re.match(r"(?:and|or|but)\b", text[match.end() :]):
        return None
    return text[: match.start()] + " " + text[match.end() :]


def first_part(text: str, rng: Random) -> str | None:
    """What comes before a clause that is joined to the end."""
    cuts = [
        match.start()
        for match in re.finditer(
            r"(?:, (?:and|but|while|as|after|with|when|because|although|though|so|before|including|saying|leaving"
            r"|making|despite|following)|; \w+| (?:because|although|after|while|despite|following)) ",
            text,
        )
    ]
    good = [
        cut for cut in cuts if len(text[:cut].split()) >= 6 and _FINITE.search(text[:cut]) and '"' not in text[:cut]
    ]
    good = [cut for cut in good if not _OPEN.search(text[:cut]) and not re.match(r"(?i)(?:after|while|as)\b", text)]
    return _ended(text[: rng.choice(good)]) if good else None


def second_part(text: str, rng: Random) -> str | None:
    """The clause after `, and` or `, but` that has a subject of its own."""
    match = re.search(
        r"(?:, (?:and|but|while)|;) (?P<rest>(?:the|a|an|[A-Z]\w+|his|her|their|its|he|she|it|they)\b .*)$", text
    )
    if match is None or _OPEN.search(text[: match.start()]) or '"' in text:
        return None
    rest = match["rest"]
    words = rest.split()
    verb = _FINITE.search(rest)
    if len(words) < 6 or verb is None or len(rest[: verb.start()].split()) > 5:
        return None
    return _ended(_capital(rest))


_LEADING = re.compile(
    r"^(?:On|In|At|Last|Earlier|Later|Meanwhile|However|Yesterday|Since|During|By|Under)\b[^,;:\"]{0,45}, (?=\w)"
)
_LEADING_CLAUSE = re.compile(
    r"^(?:After|When|While|Because|Although|Though|As|Before|Despite)\b [^,;:\"]{10,90}, (?=[\w])"
)


def without_opening(text: str, rng: Random) -> str | None:
    match = _LEADING.match(text) or _LEADING_CLAUSE.match(text)
    if match is None or len(text[match.end() :].split()) < 5:
        return None
    return _capital(text[match.end() :])


def opening_to_the_end(text: str, rng: Random) -> str | None:
    """`On Monday, she left.` -> `She left on Monday.`"""
    match = _LEADING_CLAUSE.match(text) or re.match(r"^(?:On|In|At|During)\b [^,;:\"]{2,40}, (?=\w)", text)
    rest = text[match.end() :] if match else ""
    if match is None or len(rest.split()) < 5 or re.search(r'[,;:"]', rest):
        return None
    opening = text[: match.end() - 2]
    return _ended(_capital(rest.rstrip(".!?")) + " " + opening[:1].lower() + opening[1:])


_SAME = """began/started started/began almost/nearly nearly/almost large/big big/large allowed/permitted
purchased/bought bought/purchased kids/children children/kids roughly/about approximately/about
attempted/tried tried/attempted ended/finished finished/ended frequently/often often/frequently
rapidly/quickly quickly/rapidly entire/whole whole/entire residents/inhabitants ill/sick sick/ill
huge/enormous enormous/huge constructed/built built/constructed revealed/disclosed disclosed/revealed
stated/said demonstrated/showed showed/demonstrated wounded/injured injured/hurt additional/further
extra/additional crucial/vital vital/crucial concerning/about film/movie movie/film company/firm
automobile/car physician/doctor doctor/physician vessel/ship pupils/students soccer/football blaze/fire
cash/money currently/now formerly/previously previously/earlier autumn/fall holiday/vacation
flat/apartment apartment/flat attorney/lawyer lawyer/attorney officers/police-officers remained/stayed
stayed/remained returned/came-back destroyed/wiped-out closed/shut award/prize prize/award reduced/cut
mistake/error error/mistake annual/yearly yearly/annual died/passed-away chose/picked sufficient/enough
enough/sufficient gathered/assembled"""
_WORDS = dict(pair.split("/") for pair in _SAME.split())


def another_word(text: str, rng: Random) -> str | None:
    """One or two words for others that say the same."""
    places = [match for match in re.finditer(r"\b[a-z]+\b", text) if match.group() in _WORDS]
    if not places:
        return None
    for match in sorted(rng.sample(places, min(len(places), 2)), key=lambda one: -one.start()):
        text = text[: match.start()] + _WORDS[match.group()].replace("-", " ") + text[match.end() :]
    return text


def without_dateline(text: str, rng: Random) -> str | None:
    match = re.match(
        r"^[^a-z]{0,40}?(?:[A-Z][\w., ]{2,40})?\((?:CNN|Reuters|AP|WIRED|CNET|[A-Z][\w .]{2,20})\) ?--? ", text
    )
    return _capital(text[match.end() :]) if match else None


RULES: Sequence[Rule] = (
    without_brackets, without_relative, without_apposition, first_part, second_part, without_opening,
    without_dateline, opening_to_the_end, another_word,
)  # fmt: skip


def near_copy(text: str, rng: Random, most: int = 2) -> str | None:
    """`text` after one or two of the rules, or None where none fits."""
    now = text
    done = 0
    for rule in rng.sample(RULES, len(RULES)):
        found = rule(now, rng)
        if found and found != now and len(found.split()) >= 5:
            now, done = found, done + 1
            if done >= most or rng.random() < 0.4:
                break
    return now if done and now != text else None


def joined(first: str, second: str, rng: Random) -> str | None:
    """Two sentences that follow each other as one."""
    if '"' in first + second or len((first + second).split()) > 38 or not first.endswith(".") or "?" in second:
        return None
    if second.split(" ", 1)[0] in ("But", "And", "However,", "Meanwhile,", "So", "Yet"):
        second = second.split(" ", 1)[1] if " " in second else second
    return first[:-1] + rng.choice((", and ", " and ", "; ")) + _small(second)


_SUBJECT = re.compile(
    rf"^(?:Mr |Mrs |Ms |Dr )?(?P<name>{_NAMED.pattern}) "
    rf"(?={_FINITE.pattern[:-3]}|[a-z]{{3,}}s)\b(?! of\b))"
)


def given_to(text: str, others: Sequence[str], rng: Random) -> str | None:
    """What one is said to have done, said of another who is named in the same text."""
    match = _SUBJECT.match(text)
    if match is None or match["name"] not in others:
        return None
    own = set(match["name"].split())
    fitting = [name for name in others if not own & set(name.split()) and name not in text]
    if not fitting:
        return None
    return rng.choice(fitting) + text[match.end("name") :]


def subjects(sentences: Sequence[str], whole: str) -> list[str]:
    """Names that a sentence says something of, and that the text has inside a sentence, too."""
    found = [match["name"] for text in sentences if (match := _SUBJECT.match(text))]
    found = [name for name in found if not name.endswith("'s")]
    return [name for name in dict.fromkeys(found) if re.search(rf"[a-z,] {re.escape(name)}\b", whole)]
