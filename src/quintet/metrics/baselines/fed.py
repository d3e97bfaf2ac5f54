"""FED (Mehri & Eskenazi 2020): is a pleased follow-up likelier than a displeased one?"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import UnknownName
from quintet.metrics.role_metric import BLIND_GUESS, RoleMetric
from quintet.models.roles import TokenScores


@cache
def follow_ups() -> Mapping[str, Mapping[str, list[str]]]:
    """The utterances of the paper's appendix, by quality: `positive` and `negative`, either of which may be empty."""
    found: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(
        files("quintet.metrics.baselines").joinpath("fed.toml").read_text(encoding="utf-8")
    )
    return found


@dataclass(frozen=True)
class Fed(RoleMetric):
    """Mean loss of the negative follow-ups less that of the positive ones. The loss is that of the follow-up alone; the
    authors' script averages it with that of the dialogue before it."""

    model: str = "bundled:judge-lm"
    """hf:microsoft/DialoGPT-large is the paper's."""
    ask: str = "interesting"
    """One of FED's qualities, of a turn or of a whole dialogue."""

    name = "fed"
    paper = "Mehri & Eskenazi 2020"
    model_role = "causal-lm"
    reads = ("history",)

    def __post_init__(self) -> None:
        if self.ask not in follow_ups():
            raise UnknownName("quality of fed", self.ask, follow_ups())

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (Dimension(self.ask, "Would the next speaker sound pleased?", low=-float("inf"), high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        said = follow_ups()[self.ask]
        texts = [*said["positive"], *said["negative"]]
        pairs = [((*(example.history or ()), example.output), text) for example in examples for text in texts]
        found = iter(self.opened().log_probs(pairs))
        rows: list[Row] = []
        for _ in examples:
            losses = [
                -float(one.log_probs.mean()) if len(one) else -BLIND_GUESS for one in (next(found) for _ in texts)
            ]
            split = len(said["positive"])
            parts = {"positive": _mean(losses[:split]), "negative": _mean(losses[split:])}
            rows.append({self.ask: Score(parts["negative"] - parts["positive"], parts=parts)})
        return rows

    def _score_empty(self, example: Example) -> Row:
        return {self.ask: Score(BLIND_GUESS, flags=(EMPTY_OUTPUT,))}


def _loss(found: TokenScores) -> float:
    return -float(found.log_probs.mean()) if len(found) else -BLIND_GUESS


def _mean(values: Sequence[float]) -> float:
    """Over none it is 0, as in the release: several qualities have no positive follow-up."""
    return sum(values) / max(len(values), 1)
