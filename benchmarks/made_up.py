"""Made-up items of SummEval's shape for the benchmarks: a document of some 400 words, summaries of some 60 words."""

from __future__ import annotations

import os
import platform
import random
import sys
from collections.abc import Iterator

from quintet.core.example import Example
from quintet.core.item import Item
from quintet.runner.executors import THREADS

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


NAMES = ("Kowalczyk", "Okonkwo", "Brightwater", "Szczecin", "Ouagadougou", "Fitzwilliam")
COPIED, LEADING = 0.4, 5
"""In SummEval 30 % of the pairs of sentence and document occur more than once, because systems copy from the start of
the document. Copying 40 % of the sentences from the first five gives that share for 16 outputs of a document."""


def news_sentence(chance: random.Random, words: int) -> str:
    """With a comma and sometimes a name: some 1.13 sub-words a word, as in SummEval."""
    chosen = chance.choices(WORDS, k=words)
    chosen[chance.randrange(words - 1)] += ","
    if chance.random() < 0.15:
        chosen[-1] = chance.choice(NAMES)
    return " ".join(chosen).capitalize() + "."


def summeval_like(documents: int, outputs: int = 16, seed: int = 0) -> list[Example]:
    """Documents of 404 words on average, each with its outputs (3.1 sentences of 20 words) and one reference."""
    chance = random.Random(seed)
    made = []
    for document in range(documents):
        body = [news_sentence(chance, chance.randint(14, 26)) for _ in range(chance.randint(16, 24))]
        reference = " ".join(news_sentence(chance, 16) for _ in range(3))
        for system in range(outputs):
            count = chance.choices((1, 2, 3, 4, 5), weights=(3, 11, 65, 15, 6))[0]
            sentences = [
                chance.choice(body[:LEADING]) if chance.random() < COPIED else news_sentence(chance, 20)
                for _ in range(count)
            ]
            made.append(Example(" ".join(sentences), " ".join(body), None, (reference,), None, f"{document}-{system}"))
    return made


def with_threads(count: int) -> None:
    """Starts the script anew if it has to: libraries look at their number of threads when they are loaded."""
    wanted = dict.fromkeys(THREADS, str(count))
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores of {model}; Python {platform.python_version()}; load before the run {load:.1f}"
