"""Text normalisation at the door: detokenise, split sentences, cheap word lists. Standard library only."""
from __future__ import annotations

import re

_PAIRS = [
    (r"-LRB-|-lrb-", "("), (r"-RRB-|-rrb-", ")"), (r"-LSB-|-lsb-", "["), (r"-RSB-|-rsb-", "]"),
    (r"``|''", '"'), (r"[\u2018\u2019\u02bc`]", "'"), (r"[\u201c\u201d]", '"'), (r"[\u2013\u2014]", "-"), (r"\u00a0", " "),
]
_PAIRS = [(re.compile(a), b) for a, b in _PAIRS]
_CONTR = re.compile(r"\b(\w+) (n't|n 't)\b", re.I)
_CLIT = re.compile(r" ('(?:s|re|ve|ll|d|m|t))\b", re.I)
_CLIT2 = re.compile(r"(\w) ' (s|re|ve|ll|d|m|t)\b", re.I)
_PUNCT = re.compile(r" +([,.;:!?%)\]])")
_OPEN = re.compile(r"([(\[$#]) +")
_SPACE = re.compile(r"\s+")
_CANT = re.compile(r"\b(ca|wo|sha) n't\b", re.I)
_TAGS = re.compile(r"</?[a-z]+>|&#x27;|&quot;|&amp;")
_HYPH = re.compile(r"(\w) - (\w)(?=\w* )")


def _quotes(text: str) -> str:
    """Glue double quotes to what they enclose, by parity; an odd count is left alone."""
    parts = text.split('"')
    if len(parts) < 3 or len(parts) % 2 == 0:
        return text
    return '"'.join(p.strip() if i % 2 else p for i, p in enumerate(parts))


def detok(text: str) -> str:
    """Bring tokenised benchmark text and plain text to one form (case kept)."""
    if "<" in text or "&" in text:
        text = _TAGS.sub(lambda m: {"&#x27;": "'", "&quot;": '"', "&amp;": "&"}.get(m.group(0), " "), text)
    for rx, rep in _PAIRS:
        text = rx.sub(rep, text)
    text = _SPACE.sub(" ", text).strip()
    text = _CANT.sub(lambda m: m.group(1) + "n't", text)
    text = _CONTR.sub(lambda m: m.group(1) + "n't", text)
    text = _CLIT.sub(r"\1", text)
    text = _CLIT2.sub(r"\1'\2", text)
    text = _quotes(text)
    text = _PUNCT.sub(r"\1", text)
    text = _OPEN.sub(r"\1", text)
    return text


_ABBR = set("mr mrs ms dr prof sen rep gov gen col st jr sr inc ltd co corp vs etc no u.s u.k a.m p.m jan feb mar apr jun jul aug sept sep oct nov dec i.e e.g".split())
_SPLIT = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")


def sentences(text: str) -> list[str]:
    """Rule splitter that also works on lower-cased text (text is detokenised first by the caller)."""
    out: list[str] = []
    last = 0
    for m in _SPLIT.finditer(text):
        head = text[last:m.start()]
        if "\n" not in m.group(0):
            word = head.rstrip("\"')]").rsplit(None, 1)[-1] if head.strip() else ""
            if word.endswith(".") and (word[:-1].lower() in _ABBR or re.fullmatch(r"[A-Za-z]\.", word) or re.fullmatch(r"(?:[A-Za-z]\.){2,}", word)):
                continue
            if len(head.split()) < 2 and out == [] and not head.endswith(("!", "?")):
                continue
        piece = text[last:m.end()].strip()
        if piece:
            out.append(piece)
        last = m.end()
    tail = text[last:].strip()
    if tail:
        out.append(tail)
    merged: list[str] = []
    for s in out:
        if merged and len(re.findall(r"\w", s)) < 2:
            merged[-1] += " " + s
        else:
            merged.append(s)
    return merged or [text]


_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
STOP = set("""a about above after again against all am an and any are aren't as at be because been before being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let's me more most my myself no nor not now of off on once only or other ought our ours ourselves out over own same she should shouldn't so some such than that that's the their theirs them themselves then there there's these they they're this those through to too under until up very was wasn't we were weren't what what's when where which while who whom why will with won't would wouldn't you you're your yours yourself yourselves s t d ll re ve m n't oh um yeah yes ok okay well really think like know get got one also""".split())


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def content(text: str) -> list[str]:
    return [w for w in words(text) if w not in STOP and len(w) > 1]
