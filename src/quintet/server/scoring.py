"""What the scoring thread does with a batch; nothing here knows of HTTP."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, cast

from quintet import _api as api
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.options import Options
from quintet.core.plain import JsonObject
from quintet.errors import UserError
from quintet.runner.plan import Column, Plan, by_metric, leaves
from quintet.runner.store import NoStore
from quintet.server.request import Choice

KEPT_PLANS = 64
WARMING = Example("A short text.", "A short text.", "A fact.", ("A reference.",), ("A turn.",))
"""Models open when they are first used, so they are used on this."""


class TooMuchWork(UserError):
    """An example alone would keep the models busy for too long."""


class Scorer:
    """Plans are kept, so that a metric and its model are opened once."""

    def __init__(self, most_work: int = 2_000_000) -> None:
        self.most_work = most_work
        self._plans: OrderedDict[Hashable, Plan] = OrderedDict()

    def __call__(self, choice: Hashable, examples: Sequence[Example]) -> tuple[Plan, list[Scored]]:
        plan = self._plan(cast(Choice, choice))
        self._refuse_work(plan, examples)
        items = [Item(example) for example in examples]
        return plan, list(api.stream(plan, items, NoStore(), skip_bad=True))

    def _refuse_work(self, plan: Plan, examples: Sequence[Example]) -> None:
        metrics = leaves(by_metric(plan.columns))
        for example in examples:
            work = sum(metric.work(example) for metric in metrics)
            if work > self.most_work:
                raise TooMuchWork(
                    f"an example would have models read about {work:,} tokens; {self.most_work:,} are allowed here "
                    "(--max-work raises it)"
                )

    def _plan(self, choice: Choice) -> Plan:
        if choice not in self._plans:
            asked = Options(choice.task, choice.dimensions, choice.metrics, model=choice.model, fast=choice.fast)
            self._plans[choice] = api.make_plan(asked, choice.present)
            if len(self._plans) > KEPT_PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(choice)
        return self._plans[choice]


def answer_bytes(share: object, evidence: bool) -> bytes:
    """The body of an answer; made in the scoring thread, since evidence can be long."""
    plan, rows = cast(tuple[Plan, Sequence[Scored]], share)
    plain = {"columns": [_column(c, plan) for c in plan.columns], "left_out": plan.left_out, "rows": []}
    plain["rows"] = [_row(row, evidence) for row in rows]
    return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _column(column: Column, plan: Plan) -> JsonObject:
    about = column.about
    return {
        "name": column.label,
        "question": about.question,
        "low": finite(about.low),
        "high": finite(about.high),
        "higher_is_better": about.higher_is_better,
        "signature": plan.signatures[column.label],
    }


def _row(scored: Scored, evidence: bool) -> JsonObject:
    example = scored.item.example
    scores = {}
    for label, score in scored.scores.items():
        plain = _all_finite(score.to_json())
        if not evidence:
            plain.pop("spans", None)
        scores[label] = plain
    return {"id": "" if example is None else example.id, "scores": scores}


def _all_finite(plain: object) -> Any:
    """JSON has no infinity; what is not finite becomes null."""
    if isinstance(plain, dict):
        return {key: _all_finite(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_all_finite(value) for value in plain]
    if isinstance(plain, float):
        return finite(plain)
    return plain


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
