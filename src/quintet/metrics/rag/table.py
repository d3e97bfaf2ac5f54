"""The rows of assistants' answers in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_HERE = "quintet.metrics.rag"
_ROWS = {
    "conversation-consistency": ("conversation:Consistency", "Does the reply agree with what was said before?"),
    "conversation-retention": ("conversation:Retention", "Does the reply ask again what the user said already?"),
    "rag-answer-relevance": ("answers:AnswerRelevance", "Does the output answer the question?"),
    "rag-context-relevance": ("answers:ContextRelevance", "Do the contexts hold an answer to the question?"),
    "rag-context-precision": ("against:ContextPrecision", "Do the contexts that are needed come first?"),
    "rag-context-recall": ("against:ContextRecall", "Do the contexts hold what the reference says?"),
    "rag-answer-correctness": ("against:AnswerCorrectness", "Is the answer right, by the reference?"),
    "rag-noise-sensitivity": (
        "against:NoiseSensitivity",
        "Taken from the contexts though the reference differs",
    ),
    "rag-support": ("support:Support", "Does the source speak for a statement? By words and vectors"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(name, f"{_HERE}.{target}", summary)
