"""lm-evaluation-harness: scores of what a model wrote, as `process_results` of a task. A file beside the task's YAML,

    from quintet.integrations.lm_eval_results import results
    process = results("summarization", dims=["consistency"])

and in the YAML

    process_results: !function scores.process
    metric_list:
      - {metric: consistency, aggregation: mean, higher_is_better: true}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from quintet.core.plain import Cells
from quintet.integrations.chosen import Choice, choose
from quintet.io.columns import parse_columns

OUTPUT = "model_output"


def results(task: str | None = None, **options: Unpack[Choice]) -> Callable[[Cells, Sequence[Any]], dict[str, float]]:
    """A function of a document and the model's outputs. The document's own columns are read as those of a file.

    What has no score is left out of the mean. Options: dims, metrics, model, fast, cache.
    """
    settled: Any = {**parse_columns(options.get("columns")), "output": (OUTPUT,)}
    options["columns"] = settled
    options.setdefault("skip_bad", True)
    chosen = choose(task, **options)

    def process(doc: Cells, outputs: Sequence[object]) -> dict[str, float]:
        first = outputs[0] if outputs else ""
        while isinstance(first, list | tuple):  # several samples of one document
            first = first[0] if first else ""
        scores = chosen.score([{**doc, OUTPUT: str(first)}])[0]
        return {label: score.value for label, score in scores.items() if not score.missing}

    return process
