"""Replies that a language model writes at turns of dialogues: what generators say, in place of what people once said.

A judge of replies that has only seen people's tells topics apart and little else. Here it sees two more of each turn:
one by a model that has read the turns before, and one by the same model after the turns of another dialogue. The first
follows, but not as well as the person's; the second is as fluent and does not follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import torch

from quintet_train.evaluator import sampling
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_texts import dialogue_form
from quintet_train.evaluator.starting import LanguageStart
from quintet_train.evaluator.tables import Answered, Dialogue, Tables

_LEAST_WORDS = 2
_LONGEST_PROMPT = 400
_FACT_WORDS = 200


@dataclass(frozen=True)
class Options(sampling.WriterOptions):
    table = "answering"

    turns: int = 20_000
    """At most so many turns are answered, each twice."""
    new_tokens: int = 36
    nucleus: float = 0.95
    temperatures: tuple[float, ...] = (0.7, 0.9, 1.1)
    read: tuple[int, ...] = (1, 2, 3, 6)
    """How many turns are read, drawn for each reply."""
    batch: int = 768


class Asked(NamedTuple):
    dialogue: int
    turn: int
    prompt: str
    aware: bool
    temperature: float


def answers(
    options: Options, tables: Tables, times: Times, seed: int, device: torch.device, texts: Iterable[str] = ()
) -> list[Answered]:
    """Drawn by the seed; the same on the same machine. `texts` teach a tiny model its words."""
    start = sampling.opened(options.start, texts, seed)
    found = asked(tables, times, options, Random(f"{seed}:answering"))
    return list(usable(tables, found, replies(start, found, options, device, seed)))


def usable(tables: Tables, found: Sequence[Asked], texts: Sequence[str]) -> Iterator[Answered]:
    """Replies of some words that are not what was said."""
    for one, text in zip(found, texts, strict=True):
        given = tables.dialogues[one.dialogue].turns[one.turn]
        if len(text.split()) >= _LEAST_WORDS and text.lower() != given.lower():
            yield Answered(one.dialogue, one.turn, text, one.aware)


def asked(tables: Tables, times: Times, options: Options, rng: Random) -> list[Asked]:
    """Turns that people gave, as often as the recipe's table `answered` says; two prompts of each."""
    places = [
        (number, turn)
        for number, dialogue in enumerate(tables.dialogues)
        for turn in range(1, len(dialogue.turns))
        if (not dialogue.human or dialogue.human[turn]) and rng.random() < times.of("answered", dialogue.source)
    ]
    places = sorted(rng.sample(places, options.turns)) if len(places) > options.turns else places
    by_source: dict[str, list[tuple[int, int]]] = {}
    for number, turn in places:
        by_source.setdefault(tables.dialogues[number].source, []).append((number, turn))
    out = []
    for number, turn in places:
        dialogue = tables.dialogues[number]
        foreign, elsewhere = rng.choice(by_source[dialogue.source])
        heat = rng.choice(options.temperatures)
        out.append(Asked(number, turn, _prompt(dialogue, turn, options, rng), True, heat))
        if foreign != number:
            prompt = _prompt(tables.dialogues[foreign], elsewhere, options, rng)
            out.append(Asked(number, turn, prompt, False, heat))
    return out


def _prompt(dialogue: Dialogue, turn: int, options: Options, rng: Random) -> str:
    """The turns before, after the fact of half of the turns that have one."""
    fact = dialogue.facts[turn] if dialogue.facts and rng.random() < 0.5 else ""
    turns = dialogue.turns[max(0, turn - rng.choice(options.read)) : turn]
    return dialogue_form(turns, " ".join(fact.split()[:_FACT_WORDS]))


def replies(
    start: LanguageStart, found: Sequence[Asked], options: Options, device: torch.device, seed: int
) -> list[str]:
    """One line for each, in their order."""
    ids = sampling.prompted(start, (one.prompt for one in found), _LONGEST_PROMPT)
    heat = [one.temperature for one in found]
    texts = sampling.written(start, ids, heat, options.new_tokens, options.nucleus, options.batch, device, seed)
    return list(map(one_line, texts))


def one_line(text: str) -> str:
    """The first line; nothing if it did not end, since half a reply would tell."""
    line, ended, _ = text.strip(" ").partition("\n")
    return line.partition("<|")[0].strip() if ended or "<|" in line else ""
