"""Forms of the surface that must not matter, the same for all texts of a group: none of them tells good from bad.

A final full stop, tokenised clitics, an emoji at the end. Case is left alone: the encoder does not see it.
"""

from __future__ import annotations

import re
from random import Random

from quintet_train.evaluator.groups import Group, Judged

_END = re.compile(r"(?<=[\w\"')\]%])[.!?]\s*$")
_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))\b")
EMOJI = ("\U0001f642", "\U0001f60a", "\U0001f602", "\U0001f44d", ":)", "\u2764\ufe0f")
STRIPPED, EQUAL_BY_STRIPPING, TOKENISED, WITH_EMOJI = 0.15, 0.5, 0.04, 0.02


def same_surface(group: Group, rng: Random) -> Group:
    """Final stops are there in all texts or in none; now and then all lose theirs, or get an emoji."""
    texts = group.texts
    ended = [_END.search(text.output) is not None for text in texts]
    draw = rng.random()
    if any(ended) and (draw < STRIPPED or (not all(ended) and draw < EQUAL_BY_STRIPPING)):
        texts = [_stripped(text) for text in texts]
    elif any(ended) and not all(ended):
        texts = [text if done else _stopped(text) for text, done in zip(texts, ended, strict=True)]
    if rng.random() < TOKENISED and not any(text.wrong or text.unsure for text in texts):
        texts = [text._replace(output=_CLITIC.sub(r" \1", text.output)) for text in texts]
    if rng.random() < WITH_EMOJI:
        sign = rng.choice(EMOJI)
        texts = [text._replace(output=f"{text.output} {sign}", wrong=None) for text in texts]
    return group._replace(texts=texts)


def _stripped(text: Judged) -> Judged:
    output = _END.sub("", text.output)
    wrong = text.wrong and [(start, min(end, len(output))) for start, end in text.wrong if start < len(output)]
    return text._replace(output=output, wrong=wrong)


def _stopped(text: Judged) -> Judged:
    """What ends in another mark (a stray comma, two stops) keeps it: there the end is the mistake."""
    last = text.output.rstrip()[-1:]
    return text._replace(output=text.output.rstrip() + ".") if last.isalnum() else text
