"""GRUEN's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry


def register(registry: Registry) -> None:
    registry.add(
        "gruen-redundancy",
        "quintet.metrics.gruen.redundancy:Redundancy",
        "Sentence pairs that say the same thing, by four tests (GRUEN section 3.2)",
    )
