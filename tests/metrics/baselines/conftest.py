"""Made-up pairs of texts: everyday words, repetitions, punctuation, numbers, and some that no tokenizer likes."""

import random

import pytest

from quintet.core.example import Example

WORDS = (
    "the a an cat cats sat sitting on mat mats dog runs running ran quickly nation national nations U.S. 3.5 1,000 "
    "don't it's well-known happy happily agreed agreement , . ! ? ; : ( ) \" ' % $ Ångström naïve İstanbul 你好 🙂 The "
    "A news skies dying relational 12:30 email@example.com"
)


def random_text(rng: random.Random, longest: int = 25) -> str:
    return " ".join(rng.choice(WORDS.split()) for _ in range(rng.randint(1, longest)))


@pytest.fixture(scope="session")
def pairs() -> list[Example]:
    """150 outputs, each with one to three references; every third shares most words with its first reference."""
    rng = random.Random(20)
    made = []
    for number in range(150):
        references = [random_text(rng) for _ in range(rng.randint(1, 3))]
        output = random_text(rng)
        if number % 3 == 0:
            words = references[0].split()
            rng.shuffle(words)
            output = " ".join(words[: max(1, len(words) * 3 // 4)])
        made.append(Example(output, references=tuple(references), id=str(number)))
    return made
