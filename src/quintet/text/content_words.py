"""Words as the bundled evaluator counts them, and which of them carry content. English, lower case."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

_STOP = """
    a about above after again against all am an and any are aren't as at be because been before being below between
    both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
    further had hadn't has hasn't have haven't having he her here hers herself him himself his how i i'd i'll i'm i've
    if in into is isn't it it's its itself just let's me more most my myself no nor not now of off on once only or
    other ought our ours ourselves out over own same she should shouldn't so some such than that that's the their
    theirs them themselves then there there's these they they're this those through to too under until up very was
    wasn't we were weren't what what's when where which while who whom why will with won't would wouldn't you you're
    your yours yourself yourselves s t d ll re ve m n't oh um yeah yes ok okay well really think like know get got one
    also
    """
STOP = frozenset(_STOP.split())
"""Function words and the small change of conversation."""


def plain_words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def is_content(word: str) -> bool:
    return word not in STOP and len(word) > 1


def content_words(text: str) -> list[str]:
    return [word for word in plain_words(text) if is_content(word)]
