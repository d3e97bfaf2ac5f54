"""Calls of tools against those that were expected.

The calls made stand in the output, the expected ones in the references, both as JSON; `--columns
output=tools_called,references=expected_tools` or `output=messages:calls` puts them there. The forms of OpenAI,
Anthropic, LangChain, Inspect, ragas and deepeval are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.io.values import CALL_ARGUMENTS
from quintet.metrics.checks.checks import read_json, schema_fault


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Any

    def __str__(self) -> str:
        held = self.arguments if isinstance(self.arguments, Mapping) else {"": self.arguments}
        inner = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in held.items())
        return f"{self.name}({inner if len(inner) <= 80 else inner[:79] + '…'})"


@dataclass(frozen=True)
class ToolCalls(Metric):
    order: Literal["exact", "in-order", "any-order"] = "exact"
    """exact: these calls and no others, in this order; in-order: others may stand between; any-order: the expected ones
    are among those made."""
    arguments: Literal["equal", "schema", "ignore"] = "equal"
    """schema: the expected arguments are a JSON schema that those made must satisfy."""

    name = "tool-calls"
    dimensions = (Dimension("tool-calls", "Were the expected tools called?", ("references",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"tool-calls": self._score_one(example)} for example in examples]

    def _score_one(self, example: Example) -> Score:
        made, fault = read_calls(example.output)
        if fault:
            return Score(0.0, flags=(f"the output holds no tool calls: {fault}",))
        found = [self._against(made, reference) for reference in example.references]
        return max(found, key=lambda s: (s.value, s.parts.get("recall", 0.0))) if found else self._against(made, "[]")

    def _against(self, made: Sequence[Call], reference: str) -> Score:
        expected, fault = read_calls(reference)
        if fault:
            return Score(0.0, flags=(f"the reference holds no tool calls: {fault}",))
        pairs = self._pairs(made, expected)
        lacking = [call for place, call in enumerate(expected) if place not in pairs]
        extra = [call for place, call in enumerate(made) if place not in pairs.values()]
        places = [pairs[k] for k in sorted(pairs)]
        ordered = places == sorted(places)
        passed = not lacking and (self.order == "any-order" or ordered) and (self.order != "exact" or not extra)
        flags = [f"not called: {call}" for call in lacking[:3]]
        flags += [f"called besides: {call}" for call in extra[:3]] if self.order == "exact" else []
        if not ordered and self.order != "any-order":
            flags.append("called in another order")
        parts = {
            "recall": len(pairs) / len(expected) if expected else 1.0,
            "precision": len(pairs) / len(made) if made else 1.0,
        }
        return Score(float(passed), parts=parts, flags=() if passed else tuple(flags))

    def _pairs(self, made: Sequence[Call], expected: Sequence[Call]) -> dict[int, int]:
        """Place of an expected call to that of the call that answers it; in order as far as one can."""
        fits = [[self._same(call, wanted) for call in made] for wanted in expected]
        pairs: dict[int, int] = {}
        last = -1
        for k, row in enumerate(fits):  # the first one after the last taken, so that an order that holds is found
            place = next((p for p in range(last + 1, len(made)) if row[p]), None)
            if place is not None:
                pairs[k], last = place, place
        for k in range(len(expected)):
            if k not in pairs:
                self._augment(k, fits, pairs, set())
        return pairs

    def _augment(self, k: int, fits: Sequence[Sequence[bool]], pairs: dict[int, int], seen: set[int]) -> bool:
        """Bipartite matching: a schema may fit several calls, and the first that fits may be needed elsewhere."""
        for place, fit in enumerate(fits[k]):
            if fit and place not in seen:
                seen.add(place)
                holder = next((other for other, p in pairs.items() if p == place), None)
                if holder is None or self._augment(holder, fits, pairs, seen):
                    pairs[k] = place
                    return True
        return False

    def _same(self, made: Call, expected: Call) -> bool:
        if made.name != expected.name:
            return False
        if self.arguments == "ignore":
            return True
        if self.arguments == "schema":
            return not schema_fault(made.arguments, json.dumps(expected.arguments))
        return bool(made.arguments == expected.arguments)


def read_calls(text: str) -> tuple[list[Call], str]:
    """The calls that a text holds, or why it holds none."""
    if not text.strip():
        return [], ""
    value, fault = read_json(text)
    if fault:
        return [], fault
    if isinstance(value, Mapping) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    items = value if isinstance(value, list) else [value]
    calls = [call_of(item) for item in items]
    if None in calls:
        return [], f"{json.dumps(items[calls.index(None)], ensure_ascii=False)[:60]} names no tool"
    return [call for call in calls if call is not None], ""


def call_of(item: object) -> Call | None:
    if not isinstance(item, Mapping):
        return None
    inner = item["function"] if isinstance(item.get("function"), Mapping) else item
    name = inner.get("name") or inner.get("tool") or inner.get("function")
    if not isinstance(name, str):
        return None
    arguments: Any = next((inner[key] for key in CALL_ARGUMENTS if inner.get(key) is not None), {})
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    return Call(name, arguments)
