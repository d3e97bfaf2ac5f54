"""Which sentences of a long text matter."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys

import pytest

from quintet.text.passages import Passages
from quintet.text.tokens import words

VOCABULARY = ["the", "of", "a", "river", "bridge", "council", "engineer", "crack", "repair", "delay", "cost", "winter"]


def made(count: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(VOCABULARY, k=chance.randint(1, 9))) + "." for _ in range(count)]


def by_its_definition(sentences: list[str]) -> list[float]:
    """Each sentence with each other."""
    bags = [{word.text.casefold() for word in words(sentence)} for sentence in sentences]

    def rarity(word: str) -> float:
        return math.log(1 + len(bags) / sum(word in bag for bag in bags))

    found = [
        sum(
            sum(map(rarity, own & other)) / math.sqrt((1 + len(own)) * (1 + len(other)))
            for place, other in enumerate(bags)
            if place != at
        )
        for at, own in enumerate(bags)
    ]
    most = max(found, default=0.0) or 1.0
    return [value / most for value in found]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 30])
def test_centrality_is_what_sentences_share_with_all_others(count: int) -> None:
    for seed in range(5):
        assert Passages(made(count, seed)).centrality == pytest.approx(by_its_definition(made(count, seed)), abs=1e-12)


def test_what_is_chosen_is_the_same_in_every_process() -> None:
    """Sets of words have another order in each, and sums another last digit: enough to turn a tie."""
    code = (
        "import json, sys; from quintet.text.passages import Passages\n"
        "made = json.loads(sys.argv[1]); passages = Passages(made)\n"
        "print([value.hex() for value in passages.centrality], [passages.ranked(one) for one in made])"
    )
    command = [sys.executable, "-c", code, json.dumps(made(40))]
    found = {
        subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, text=True)
        for seed in range(1, 5)
    }
    assert len(found) == 1
