"""Good text made bad on purpose, by seeded rules: the negatives that the papers' evaluators learn from.

Every function takes its own `random.Random` and gives back new words; a negative is never empty and never equals the
text it was made from, unless mode `released` asks for what the authors' code did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Literal, TypeVar

from quintet.errors import InputError
from quintet_train.text import chunks

Mode = Literal["paper", "released"]
_TRIES = 20
_Value = TypeVar("_Value")

# USL-H's valid-utterance rules: which share of negatives is of which kind, how many words are repeated and how often.
VUP_KINDS = (("shuffle", 0.3), ("drop", 0.3), ("repeat", 0.4))
VUP_REPEAT_WORDS = ((1, 0.7), (2, 0.2), (3, 0.1))
VUP_REPEAT_TIMES = ((1, 0.8), (2, 0.15), (3, 0.05))
VUP_REPEAT_CHANCE = 0.1
VUP_MIN_WORDS = 3
VUP_SMALL_WORDS = frozenset(("a", "an", "the", "ve", "'", "s", "ll", "d", "re", "m", "t"))


def poisson(rng: Random, mean: float) -> int:
    """One draw, by Knuth's product of uniforms."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def span_noise(words: Sequence[str], rng: Random, mean: float = 5.0, mode: Mode = "paper") -> list[str]:
    """UniEval's disfluency: a span of Poisson length is copied elsewhere, deleted or shuffled, one of the three.

    In `released` mode the length may be 0, so the negative may equal the input, and deletion may leave nothing.
    """
    if not words:
        raise InputError("span noise needs at least one word")
    if mode == "released":
        return _noise_once(words, rng, min(len(words), poisson(rng, mean)), rng.choice(("insert", "delete", "shuffle")))
    for _ in range(_TRIES):
        length = max(1, min(len(words), poisson(rng, mean)))
        noisy = _noise_once(words, rng, length, rng.choice(("insert", "delete", "shuffle")))
        if noisy and noisy != list(words):
            return noisy
    return _noise_once(words, rng, 1, "insert")


def _noise_once(words: Sequence[str], rng: Random, length: int, kind: str) -> list[str]:
    start = rng.randint(0, len(words) - length)
    before, span, after = list(words[:start]), list(words[start : start + length]), list(words[start + length :])
    if kind == "delete":
        return before + after
    if kind == "shuffle":
        rng.shuffle(span)
        return before + span + after
    place = rng.randint(0, len(words))
    return [*words[:place], *span, *words[place:]]


def replace_sentences(sentences: Sequence[str], donors: Sequence[str], rng: Random, count: int = 1) -> list[str] | None:
    """`count` sentences (at most all) exchanged for sentences of another text; None if no donor differs."""
    fresh = list(dict.fromkeys(donor for donor in donors if donor.strip() and donor not in sentences))
    count = min(count, len(sentences), len(fresh))
    if count < 1:
        return None
    out = list(sentences)
    for place, donor in zip(rng.sample(range(len(out)), count), rng.sample(fresh, count), strict=True):
        out[place] = donor
    return out


def shuffle_words(words: Sequence[str], rng: Random) -> list[str] | None:
    """Another order of the same words; None if there is none."""
    if len(set(words)) < 2:
        return None
    out = list(words)
    while out == list(words):
        rng.shuffle(out)
    return out


def drop_words(words: Sequence[str], rng: Random) -> list[str] | None:
    """Each word goes with a chance drawn from U(0, 0.5) for the sentence; at least one goes and one stays."""
    if len(words) < 2:
        return None
    chance = rng.uniform(0, 0.5)
    kept = [rng.random() >= chance for _ in words]
    if all(kept):
        kept[rng.randrange(len(words))] = False
    if not any(kept):
        kept[rng.randrange(len(words))] = True
    return [word for word, keep in zip(words, kept, strict=True) if keep]


def repeat_words(words: Sequence[str], rng: Random) -> list[str]:
    """After each word, with chance 0.1, the last 1 to 3 words come again 1 to 3 times; at least one repetition."""
    out: list[str] = []
    forced = rng.randrange(len(words))
    chosen = [rng.random() < VUP_REPEAT_CHANCE for _ in words]
    if not any(chosen):
        chosen[forced] = True
    for word, again in zip(words, chosen, strict=True):
        out.append(word)
        if again:
            span = out[-_draw(VUP_REPEAT_WORDS, rng) :]
            out += span * _draw(VUP_REPEAT_TIMES, rng)
    return out


def invalid_utterance(words: Sequence[str], rng: Random) -> list[str] | None:
    """A VUP negative: shuffled (30 %), thinned (30 %) or stuttering (40 %); None for fewer than three words."""
    if len(words) < VUP_MIN_WORDS:
        return None
    kind = _draw(VUP_KINDS, rng)
    out = {"shuffle": shuffle_words, "drop": drop_words}.get(kind, repeat_words)(words, rng)
    return repeat_words(words, rng) if out is None else out


def valid_utterance(words: Sequence[str], rng: Random, mode: Mode = "paper") -> list[str]:
    """A VUP positive: 10 % without final punctuation, 10 % only nouns, verbs and prepositions, 10 % less small words.

    `released` keeps USL-H's slip: where the final mark should go, the sentence is spelled out letter by letter.
    """
    draw = rng.random()
    if draw < 0.1:
        if mode == "released":
            return [character for character in " ".join(words) if not character.isspace()]
        out = list(words)
        while out and not any(character.isalnum() for character in out[-1]):
            out.pop()
    elif draw < 0.2:
        tags = chunks.tag(words)
        out = [word for word, tag in zip(words, tags, strict=True) if tag.startswith(("NN", "VB", "IN"))]
    elif draw < 0.3:
        out = [word for word in words if word.lower() not in VUP_SMALL_WORDS]
    else:
        out = list(words)
    return out or list(words)


def _draw(table: Sequence[tuple[_Value, float]], rng: Random) -> _Value:
    return rng.choices([value for value, _ in table], [weight for _, weight in table])[0]
