"""ragas: `evaluate(dataset, metrics=[metric("faithfulness", task="rag")])`; no language model is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Unpack

from quintet.core.plain import Foreign
from quintet.errors import MissingExtra
from quintet.integrations.chosen import Choice, choose_one

COLUMNS = ("user_input", "retrieved_contexts", "reference_contexts", "reference")


def metric(name: str, task: str | None = None, **options: Unpack[Choice]) -> Foreign:
    """One dimension of a task, or one metric, for SingleTurnSample. Options: columns, model, fast, cache."""
    return _classes()[0](name=name, one=choose_one(name, task, **options))


def conversation_metric(name: str, *, turns: Foreign = "mean", **options: Unpack[Choice]) -> Foreign:
    """A dimension of `--task conversation` for MultiTurnSample: the mean of its turns, the worst or the end."""
    return _classes()[1](name=name, one=choose_one(name, "conversation", turns=turns, **options))


@cache
def _classes() -> tuple[Any, Foreign]:
    try:
        from ragas.metrics.base import MetricType, MultiTurnMetric, SingleTurnMetric
    except ImportError:
        raise MissingExtra("ragas", "ragas", "a metric for ragas") from None
    single = {"response", *(f"{name}:optional" for name in COLUMNS)}

    class Scored:
        one: Foreign

        def init(self, run_config: Foreign) -> None:
            """There is no language model to set up."""

        async def _scored(self, sample: Foreign) -> float:
            # Scoring is work for a core, not for the event loop.
            found = await asyncio.to_thread(self.one, sample.model_dump(exclude_none=True))
            return float(found.value)

    @dataclass
    class QuintetMetric(Scored, SingleTurnMetric):
        one: Foreign = None
        _required_columns: Foreign = field(default_factory=lambda: {MetricType.SINGLE_TURN: single})

        async def _single_turn_ascore(self, sample: Foreign, callbacks: Foreign) -> float:
            return await self._scored(sample)

    @dataclass
    class QuintetConversationMetric(Scored, MultiTurnMetric):
        one: Foreign = None
        _required_columns: Foreign = field(default_factory=lambda: {MetricType.MULTI_TURN: {"user_input"}})

        async def _multi_turn_ascore(self, sample: Foreign, callbacks: Foreign) -> float:
            return await self._scored(sample)

    return QuintetMetric, QuintetConversationMetric
