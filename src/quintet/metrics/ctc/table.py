"""CTC's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "ctc-consistency": ("Consistency", "Output words backed by the source (CTC eq. 2)"),
    "ctc-relevance": ("Relevance", "Output in source times references in output (CTC eq. 3)"),
    "ctc-preservation": ("Preservation", "Both directions between input and rewrite (CTC eq. 4)"),
    "ctc-engagingness": ("Engagingness", "Content words backed by fact and history, summed (CTC eq. 5)"),
    "ctc-groundedness": ("Groundedness", "Content words backed by the fact, summed (CTC eq. 6)"),
    "ctc-informativeness": ("Informativeness", "Reference words found in the output (CTC's recall direction)"),
}


def register(registry: Registry) -> None:
    for name, (cls, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.ctc.aspects:{cls}", summary)
