"""For pytest: `assert_quality(output, source=…, consistency=0.3)` and the fixture `quality`.

pytest imports this module in every run, so nothing is imported here before a test asks for a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from quintet.core.plain import Cells, Foreign

if TYPE_CHECKING:
    from quintet.core.score import Score
    from quintet.core.task import Task

_WEAK = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("quintet_task", "the task that assert_quality takes unless a call names one", default="")
    parser.addini("quintet_model", "the model that the fixture quality uses", default="")


@pytest.fixture(scope="session")
def quality(pytestconfig: pytest.Config) -> Quality:
    """`quality.assert_quality(…)` and `quality.score(…)` with the task and model of the ini file."""
    return Quality(pytestconfig.getini("quintet_task") or None, pytestconfig.getini("quintet_model") or None)


@dataclass(frozen=True)
class Quality:
    task: str | None = None
    model: str | None = None

    def score(self, output: str, *dimensions: str, task: str | None = None, **fields: Foreign) -> dict[str, float]:
        """The scores of one text by dimension; fields: source, context, references, history."""
        found, _ = _scored(output, fields, dimensions, task or self.task, self.model)
        return {name: score.value for name, score in found.items()}

    def assert_quality(self, output: str, *, task: str | None = None, **given: Foreign) -> None:
        __tracebackhide__ = True
        assert_quality(output, **{"task": task or self.task, "model": self.model, **given})

    __call__ = assert_quality


def assert_quality(output: str, *, task: str | None = None, model: str | None = None, **given: Foreign) -> None:
    """Fails unless every named dimension reaches its number.

    Keywords are the fields of an example (source, context, references, history) and limits (consistency=0.3); a
    hyphen in a dimension's name is written as an underscore.
    """
    __tracebackhide__ = True
    from quintet.core.example import FIELDS
    from quintet.errors import InputError

    fields = {name: value for name, value in given.items() if name in FIELDS}
    limits = {name: value for name, value in given.items() if name not in FIELDS}
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise InputError(f"{name}={value!r} is neither a field nor a number", "assert_quality")
    if not limits:
        raise InputError("no limit was given", "assert_quality", "write for example consistency=0.3")
    scores, signatures = _scored(output, fields, tuple(limits), task, model)
    if not all(_reaches(scores[name], least) for name, least in limits.items()):
        raise AssertionError(_report(output, fields, scores, limits, signatures))


def _reaches(score: Score, least: float) -> bool:
    """NaN reaches no limit, nor does a score without the text that it needs."""
    from quintet.core.score import EMPTY_FIELDS

    return score.value >= least and not EMPTY_FIELDS & set(score.flags)


def _scored(
    output: str, fields: Cells, dimensions: Sequence[str], task: str | None, model: str | None
) -> tuple[dict[str, Score], dict[str, str]]:
    """Scores and signatures by the names the caller used."""
    from quintet import _api as api
    from quintet.core.task import find_task

    example = _example(output, fields)
    chosen = find_task(task) if task else _task_of(dimensions, [name for name in fields if example.has(name)])
    if not dimensions:
        result = api.score([example], chosen.name, model=model)
        return dict(result.rows[0].scores), dict(result.signatures)
    names = {name: _spelled(name, chosen) for name in dimensions}
    result = api.score([example], chosen.name, dims=list(dict.fromkeys(names.values())), model=model)
    row = result.rows[0].scores
    return {n: row[d] for n, d in names.items()}, {n: result.signatures[d] for n, d in names.items()}


def _example(output: str, fields: Cells) -> Foreign:
    from quintet.core.example import Example
    from quintet.errors import InputError

    texts = dict(fields)
    for name in ("references", "history"):
        if texts.get(name) is not None:
            texts[name] = (texts[name],) if isinstance(texts[name], str) else tuple(texts[name])
        elif name in texts:
            del texts[name]
    for name, value in {"output": output, **texts}.items():
        parts = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(part, str) for part in parts) and value is not None:
            raise InputError(f"{name} is a {type(value).__name__}, not a text", "assert_quality")
    return Example(output, id="output", **texts)


def _spelled(name: str, task: Task) -> str:
    return name.replace("_", "-") if name not in task.dimensions else name


def _task_of(dimensions: Sequence[str], fields: Sequence[str]) -> Task:
    """The task that has all these dimensions; several will do if they answer them in the same way.

    What needs a field that is not given is not meant: with a source alone, consistency is not a conversation's.
    """
    from quintet.core.task import read_tasks
    from quintet.errors import InputError

    able = []
    for task in read_tasks().values():
        rows = [task.dimensions.get(_spelled(name, task)) for name in dimensions]
        if rows and all(row is not None and row.metric for row in rows):
            able.append((task, [(row.metric, row.of, dict(row.parameters)) for row in rows if row is not None]))
    fed = [one for one in able if all(set(one[0].dimensions[n].dimension.needs) <= set(fields)
           for n in (_spelled(name, one[0]) for name in dimensions))]  # fmt: skip
    able = fed or able
    asked = ", ".join(dimensions) or "every dimension"
    if not able:
        raise InputError(f"no task answers {asked}", "assert_quality", "see quintet tasks")
    if any(answers != able[0][1] for _, answers in able):
        names = ", ".join(task.name for task, _ in able)
        raise InputError(f"{asked} means different things in {names}", "assert_quality", "name one with task=…")
    return able[0][0]


def _report(
    output: str,
    fields: Cells,
    scores: Mapping[str, Score],
    limits: Mapping[str, float],
    signatures: Mapping[str, str],
) -> str:
    from quintet.core.evidence import shorten, weakest

    lines = ["the text falls short", f"  output: {shorten(output, 300)}"]
    for name in fields:
        value = fields[name]
        lines.append(f"  {name}: {shorten(value if isinstance(value, str) else ' / '.join(value or ()), 300)}")
    for name, least in limits.items():
        score = scores[name]
        mark = "ok  " if _reaches(score, least) else "FAIL"
        shown = "no score" if score.missing else f"{score.value:.3f}"
        lines.append(f"  {mark} {name}: {shown}, at least {least:g} is wanted")
        if mark == "FAIL":
            lines += [f"       {flag}" for flag in score.flags]
            words = weakest(score, output, _WEAK)
            lines += [f"       {words}"] if words else []
    lines += [f"  {line}" for line in dict.fromkeys(signatures[name] for name in limits)]
    return "\n".join(lines)
