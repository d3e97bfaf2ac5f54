"""USR-DR: the probability that this is the true response, given history and fact, or the fact (section 4.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.role_metric import RoleMetric, cut_of, probability
from quintet.metrics.usr.inputs import CONTEXT_MODEL, FACT_MODEL, Mode, context_pair, fact_pair, has_fact
from quintet.metrics.usr.likelihood import NO_HISTORY
from quintet.models.roles import Limits

RELEASED = Limits(total=128)
"""The released code: 128 tokens in all, the longer text gives way."""
LATEST = Limits(keep_first="end")
"""The end of the first text, which is the last turn, survives a cut."""
NO_FACT = "no fact"


@dataclass(frozen=True)
class DialogueRetrieval(RoleMetric):
    """DR(x=c)."""

    model: str = CONTEXT_MODEL
    mode: Mode = "quintet"
    """quintet: texts as they stand. released: `_go`/`_eos` strings of the last turn and the fact, 128 tokens, texts
    with quotation marks as a CSV writer quotes them. paper: the whole history and the fact. dialeval: DialEvalMetrics'
    context of 52 words, which also stands in for a missing fact."""
    turns: int = 1
    """How many of the last turns are shown in mode quintet."""

    name = "usr-dr-context"
    version = 2
    paper = "Mehri & Eskenazi 2020"
    model_role = "pair-classifier"
    reads = ("context",)
    dimensions = (Dimension("context", "Is this the true response to the last turn, given the fact?", ("history",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [context_pair(example, self.mode, self.turns) for example in examples]
        found = self.opened().score(pairs, LATEST if self.mode == "quintet" else RELEASED)
        return [
            {
                "context": Score(
                    probability(logits.values),
                    flags=() if example.history else (NO_HISTORY,),
                    cut=cut_of(history=logits.cut[0], output=logits.cut[1]),
                )
            }
            for example, logits in zip(examples, found, strict=True)
        ]


@dataclass(frozen=True)
class FactRetrieval(RoleMetric):
    """DR(x=f)."""

    model: str = FACT_MODEL
    mode: Mode = "quintet"

    name = "usr-dr-fact"
    version = 2
    paper = "Mehri & Eskenazi 2020"
    model_role = "pair-classifier"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        # DialEvalMetrics falls back on the history, so it can do without a fact.
        needs = ("history",) if self.mode == "dialeval" else ("context",)
        return (Dimension("fact", "Is this the true response, judged by the fact alone?", needs),)

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("context", "history") if self.mode == "dialeval" else ()

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [fact_pair(example, self.mode) for example in examples]
        found = self.opened().score(pairs, Limits() if self.mode == "quintet" else RELEASED)
        return [
            {
                "fact": Score(
                    probability(logits.values),
                    flags=() if has_fact(example) else (NO_FACT,),
                    cut=cut_of(context=logits.cut[0], output=logits.cut[1]),
                )
            }
            for example, logits in zip(examples, found, strict=True)
        ]
