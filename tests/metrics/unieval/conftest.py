"""A model that answers what it is told to and remembers what it was asked."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from quintet.models import open as opening
from quintet.models.roles import Value


class Told:
    """Answers by the text of the output's segment; a character counts as a sub-word."""

    identity = "told@1"
    max_tokens = 1024

    def __init__(self) -> None:
        self.answers: dict[str, float] = {}
        self.asked: list[tuple[str, ...]] = []
        self.last: list[tuple[str, ...]] = []

    def probabilities(self, prompts, max_tokens=None):
        self.last = [tuple(prompt) for prompt in prompts]
        self.asked += self.last
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        return [
            Value(self.answers.get(" | ".join(p), self.answers.get(p[1], 0.5)), (max(0, sum(map(len, p)) - limit), 0))
            for p in prompts
        ]


@pytest.fixture
def told(monkeypatch):
    model = Told()
    monkeypatch.setitem(opening._opened, ("fake:yes-no", "yes-no"), model)
    return model
