"""The rows of retrieval-augmented answers in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_HERE = "quintet.metrics.rag"
_ROWS = {
    "answer-relevance": ("answers:AnswerRelevance", "Does the output answer the question?"),
    "context-relevance": ("answers:ContextRelevance", "Do the contexts hold an answer to the question?"),
    "context-precision": ("against:ContextPrecision", "Do the contexts that are needed come first?"),
    "context-recall": ("against:ContextRecall", "Do the contexts hold what the reference says?"),
    "answer-correctness": ("against:AnswerCorrectness", "Is the answer right, by the reference?"),
    "noise-sensitivity": ("against:NoiseSensitivity", "What was taken from the contexts though the reference differs"),
    "support": ("support:Support", "Does the source speak for a statement? By words and vectors"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(f"rag-{name}", f"{_HERE}.{target}", summary)
