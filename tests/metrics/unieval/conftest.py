"""A model that answers what it is told to and remembers what it was asked."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from quintet.models import open as opening
from quintet.models.roles import YES_NO, Answer


class Told:
    """Answers by the text of the output's segment; a character counts as a sub-word."""

    identity = "told@1"
    max_tokens = 1024

    def __init__(self) -> None:
        self.told: dict[str, float] = {}
        self.asked: list[tuple[str, ...]] = []
        self.last: list[tuple[str, ...]] = []

    def answers(self, prompts, options=YES_NO, *, max_tokens=None, samples=1):
        self.last = [tuple(prompt) for prompt in prompts]
        self.asked += self.last
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        return [
            Answer.yes(self.told.get(" | ".join(p), self.told.get(p[1], 0.5)), max(0, sum(map(len, p)) - limit))
            for p in prompts
        ]


@pytest.fixture
def told(monkeypatch):
    model = Told()
    monkeypatch.setitem(opening._opened, ("fake:yes-no", "yes-no"), model)
    return model
