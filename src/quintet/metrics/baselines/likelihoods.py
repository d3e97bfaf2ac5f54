"""Likelihoods of a causal or sequence model as scores: BARTScore and the gain of a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.metrics.baselines.references import no_reference, references
from quintet.metrics.role_metric import BLIND_GUESS, RoleMetric, cut_of
from quintet.models.roles import TokenScores
from quintet.text.sentences import sentences

# BARTScore (Yuan et al. 2021): how likely a sequence-to-sequence model finds one text after another.

_UNBOUNDED = -float("inf")


@dataclass(frozen=True)
class BartScore(RoleMetric):
    """Mean log-probability of the tokens, special tokens included, as the authors' script gives it."""

    model: str = "bundled:judge-lm"
    """hf:facebook/bart-large-cnn is the paper's; the bundled model only continues text, which is another thing."""
    direction: Literal["source-to-output", "reference-to-output", "output-to-reference"] = "source-to-output"
    """The first is what UniEval's tables hold. Of several references the mean is taken."""

    name = "bartscore"
    paper = "Yuan et al. 2021"

    @property
    def model_role(self) -> str:  # type: ignore[override]
        return "causal-lm" if self.model.startswith(("bundled:", "fake:causal")) else "seq2seq-lm"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = "source" if self.direction == "source-to-output" else "references"
        question = "How likely is the one text after the other?"
        return (Dimension("likelihood", question, (needs,), low=_UNBOUNDED, high=0.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        jobs = [self._pairs(example) for example in examples]
        found = iter(self.opened().log_probs([pair for pairs in jobs for pair in pairs]))
        return [{"likelihood": self._one([next(found) for _ in pairs])} for pairs in jobs]

    def _pairs(self, example: Example) -> list[tuple[str, str]]:
        if self.direction == "source-to-output":
            pairs = [(example.text("source"), example.output)]
        else:
            known = [reference.text for reference in references(example)]
            pairs = [(text, example.output) for text in known]
            pairs = pairs if self.direction == "reference-to-output" else [(b, a) for a, b in pairs]
        # A model that only continues text sees where the first one ends.
        return pairs if self.model_role == "seq2seq-lm" else [(first + "\n", second) for first, second in pairs]

    def _one(self, found: list[TokenScores]) -> Score:
        if not found:
            return no_reference(BLIND_GUESS)
        means = [float(one.log_probs.mean()) if len(one) else BLIND_GUESS for one in found]
        return Score(min(0.0, sum(means) / len(means)), cut=cut_of(output=max(one.cut for one in found)))

    def _score_empty(self, example: Example) -> Row:
        return {"likelihood": Score(BLIND_GUESS, flags=(EMPTY_OUTPUT,))}


# How much likelier a masked language model finds the source with the summary in front: the idea of BLANC.
#
# BLANC (Vasilyev et al. 2020) counts how many masked words are guessed right; here their log-probability is compared,
# which needs no threshold and works with any masked model.

_NOTHING = "."


@dataclass(frozen=True)
class LikelihoodGain(RoleMetric):
    model: str = "bundled:evaluator"
    """BLANC's is bert-base-uncased."""
    top: int = 3
    """Sentences of the source that are looked at, from its start; every token of them is masked in turn."""

    name = "likelihood-gain"
    paper = "Vasilyev et al. 2020"
    model_role = "masked-lm"
    dimensions = (
        Dimension("help", "Does the text help to understand the source?", ("source",), low=-float("inf"), high=None),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        jobs = [[piece.text for piece in sentences(e.text("source"))[: self.top]] for e in examples]
        fronts = [
            (front, f" {text}")
            for example, texts in zip(examples, jobs, strict=True)
            for text in texts
            for front in (example.output, _NOTHING)
        ]
        found = iter(self.opened().log_probs(fronts) if fronts else [])
        rows: list[Row] = []
        for texts in jobs:
            gains = [_mean(next(found)) - _mean(next(found)) for _ in texts]
            flags = () if gains else ("no sentence of the source",)
            rows.append({"help": Score(sum(gains) / len(gains) if gains else 0.0, flags=flags)})
        return rows

    def _score_empty(self, example: Example) -> Row:
        row = super()._score_empty(example)
        return {name: Score(0.0, flags=score.flags) for name, score in row.items()}


def _mean(found: TokenScores) -> float:
    return float(found.log_probs.mean()) if len(found) else 0.0
