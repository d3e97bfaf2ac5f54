"""D-MLM: how a masked language model of dialogue finds the response on its own (IM2 section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.metrics.im2.inputs import LM_MODEL
from quintet.metrics.role_metric import BLIND_GUESS, RoleMetric, cut_of


@dataclass(frozen=True)
class DialogueMlm(RoleMetric):
    """Each sub-word of the response masked in turn; the mean log-probability.

    Whether likely or unlikely words make a response specific is not said in the paper. The sign is a matter of the
    constants in a table of weights: a negative `scale` turns it round.
    """

    model: str = LM_MODEL
    measure: Literal["mean", "sum"] = "mean"
    """mean: the released code's nce; sum: minus its nll."""

    name = "im2-dmlm"
    paper = "Jiang et al. 2022"
    model_role = "masked-lm"
    dimensions = (
        Dimension("specificity", "Does the response use the words of dialogue?", low=-float("inf"), high=0.0),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        rows: list[Row] = []
        for found in self.opened().log_probs([example.output for example in examples], "each"):
            if not len(found):
                rows.append({"specificity": Score(BLIND_GUESS, flags=("no sub-words",))})
                continue
            total = float(found.log_probs.sum(dtype=np.float64))
            mean = total / len(found)
            parts = {"mean": mean, "sum": total, "perplexity": math.exp(min(-mean, 50.0))}
            value = min(0.0, parts[self.measure])
            rows.append({"specificity": Score(value, parts=parts, cut=cut_of(output=found.cut))})
        return rows

    def _score_empty(self, example: Example) -> Row:
        return {"specificity": Score(BLIND_GUESS, flags=(EMPTY_OUTPUT,))}
