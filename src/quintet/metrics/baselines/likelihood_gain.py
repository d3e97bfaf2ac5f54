"""How much likelier a masked language model finds the source with the summary in front: the idea of BLANC.

BLANC (Vasilyev et al. 2020) counts how many masked words are guessed right; here their log-probability is compared,
which needs no threshold and works with any masked model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.role_metric import RoleMetric
from quintet.models.roles import TokenScores
from quintet.text.sentences import sentences

_NOTHING = "."


@dataclass(frozen=True)
class LikelihoodGain(RoleMetric):
    model: str = "bundled:evaluator"
    """BLANC's is bert-base-uncased."""
    top: int = 3
    """Sentences of the source that are looked at, from its start; every sub-word of them is masked in turn."""

    name = "likelihood-gain"
    paper = "Vasilyev et al. 2020"
    model_role = "masked-lm"
    dimensions = (
        Dimension("help", "Does the text help to understand the source?", ("source",), low=-float("inf"), high=None),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        jobs = [[piece.text for piece in sentences(e.text("source"))[: self.top]] for e in examples]
        fronts = [
            (front, text)
            for example, texts in zip(examples, jobs, strict=True)
            for text in texts
            for front in (example.output, _NOTHING)
        ]
        asked = [f"{front} {text}" for front, text in fronts]
        found = iter(self.opened().log_probs(asked, "each", after=[len(front) for front, _ in fronts]) if asked else [])
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
