"""Questions in words, answered by the heads of a judge; which heads look at what stands in questions.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from quintet.errors import ModelError
from quintet.models.onnx_judge import JudgedPair, OnnxJudge
from quintet.models.roles import Judgement, Value

_ASKS = "question: "
_BETWEEN_TURNS = "\n"
_OTHER_MODEL = "bundled:judge-lm"


@dataclass(frozen=True)
class Question:
    heads: tuple[tuple[str, str], ...]
    """The head, and the label of the segment that it looks at beside the output; no label: nothing."""
    turns: int = 0
    """Of a segment that is a dialogue, how many of the last turns; 0: the segment as it stands."""


@cache
def known_questions() -> Mapping[str, Question]:
    rows = tomllib.loads(files("quintet.models").joinpath("questions.toml").read_text(encoding="utf-8"))["question"]
    return {row["text"]: Question(tuple((h, s) for h, s in row["heads"]), row.get("turns", 0)) for row in rows}


class JudgeYesNo:
    """The role YesNo from heads. With a head given (`#acc`), every question is answered by it, all segments after the
    output being its grounds; without, the question itself says which heads answer."""

    def __init__(self, judge: OnnxJudge, identity: str, spec: str, head: str = "") -> None:
        self._judge, self._spec, self._head = judge, spec, head
        self.identity, self.max_tokens = identity, judge.max_tokens

    def probabilities(self, prompts: Sequence[Sequence[str]], max_tokens: int | None = None) -> list[Value]:
        """`max_tokens` cannot widen what the judge sees; an output is shown to it up to its own limit."""
        asked = [self._asked(list(prompt)) for prompt in prompts]
        rows = [(head, (output, grounds)) for output, parts in asked for head, grounds in parts]
        found = self._answers(rows)
        values = []
        for _, parts in asked:
            judged = [(next(found), head) for head, _ in parts]
            mean = sum(_probability(one.heads[head]) for one, head in judged) / len(judged)
            values.append(Value(mean, (max(sum(one.cut) for one, _ in judged), 0)))
        return values

    def _answers(self, rows: Sequence[tuple[str, JudgedPair]]) -> Iterator[Judgement]:
        """In the order of the rows; each pair read in the way its head reads."""
        ways = [head in self._judge.together for head, _ in rows]
        by_way = {
            way: iter(self._judge.judge([pair for (_, pair), own in zip(rows, ways, strict=True) if own == way], way))
            for way in set(ways)
        }
        return (next(by_way[way]) for way in ways)

    def _asked(self, prompt: list[str]) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
        """The output, and for each head that answers the texts beside it."""
        if len(prompt) < 2:
            raise ModelError(f"{self._spec} needs a question and the text that is asked about")
        output = _unlabelled(prompt[1])[1]
        beside = dict(_unlabelled(segment) for segment in prompt[2:])
        if self._head:
            return output, [(self._head, tuple(beside.values()))]
        question = known_questions().get(prompt[0].removeprefix(_ASKS).strip())
        if question is None:
            raise ModelError(
                f"{self._spec} was not trained on the question {prompt[0].removeprefix(_ASKS).strip()[:60]!r}; name the"
                f" head that should answer it ({self._spec}#HEAD), or ask a language model (weak: {_OTHER_MODEL})"
            )
        return output, [(head, self._grounds(beside, label, question.turns)) for head, label in question.heads]

    def _grounds(self, beside: Mapping[str, str], label: str, turns: int) -> tuple[str, ...]:
        if not label:
            return ()
        if label not in beside:
            raise ModelError(f"this question needs the segment {label!r}; the prompt has {', '.join(beside) or 'none'}")
        if label.endswith("history") and turns:
            return tuple(turn.strip() for turn in beside[label].strip().split(_BETWEEN_TURNS)[-turns:])
        return (beside[label],)


def _unlabelled(segment: str) -> tuple[str, str]:
    label, _, text = segment.partition(": ")
    return label, text


def _probability(logit: float) -> float:
    return float(0.5 * (1.0 + np.tanh(0.5 * logit)))
