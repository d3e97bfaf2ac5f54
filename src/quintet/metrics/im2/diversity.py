"""Dist-n: how uncommon the n-grams of a response are (IM2 section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.im2.ngram_table import NgramTable, read_table, released_score, stretched, table_identity


@dataclass(frozen=True)
class DistN(Metric):
    table: str | None = None
    """A file of n-gram counts (see `ngram_table`); None: bigrams of the bundled dialogue table. With `quintet bench`,
    `set`: those of the set itself, cut at blanks, as released."""
    mode: Literal["quintet", "released"] = "quintet"
    """quintet: rarity of the n-grams, a repeated one counted once. released: mean of -p ln p over distinct n-grams,
    stretched by the table's own least and greatest; common n-grams score higher there."""

    name = "im2-dist"
    paper = "Jiang et al. 2022"
    dimensions = (Dimension("diversity", "Does the response use words that are not in every response?"),)

    def prepare(self) -> None:
        read_table(self.table)

    def model_identities(self) -> Mapping[str, str]:
        return {"table": table_identity(self.table)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        table = read_table(self.table)
        return [{"diversity": self._one(example.output, table)} for example in examples]

    def _one(self, text: str, table: NgramTable) -> Score:
        units = table.split(text)
        distinct = dict.fromkeys(units)
        parts = {"n-grams": float(len(units)), "distinct": float(len(distinct))}
        if self.mode == "quintet":
            return Score(math.fsum(table.rarity(unit) for unit in distinct) / len(units), parts=parts)
        raw = released_score(units, table)
        parts["entropy"] = raw
        return Score(stretched(raw, table), parts=parts)
