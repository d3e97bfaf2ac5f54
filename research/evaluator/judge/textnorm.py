"""Text at the door of the study: the package's own detokenising, sentences by rule, cheap word lists."""
from __future__ import annotations

import re

from quintet.text.detokenise import detokenise as detok  # noqa: F401  (one door for study and product)

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
