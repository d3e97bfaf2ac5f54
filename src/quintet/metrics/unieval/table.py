"""UniEval's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "unieval-summarization": (
        "Summarization",
        "Coherence, consistency, fluency, relevance as yes/no questions (UniEval)",
    ),
    "unieval-dialogue": ("Dialogue", "Naturalness, coherence, engagingness, groundedness, understandability (UniEval)"),
    "unieval-data2text": ("DataToText", "Naturalness and informativeness, zero-shot (UniEval)"),
    "unieval-fact": ("Fact", "Is each sentence consistent with the document (UniEval-fact)"),
    "unieval-question": ("Question", "Any yes/no question of your own, zero-shot (UniEval)"),
}


def register(registry: Registry) -> None:
    for name, (cls, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.unieval.tasks:{cls}", summary)
