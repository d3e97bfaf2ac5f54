"""Random models of the right architectures, and examples of every task."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from quintet.core.example import Example


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    return [
        Example(
            "The cat sat on the mat. It wasn’t  RAINING.",
            source="A dog barked at the old house while the cat sat on the mat, and the rain fell.",
            context="the cat sat on the mat all day long",
            references=("The cat sat on the mat while rain fell.", "A cat sat."),
            history=("Is the cat there?", "Yes, it sat on the mat."),
            id="one",
        ),
        Example(
            "Unbelievable misunderstandings are seldom reasonable",
            source="No.",
            context="A dog barked.",
            references=("No",),
            history=("Yes",),
            id="two",
        ),
        Example("dog", source="The dog looked at it. " * 3, context="dog", references=("dog",), history=(), id="three"),
    ]
