"""Does a passage support a statement? A quick answer by words and vectors, and any other metric that can be asked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.cache import current
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.parameters import build
from quintet.core.registry import metrics as registry
from quintet.core.score import Score
from quintet.errors import UnknownName, UserError
from quintet.metrics.rag import features
from quintet.metrics.rag.features import Embedded, Logistic
from quintet.models.open import identity, open_model

LAYER = 12
SUPPORTED = Logistic(-2.94, (1.31, 2.82, 1.52, -0.21, -0.04, 0.29))
"""On `features.SUPPORT`; fitted to the project's own written claims (training/data/written), beside their source and
beside another. It knows whether a passage speaks of the thing, not which of two like wordings is true."""


@dataclass(frozen=True)
class EmbedderMetric(Metric):
    model: str = "bundled:gte-small"

    model_role: ClassVar[str] = "embedder"

    def prepare(self) -> None:
        open_model(self.model).announce(LAYER)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def embedded(self, texts: Iterable[str]) -> dict[str, Embedded]:
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        vectors = open_model(self.model).embed(distinct, LAYER) if distinct else []
        return {text: Embedded.of(found) for text, found in zip(distinct, vectors, strict=True)}


@dataclass(frozen=True)
class Support(EmbedderMetric):
    name = "rag-support"
    dimensions = (Dimension("support", "Does the source speak for this statement?", ("source",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        vectors = self.embedded(text for e in examples for text in (e.output, e.source or ""))
        return [{"support": Score(_supported(e.output, e.source or "", vectors))} for e in examples]


def _supported(claim: str, passage: str, vectors: Mapping[str, Embedded]) -> float:
    if not passage.strip():
        return 0.0
    near = features.nearest(vectors[claim], vectors[passage])
    return SUPPORTED(features.support(claim, passage, near))


Pair = tuple[str, str]
"""A statement and a passage."""


@dataclass(frozen=True)
class RagMetric(EmbedderMetric):
    """What is built on whether passages support statements."""

    by: str = "evaluator-claims-document"
    """The metric that is asked, with parameters after a colon: any that needs a source."""
    of: str = ""
    """Which of its dimensions; by default the first."""

    def asked(self) -> Metric:
        return build(registry, self.by, model=self.model) if self.by == Support.name else build(registry, self.by)

    def prepare(self) -> None:
        self.asked().prepare()

    def model_identities(self) -> Mapping[str, str]:
        try:
            digest = hashlib.sha256(self.asked().signature.encode("utf-8")).hexdigest()[:8]
        except UserError:
            digest = "unread"
        return {"model": identity(self.model), "by": f"{self.by}@{digest}"}

    def chances(self, pairs: Iterable[Pair]) -> dict[Pair, float]:
        """P(supported) of each pair; a text without a word supports nothing and is not supported."""
        metric = self.asked()
        names = [d.name for d in metric.dimensions]
        name = self.of or names[0]
        if name not in names:
            raise UnknownName(f"dimension of {self.by}", name, names)
        about = metric.dimensions[names.index(name)]
        wanted = list(dict.fromkeys(pairs))
        full = [pair for pair in wanted if all(text.strip("\x00 \n\t") for text in pair)]
        # Several dimensions ask about the same pairs.
        known: dict[Pair, float] = current().store((RagMetric, metric.signature, name), dict)
        new = [pair for pair in full if pair not in known]
        rows = metric.score([Example(claim, source=passage) for claim, passage in new]) if new else []
        for pair, row in zip(new, rows, strict=True):
            known[pair] = _chance(row[name].value, about)
        return {pair: known.get(pair, 0.0) for pair in wanted}


def _chance(value: float, about: Dimension) -> float:
    """Log-odds become a probability; what says nothing counts as not supported."""
    if math.isnan(value):
        return 0.0
    if about.low < 0.0 or about.high is None or about.high > 1.0:
        value = 0.5 * (1.0 + math.tanh(0.5 * value))
    return min(max(value, 0.0), 1.0)
