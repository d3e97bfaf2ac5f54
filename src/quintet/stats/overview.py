"""Many sets in one table: a row per set and dimension, ours with its interval beside people and published figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from quintet.data.published import Figures, published
from quintet.stats.correlate import POOLED
from quintet.stats.grid import WRITERS, Cell, Column, Grid, Row
from quintet.stats.records import CEILING, Record, decimal

OTHER = "‡"
LIKE_FOR_LIKE = 5
"""Rows by which a published figure may differ from ours before it is marked."""


def overview_table(records: Sequence[Record], answered: Mapping[tuple[str, str], str], format: str = "text") -> str:
    """`answered`: set and dimension to the task's dimension that answers it."""
    people = {(r.set, r.dimension): r for r in records if r.kind == CEILING}
    ours = [r for r in records if r.kind != CEILING]
    columns = ["answered by", "n", "level", "Spearman ρ [95 %]", "people", "UniEval", "best small", "best large"]
    rows = [_row(r, people.get((r.set, r.dimension)), answered.get((r.set, r.dimension), "")) for r in ours]
    return WRITERS[format](Grid("set, dimension", [Column(name) for name in columns], rows, _caption(ours)))


def _row(record: Record, ceiling: Record | None, by: str) -> Row:
    known = [figures for figures in published(record.set) if record.dimension in figures.values]
    interval = f"[{decimal(record.low)}, {decimal(record.high)}]" if math.isfinite(record.low) else ""
    small = [figures for figures in known if figures.kind == "small"]
    cells = [
        Cell(by),
        Cell(str(record.n)),
        Cell(record.level),
        Cell(decimal(record.spearman, 3), interval),
        Cell("" if ceiling is None else decimal(ceiling.spearman)),
        _best([figures for figures in small if figures.metric == "UniEval"], record, named=False),
        _best(small, record),
        _best([figures for figures in known if figures.kind == "large"], record),
    ]
    return Row(f"{record.set} {record.dimension}", cells)


def _best(known: Sequence[Figures], record: Record, named: bool = True) -> Cell:
    if not known:
        return Cell("")
    best = max(known, key=lambda figures: figures.values[record.dimension])
    return Cell(
        decimal(best.values[record.dimension], 3),
        best.metric if named else "",
        mark="" if like_for_like(best, record) else OTHER,
    )


def like_for_like(figures: Figures, record: Record) -> bool:
    """Whether a published figure was taken at the same level and on the same rows, as far as it says."""
    rows = figures.rows is None or abs(figures.rows - record.n) <= LIKE_FOR_LIKE
    return rows and figures.level == record.level


def _caption(records: Sequence[Record]) -> str:
    levels = dict.fromkeys(record.level for record in records)
    told = [
        f"Spearman ρ with human ratings at the level in which each set is usually quoted ({', '.join(levels)})"
        if len(levels) > 1 or POOLED not in levels
        else "Spearman ρ with human ratings, pooled",
        f"{records[0].confidence * 100:g} % bootstrap intervals ({records[0].resamples:,} resamples)",
        "People: each annotator against the mean of the others",
        "UniEval, best small (under 1 B parameters) and best large (an LLM): as published, see docs/agreement.md",
        f"{OTHER} published for other rows or another level",
    ]
    return ". ".join(told) + "."
