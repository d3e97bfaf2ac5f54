"""deepeval: `assert_test(case, [metric("faithfulness", task="rag")])`, or `evaluate([case], [metric("rouge-l")])`."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, Unpack

from quintet.core.plain import Foreign, JsonObject
from quintet.errors import InputError, MissingExtra, MissingField
from quintet.integrations.chosen import Choice, Found, OneScore, choose_one

FIELDS = ("input", "actual_output", "expected_output", "context", "retrieval_context")


def metric(name: str, task: str | None = None, *, threshold: float | None = 0.5, **options: Unpack[Choice]) -> Foreign:
    """One dimension of a task, or one metric, for LLMTestCase.

    A test case is read as a row of its fields: `input` is the question, `retrieval_context` (else `context`) the
    source, `expected_output` the reference; `columns={"source": "input"}` says otherwise. An answer without a score
    (it declines to answer) is skipped. Where lower is better, the threshold is the most that passes.
    Options: columns, model, fast, cache.
    """
    return _classes()[0](choose_one(name, task, **options), threshold)


def conversation_metric(
    name: str, *, threshold: float | None = 0.5, turns: Foreign = "mean", **options: Unpack[Choice]
) -> Foreign:
    """A dimension of `--task conversation` for ConversationalTestCase: the mean of its turns, the worst or the end."""
    return _classes()[1](choose_one(name, "conversation", turns=turns, **options), threshold)


@cache
def _classes() -> tuple[Any, Foreign]:
    try:
        from deepeval.errors import MissingTestCaseParamsError
        from deepeval.metrics import BaseConversationalMetric, BaseMetric
    except ImportError:
        raise MissingExtra("deepeval", "deepeval", "a metric for deepeval") from None

    class Measured:
        def __init__(self, one: OneScore, threshold: float | None = 0.5) -> None:
            # deepeval copies a metric by the arguments of its class, found under their own names.
            self.one, self.threshold = one, threshold
            self.include_reason, self.evaluation_model = True, "quintet"
            self._holds = True

        def measure(self, test_case: Foreign, *_: Foreign, **__: Foreign) -> float | None:
            try:
                found: Found = self.one(_row(test_case))
            except (InputError, MissingField) as error:
                raise MissingTestCaseParamsError(str(error)) from error
            self.error, self.reason = None, found.reason
            self.score = None if found.missing else found.value
            self.skipped = found.missing
            self._holds = found.missing or self.threshold is None or found.holds(self.threshold)
            self.score_breakdown = {"signature": found.signature}
            self.is_successful()
            return self.score

        async def a_measure(self, test_case: Foreign, *_: Foreign, **__: Foreign) -> float | None:
            # Scoring is work for a core, not for the event loop.
            return await asyncio.to_thread(self.measure, test_case)

        def is_successful(self) -> bool | None:
            self.success = None if self.threshold is None else self.error is None and self._holds
            return self.success

        @property
        def __name__(self) -> str:
            return f"quintet {self.one.name}"

    class QuintetMetric(Measured, BaseMetric):
        pass

    class QuintetConversationMetric(Measured, BaseConversationalMetric):
        pass

    return QuintetMetric, QuintetConversationMetric


def _row(case: Foreign) -> JsonObject:
    if getattr(case, "turns", None) is not None:
        return {"turns": [{"role": turn.role, "content": turn.content} for turn in case.turns]}
    given = {name: getattr(case, name, None) for name in FIELDS}
    return {name: _texts(value) for name, value in given.items() if value is not None}


def _texts(value: Foreign) -> Foreign:
    """A context that carries where it comes from is its text."""
    return [getattr(one, "context", one) for one in value] if isinstance(value, list) else value
