"""`dataset.map(scorer(task="summarization"), batched=True)` for Hugging Face datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from quintet.core.plain import Cells
from quintet.integrations.chosen import Choice, Chosen, choose, score_columns


@dataclass(frozen=True)
class BatchScorer:
    """Takes a batch (column to values) and gives the score columns, which `map` puts beside the others."""

    chosen: Chosen

    def __call__(self, batch: Cells) -> dict[str, list[float | None]]:
        # A LazyBatch of datasets is a Mapping, too, but decodes column by column.
        columns = {name: list(batch[name]) for name in batch}
        return score_columns(self.chosen.score(columns), list(columns))


def scorer(task: str | None = None, **options: Unpack[Choice]) -> BatchScorer:
    """Options: dims, metrics, columns, model, skip_bad, cache. Name `dims` so that every batch gives the same ones."""
    return BatchScorer(choose(task, **options))
