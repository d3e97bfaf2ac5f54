"""MLflow: a scorer for `mlflow.genai.evaluate`, and a Result logged to a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Unpack

from quintet.core.evidence import weakest
from quintet.core.plain import Foreign, JsonObject
from quintet.core.result import Result
from quintet.core.score import Score
from quintet.errors import MissingExtra
from quintet.integrations.chosen import Choice, choose_for_rows, row_of

_ODD = re.compile(r"[^\w\-./ ]")


def log_result(result: Result, prefix: str = "quintet/", *, rows: bool = True) -> None:
    """Means with intervals as metrics, signatures as a dictionary, rows as a table, in the active run."""
    mlflow = _mlflow()
    import numpy as np

    from quintet.stats.significance import mean_interval

    for column in result.columns:
        values = np.array(result[column])
        values = values[np.isfinite(values)]
        if len(values):
            name = _ODD.sub("_", prefix + column)
            mlflow.log_metric(name, float(values.mean()))
            if len(values) > 1:
                low, high = mean_interval(values)
                mlflow.log_metrics({f"{name}.low": low, f"{name}.high": high})
            mlflow.log_metric(f"{name}.n", len(values))
    mlflow.log_dict({"signatures": dict(result.signatures), "left_out": dict(result.left_out)}, "quintet/scores.json")
    if rows:
        mlflow.log_dict({"rows": result.to_dicts()}, "quintet/rows.json")


def scorer(task: str | None = None, *, name: str = "quintet", **options: Unpack[Choice]) -> Foreign:
    """For `mlflow.genai.evaluate(data, scorers=[scorer("fact")])`.

    `outputs` is the text; source, context and history are looked for in `inputs`, references in `expectations`, by the
    names that files have, too (document, expected_response), or by `columns`. Options: dims, metrics, model, cache.
    """
    _mlflow()
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer as decorate

    options.setdefault("skip_bad", True)
    chosen = choose_for_rows(task, **options)

    def judge(inputs: object = None, outputs: object = None, expectations: object = None) -> list[object]:
        row = row_of(_text(outputs), inputs=inputs, references=expectations)
        return [Feedback(**_feedback(*found)) for found in _scores(chosen.score([row]))]

    return decorate(judge, name=name)


def _scores(result: Result) -> list[tuple[str, Score, str, str]]:
    (row,) = result.rows
    output = row.item.example.output if row.item.example else ""
    return [
        (label, score, "; ".join(filter(None, [weakest(score, output), *score.flags])), result.signatures[label])
        for label, score in row.scores.items()
    ]


def _feedback(label: str, score: Score, evidence: str, signature: str) -> JsonObject:
    from mlflow.entities import AssessmentSource

    source = AssessmentSource(source_type="CODE", source_id="quintet")
    kept = {"name": _ODD.sub("_", label), "source": source, "metadata": {"signature": signature}}
    if score.missing:
        return {**kept, "value": None, "error": ValueError(evidence or "no score")}
    return {**kept, "value": score.value, "rationale": evidence or None}


def _text(outputs: object) -> str:
    if isinstance(outputs, Mapping) and len(outputs) == 1:
        outputs = next(iter(outputs.values()))
    return outputs if isinstance(outputs, str) else "" if outputs is None else str(outputs)


def _mlflow() -> Foreign:
    try:
        import mlflow
    except ImportError:
        raise MissingExtra("mlflow", "mlflow", "logging to MLflow") from None
    return mlflow
