"""What the service offers, as data: metrics, models, tasks. Computed once; no path of this machine is in it."""

from __future__ import annotations

from functools import cache
from typing import Any

from quintet.core.task import read_tasks
from quintet.errors import ModelError
from quintet.models.catalog import Entry
from quintet.server.scoring import finite


@cache
def metrics() -> list[dict[str, Any]]:
    from quintet.metrics import metrics as registry

    rows = []
    for entry in registry:
        metric = entry.build()
        rows.append(
            {
                "name": entry.name,
                "summary": entry.summary,
                "paper": metric.paper,
                "dimensions": [
                    {
                        "name": d.name,
                        "question": d.question,
                        "needs": list(d.needs),
                        "low": finite(d.low),
                        "high": finite(d.high),
                        "higher_is_better": d.higher_is_better,
                    }
                    for d in metric.dimensions
                ],
            }
        )
    return rows


@cache
def metric_names() -> list[str]:
    """Without building them: the description of the service must not load a model's library."""
    from quintet.metrics import metrics as registry

    return [entry.name for entry in registry]


@cache
def models() -> list[dict[str, Any]]:
    from quintet.models.catalog import bundled

    return [
        {
            "name": f"bundled:{model.name}",
            "role": model.role,
            "heads": _heads(model),
            "bytes": model.size,
            "licence": model.licence,
            "sha256": model.sha256,
        }
        for model in bundled()
    ]


@cache
def model_names() -> list[str]:
    """As a request may write them: a model, or one of its heads."""
    return [name for model in models() for name in (model["name"], *(f"{model['name']}#{h}" for h in model["heads"]))]


def _heads(model: Entry) -> list[str]:
    from quintet.models.folder import describe

    try:
        return list(describe(model.folder).heads)
    except ModelError:  # not on this machine: asking it anything says so
        return []


@cache
def tasks() -> list[dict[str, Any]]:
    return [
        {
            "name": task.name,
            "about": task.about,
            "dimensions": [
                {
                    "name": name,
                    "question": wanted.dimension.question,
                    "needs": list(wanted.dimension.needs),
                    "metric": wanted.metric,
                }
                for name, wanted in task.dimensions.items()
            ],
        }
        for task in read_tasks().values()
    ]
