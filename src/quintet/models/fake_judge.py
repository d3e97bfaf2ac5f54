"""The fake of the role that answers every question at once: rules of thumb about words, no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from quintet.models.fake_roles import COMMON, QUESTIONS, VERSION, answer, entailment, support, supported_words, tokens
from quintet.models.roles import Judgement, Reading


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


class FakeReader:
    """A claim is supported by the share of its words that the context has; a negation that the context lacks, or the
    other way round, contradicts."""

    identity = f"fake-reader@{VERSION}"
    max_tokens = 380

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def read(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[Reading, ...]]:
        return [tuple(self._one(context, claim) for claim in claims) for context, claims in asked]

    def _one(self, context: str, claim: str) -> Reading:
        places = tokens(context)
        lost = max(0, len(places) - self.max_tokens)
        seen = context[: places[self.max_tokens - 1][1]] if lost else context
        spans = tokens(claim)[:120]
        share = 0.02 + 0.96 * support(claim, seen) ** 3
        denied = (" not " in f" {claim.lower()} ") != (" not " in f" {seen.lower()} ")
        contradicted = (0.8 if denied else 0.3) * (1 - share)
        starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
        faults = 1 - supported_words(claim, spans, seen)
        common = np.array([claim[a:b].lower() in COMMON for a, b in spans], bool)
        faults[common] = 0.05
        cut = (lost, len(tokens(claim)) - len(spans))
        return Reading(share, contradicted, 1 - share - contradicted, share, starts, ends, faults, cut)
