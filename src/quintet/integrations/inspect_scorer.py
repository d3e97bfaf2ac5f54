"""Inspect AI: a scorer for `Task(dataset, scorer=quintet_scorer("fact"))`."""

from __future__ import annotations

import asyncio
from typing import Unpack

from quintet.core.evidence import weakest
from quintet.core.plain import Foreign, JsonObject
from quintet.core.result import Result
from quintet.errors import MissingExtra
from quintet.integrations.chosen import Choice, choose_for_rows, row_of


def quintet_scorer(task: str | None = None, **options: Unpack[Choice]) -> Foreign:
    """The model's completion is the output, the sample's input its source, the target its references.

    What stands in the sample's metadata under the name of a field (source, context, history, references) comes first.
    One value per dimension, with mean and standard error. Options: dims, metrics, columns, model, cache.
    """
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ImportError:
        raise MissingExtra("inspect-ai", "inspect", "a scorer for Inspect") from None
    options.setdefault("skip_bad", True)
    chosen = choose_for_rows(task, **options)

    @scorer(metrics={"*": [mean(), stderr()]}, name="quintet")
    def make() -> Foreign:
        async def score(state: Foreign, target: Foreign) -> Foreign:
            row = row_of(state.output.completion, **sample_fields(state, target))
            # Scoring is work for a core, not for the event loop.
            result = await asyncio.to_thread(chosen.score, [row])
            return Score(answer=state.output.completion, **_parts(result))

        return score

    return make()


def sample_fields(state: Foreign, target: Foreign) -> JsonObject:
    references = [text for text in target if text]
    found = {"source": state.input_text, **({"references": references} if references else {})}
    given = state.metadata or {}
    return {**found, **{name: given[name] for name in ("source", "context", "history", "references") if name in given}}


def _parts(result: Result) -> JsonObject:
    (row,) = result.rows
    output = row.item.example.output if row.item.example else ""
    lines = [f"{k}: {'; '.join(filter(None, [weakest(s, output), *s.flags]))}" for k, s in row.scores.items()]
    return {
        "value": {label: score.value for label, score in row.scores.items()},
        "explanation": "\n".join(lines),
        "metadata": {"signatures": dict(result.signatures)},
    }
