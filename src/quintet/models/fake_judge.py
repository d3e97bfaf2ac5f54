"""The fake of the role that answers every question at once: rules of thumb about words, no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from quintet.models.fake_roles import QUESTIONS, VERSION, answer, entailment, supported_words, tokens
from quintet.models.roles import Judgement


class FakeJudge:
    """Fluent outputs whose words stand in their grounds are good; each question is moved a little, by its name."""

    identity = f"fake-judge@{VERSION}"
    max_tokens = 512
    longest_output = 190
    width = 384
    questions = QUESTIONS
    together: frozenset[str] = frozenset()

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def foresee(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> None:
        """Rules of thumb need no plan."""

    def judge(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> list[Judgement]:
        return [self._one(output, tuple(grounds)) for output, grounds in pairs]

    def _one(self, output: str, grounds: tuple[str, ...]) -> Judgement:
        spans = tokens(output)
        kept = spans[: self.longest_output]
        seen = output[: kept[-1][1]] if kept else ""
        places = tokens("\n".join(grounds))
        lost = max(0, len(places) - (self.max_tokens - 2))
        beside = "\n".join(grounds)
        if lost:
            beside = beside[places[lost][0] :] if len(grounds) > 1 else beside[: places[len(places) - lost - 1][1]]
        starts, ends = np.array(kept, np.int32).reshape(-1, 2).T
        return Judgement(
            {name: answer(name, seen, beside) for name in self.questions},
            entailment(seen, beside),
            starts,
            ends,
            supported_words(output, kept, beside),
            self._pooled(seen, beside),
            (len(spans) - len(kept), lost),
        )

    def _pooled(self, output: str, grounds: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        raw = hashlib.shake_128(f"{output}\0{grounds}".encode("utf-8", "surrogatepass")).digest(2 * self.width)
        return np.frombuffer(raw, "<u2").astype(np.float32) / np.float32(32767.5) - np.float32(1)
