"""The fake of the role that answers every question at once: rules of thumb about words, no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from quintet.models.fake_roles import VERSION, backed, entailment, fluency, support, supported_words, tokens
from quintet.models.roles import Judgement

QUESTIONS = ("sel", "coh", "cohd", "acc", "con", "adq", "rel", "cov", "d2t", "gro", "ord", "abba", "abac")
ALONE = frozenset({"coh", "acc"})
"""Questions about the output by itself."""
OF_THE_GROUNDS = frozenset({"cov", "adq", "rel", "d2t"})
"""Questions that ask what the output says of its grounds; the others ask what the grounds say of the output."""


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
            {name: self._logit(name, seen, beside) for name in self.questions},
            entailment(seen, beside),
            starts,
            ends,
            supported_words(output, kept, beside),
            self._pooled(seen, beside),
            (len(spans) - len(kept), lost),
        )

    @staticmethod
    def _logit(name: str, output: str, grounds: str) -> float:
        moved = hashlib.blake2b(name.encode(), digest_size=1).digest()[0] / 512
        if name in ALONE or not grounds:
            return fluency(output) + moved
        if name in OF_THE_GROUNDS:
            return 0.5 * fluency(output) + 4 * support(grounds, output) - 2 + moved
        return backed(output, grounds) + moved

    def _pooled(self, output: str, grounds: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        raw = hashlib.shake_128(f"{output}\0{grounds}".encode("utf-8", "surrogatepass")).digest(2 * self.width)
        return np.frombuffer(raw, "<u2").astype(np.float32) / np.float32(32767.5) - np.float32(1)
