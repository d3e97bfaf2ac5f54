"""Made-up items of SummEval's shape for the benchmarks: a document of some 400 words, summaries of some 60 words."""

from __future__ import annotations

import platform
import random
from collections.abc import Iterator

from quintet.core.example import Example
from quintet.core.item import Item

WORDS = (
    "council", "river", "bridge", "dog", "market", "storm", "minister", "school", "report", "player", "city", "team",
    "money", "court", "police", "hospital", "train", "water", "night", "young", "said", "new", "old", "went", "found",
    "voted", "closed", "opened", "won", "lost", "after", "before", "because", "during", "against", "under", "the",
    "a", "of", "and", "in", "to", "with", "from", "into", "over",
)  # fmt: skip


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def items(rows: int, outputs_per_document: int = 4, document_sentences: int = 20, seed: int = 0) -> Iterator[Item]:
    """Items one by one, so that the maker's memory is not measured; none is equal to another."""
    chance = random.Random(seed)
    for number in range(rows):
        if number % outputs_per_document == 0:
            source = " ".join(sentence(chance, 20) for _ in range(document_sentences))
            reference = " ".join(sentence(chance, 20) for _ in range(3))
        turns = (sentence(chance, 12), sentence(chance, 12))
        output = " ".join(sentence(chance, 20) for _ in range(3)) + f" {number}."
        yield Item(Example(output, source, turns[0], (reference,), turns, str(number)))


def machine() -> str:
    import os

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores of {model}; Python {platform.python_version()}; load before the run {load:.1f}"
