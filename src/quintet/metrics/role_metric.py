"""What metrics on a model role share: which model, opening it, and naming it in the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.composite import Composite
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import UserError
from quintet.models.open import identity, open_model

BLIND_GUESS = -float(np.log(50_265))
"""Log-probability of one of RoBERTa's 50,265 sub-words by a model that knows nothing: what an empty text is given."""


@dataclass(frozen=True)
class RoleMetric(Metric):
    """A metric on one model."""

    model: str = ""

    model_role: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    """Fields that are looked at where they are there, beyond those that must be."""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().fields, *self.reads)))

    def opened(self) -> Any:
        return open_model(self.model, self.model_role)

    def prepare(self) -> None:
        self.opened()

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}


@dataclass(frozen=True)
class RoleComposite(Composite):
    """A composite whose `model_…` parameters are handed to its ingredients."""

    model_roles: ClassVar[Mapping[str, str]] = {}

    def model_identities(self) -> Mapping[str, str]:
        # The parameters name specs; what stands behind them is what makes the number.
        return {**{key: identity(getattr(self, key)) for key in self.model_roles}, **super().model_identities()}

    def _score_empty(self, example: Example) -> Row:
        """What the ingredients give for an empty text, put together."""
        rows = {metric: metric._score_empty(example) for metric in self.ingredients}
        return {
            name: Score(score.value, parts=score.parts, flags=(EMPTY_OUTPUT,))
            for name, score in self.combine(example, rows).items()
        }


def weights_identity(recipe: str, digest: Any) -> str:
    """Name and digest of a table of weights; a table that cannot be read says so when it is used."""
    try:
        return f"{recipe}@{digest(recipe)}"
    except UserError:
        return f"{recipe}@unread"


def probability(logits: NDArray[np.float32]) -> float:
    """Of the last class of two; a model with one output gives the log-odds."""
    odds = float(logits[0]) if len(logits) == 1 else float(logits[1]) - float(logits[0])
    return float(0.5 * (1.0 + np.tanh(0.5 * odds)))


def cut_of(**counts: int) -> dict[str, int]:
    """What was not seen, by field; fields that were seen whole are left out."""
    return {field: count for field, count in counts.items() if count}


def last_turns(example: Example, count: int | None = 1) -> Sequence[str]:
    """The last `count` turns of the history (None: all of them), oldest first."""
    turns = example.history or ()
    return turns if count is None else turns[len(turns) - min(count, len(turns)) :]
