"""`compute(predictions=…, references=…)` as Hugging Face `evaluate` has it, with or without that library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from quintet._version import __version__
from quintet.core.plain import Cells, Foreign, JsonObject
from quintet.errors import MissingExtra
from quintet.integrations.chosen import Choice, Chosen, choose

TEXTS = ("sources", "contexts")
LISTS = ("references", "histories")
_FIELD = {"references": "references", "sources": "source", "contexts": "context", "histories": "history"}


@dataclass(frozen=True)
class QuintetMetric:
    chosen: Chosen

    def compute(
        self, *, predictions: Sequence[str], references: Sequence[Any] | None = None, **beside: Foreign
    ) -> JsonObject:
        """Mean, scores and signature by dimension; beside the references: sources, contexts, histories."""
        return compute(self.chosen, predictions, {"references": references, **beside})


def load(task: str | None = None, **options: Unpack[Choice]) -> QuintetMetric:
    """Options: dims, metrics, model, skip_bad, cache."""
    return QuintetMetric(choose(task, **options))


def compute(chosen: Chosen, predictions: Sequence[str], beside: Cells) -> JsonObject:
    from quintet.errors import UnknownName

    columns: JsonObject = {"output": list(predictions)}
    for name, values in beside.items():
        if name not in _FIELD:
            raise UnknownName("argument of compute", name, ("predictions", *_FIELD))
        if values is not None:
            columns[_FIELD[name]] = list(values)
    result = chosen.score(columns)
    found: JsonObject = dict(result.means())
    found.update({f"{name}_scores": result[name] for name in result.columns})
    found["signatures"] = dict(result.signatures)
    return found


def as_evaluation_module(
    task: str | None = None, *, inputs: Sequence[str] = ("references",), **options: Unpack[Choice]
) -> Foreign:
    """A real `evaluate.Metric` with add, add_batch and compute; `inputs` names what is handed in beside predictions."""
    try:
        import datasets
        import evaluate
    except ImportError:
        raise MissingExtra("evaluate", "evaluate", "an evaluation module") from None

    chosen = choose(task, **options)
    text = datasets.Value("string")
    features = {
        name: text if name in ("predictions", *TEXTS) else datasets.Sequence(text) for name in ("predictions", *inputs)
    }

    class EvaluationModule(evaluate.Metric):
        def _info(self) -> Foreign:
            about = f"quintet {__version__}: {task or ', '.join(map(str, chosen.metrics or ()))}"
            return evaluate.MetricInfo(
                description=about, citation="", inputs_description="", features=datasets.Features(features)
            )

        def _compute(self, predictions: Sequence[str], **beside: Foreign) -> JsonObject:
            return compute(chosen, predictions, beside)

    return EvaluationModule(module_name=f"quintet-{task or 'metrics'}")
