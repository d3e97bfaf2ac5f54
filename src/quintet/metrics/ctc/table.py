"""CTC's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "ctc-consistency": ("aspects:Consistency", "Output words backed by the source (CTC eq. 2)"),
    "ctc-relevance": ("aspects:Relevance", "Output in source times references in output (CTC eq. 3)"),
    "ctc-preservation": ("aspects:Preservation", "Both directions between input and rewrite (CTC eq. 4)"),
    "ctc-engagingness": ("dialogue:Engagingness", "Content words backed by fact and history, summed (CTC eq. 5)"),
    "ctc-groundedness": ("dialogue:Groundedness", "Content words backed by the fact, summed (CTC eq. 6)"),
    "ctc-dialogue": ("dialogue:DialogueAlignment", "Content words backed by fact and history, mean (CTC Table F.6)"),
    "ctc-informativeness": ("aspects:Informativeness", "Reference words found in the output (CTC's recall direction)"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.ctc.{target}", summary)
