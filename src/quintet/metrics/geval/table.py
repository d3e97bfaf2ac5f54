"""G-Eval's row in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry


def register(registry: Registry) -> None:
    registry.add(
        "g-eval",
        "quintet.metrics.geval.grading:GEval",
        "A question of your own, graded 1 to 5 by a language model on your server (G-Eval)",
    )
