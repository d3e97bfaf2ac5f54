"""Figures of the papers' tables that are no correlations: each a function of what is needed and a cell's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quintet.core.blend import read_table
from quintet.data.benchmark import Benchmark
from quintet.data.rated import canonical
from quintet.metrics.gruen.redundancy import Redundancy
from quintet.reproduce.printed import Block, Column, Row
from quintet.stats.agreement import pairwise_agreement, regress

Load = Callable[[Column], Benchmark]


def agreement(load: Load, block: Block, row: Row, column: Column) -> float:
    """Of people with people (USR, Table 1)."""
    table = load(column).annotators[_named(block, row)]
    return float(pairwise_agreement(table).values[column.statistic])


def system_means(load: Load, block: Block, row: Row, column: Column) -> float:
    """A system's mean rating (USR, Table 2)."""
    return load(column).system_means()[_named(block, row)][column.dimension]


def regression(load: Load, block: Block, row: Row, column: Column) -> float:
    """Of the overall rating on the other qualities, over the mean ratings of all responses (USR, section 3.5)."""
    ratings = dict(load(column).ratings)
    return regress(ratings, ratings.pop("overall")).spearman


def redundancy(load: Load, block: Block, row: Row, column: Column) -> str:
    """Which of GRUEN's four tests a pair of sentences fails (Table 10)."""
    return Redundancy().flags(*block.facts["texts"][row.label])


def weights(load: Load, block: Block, row: Row, column: Column) -> float:
    """IM2's published weights (Table 2)."""
    rows = [r for category in ("nuf", "cr", "ies", "im2") for r in read_table(f"im2/published/{category}")["signals"]]
    return float(next(r["weight"] for r in rows if r["label"] == row.label))


def _named(block: Block, row: Row) -> str:
    same: Mapping[str, str] = block.facts.get("same", {})
    return same.get(row.label, canonical(row.label) if block.facts["measure"] == "agreement" else row.label)


MEASURES: Mapping[str, Callable[[Load, Block, Row, Column], float | str]] = {
    "agreement": agreement,
    "system-means": system_means,
    "regression": regression,
    "redundancy": redundancy,
    "weights": weights,
}
