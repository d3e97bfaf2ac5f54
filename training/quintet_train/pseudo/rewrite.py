"""Small stand-ins, without weights, for the generators the papers used: a paraphraser and a dull responder.

UniEval rewrote facts with a PEGASUS paraphraser and took dull replies from DialoGPT-small; CTC paraphrased with a T5.
Anything with the same signature can be put in their place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from quintet.errors import InputError
from quintet.text.tokens import words

Paraphraser = Callable[[str, Random], str]
Responder = Callable[[str, Random], str | None]

_SWAPS = (
    ("do not", "don't"), ("does not", "doesn't"), ("did not", "didn't"), ("is not", "isn't"), ("are not", "aren't"),
    ("was not", "wasn't"), ("cannot", "can't"), ("it is", "it's"), ("that is", "that's"), ("there is", "there's"),
    ("a lot of", "many"), ("for example", "for instance"), ("such as", "like"), ("about", "around"),
    ("however", "but"), ("also", "as well"), ("began", "started"), ("begin", "start"), ("big", "large"),
    ("small", "little"), ("because", "since"), ("more than", "over"), ("used to", "once did"), ("buy", "purchase"),
    ("near", "close to"), ("help", "assist"), ("often", "frequently"), ("quickly", "fast"), ("movie", "film"),
    ("show", "display"), ("need", "require"), ("get", "obtain"), ("famous", "well-known"), ("children", "kids"),
)  # fmt: skip
_FRONTED = re.compile(r"^(?P<main>[A-Z][^,]*?) (?P<when>(?:in|after|before|during|since|until) [^,]*?)(?P<end>[.!?]?)$")


def rule_paraphraser(sentence: str, rng: Random) -> str:
    """The same claim in slightly other words: a closing phrase of time put first, then equal expressions swapped."""
    out = sentence
    match = _FRONTED.match(out)
    if match and rng.random() < 0.5:
        when = match["when"]
        main = match["main"] if match["main"].split()[0] == "I" else match["main"][0].lower() + match["main"][1:]
        out = f"{when[0].upper()}{when[1:]}, {main}{match['end']}"
    for first, second in _SWAPS:
        old, new = (first, second) if rng.random() < 0.5 else (second, first)
        if rng.random() < 0.7:
            out = re.sub(rf"\b{re.escape(old)}\b", new, out, count=1)
    return out


def identity_paraphraser(sentence: str, rng: Random) -> str:
    return sentence


def open_paraphraser(name: str) -> Paraphraser:
    """`rules`, `none` or `seq2seq:MODEL` (CTC: Vamsi/T5_Paraphrase_Paws, UniEval: tuner007/pegasus_paraphrase)."""
    if name in ("rules", "none"):
        return rule_paraphraser if name == "rules" else identity_paraphraser
    kind, colon, model = name.partition(":")
    if kind != "seq2seq" or not colon:
        raise InputError(f"paraphraser must be rules, none or seq2seq:MODEL, not {name!r}")
    from quintet_train.generate import seq2seq_paraphraser

    return seq2seq_paraphraser(model)


def dull_responder(turns: Sequence[str], pool: int = 200, longest: int = 8) -> Responder:
    """Replies with one of the blandest short turns of the corpus: those whose words are, on average, most common."""
    counts = Counter(piece.text.lower() for turn in turns for piece in words(turn))
    total = sum(counts.values()) or 1
    short = {turn for turn in turns if 1 <= len(turn.split()) <= longest and words(turn)}
    if not short:
        short = set(sorted((turn for turn in turns if words(turn)), key=len)[:pool])

    def surprise(turn: str) -> float:
        found = [piece.text.lower() for piece in words(turn)]
        return sum(-math.log(counts[word] / total) for word in found) / len(found)

    bland = sorted(short, key=lambda turn: (surprise(turn), turn))[:pool]

    def reply(last_turn: str, rng: Random) -> str | None:
        choices = [turn for turn in bland if turn != last_turn]
        return rng.choice(choices) if choices else None

    return reply
