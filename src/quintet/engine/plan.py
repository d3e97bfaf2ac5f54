"""What a run will compute: columns of the result, grouped by the metric that fills them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.item import Item
from quintet.core.metric import Metric

CHUNK_ROWS = 256
CHUNK_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """One number per example: the dimension `dimension` of `metric`, shown as `label`."""

    label: str
    metric: Metric
    dimension: str

    @property
    def about(self) -> Dimension:
        return next(d for d in self.metric.dimensions if d.name == self.dimension)


def by_metric(columns: Sequence[Column]) -> dict[Metric, list[Column]]:
    """Equal metrics are run once however many columns they fill."""
    groups: dict[Metric, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.metric, []).append(column)
    return groups


def chunks(
    items: Iterable[Item], rows: int = CHUNK_ROWS, characters: int = CHUNK_CHARACTERS
) -> Iterator[list[Item]]:
    """Runs of items in order, bounded in rows and in text so that memory stays flat."""
    chunk: list[Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += _length(item)
        if len(chunk) >= rows or size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _length(item: Item) -> int:
    example = item.example
    if example is None:
        return 0
    return sum(len(example.text(f)) for f in ("output", "source", "context", "references", "history"))
