"""Example, Score, signature, parameters and tasks: what the words promise."""

import math
from pathlib import Path

import pytest

import quintet.metrics
from quintet.core.example import Example
from quintet.core.metric import signature
from quintet.core.parameters import build
from quintet.core.registry import metrics
from quintet.core.score import Score, Span
from quintet.core.task import find_task, read_tasks
from quintet.errors import InputError, UnknownName, UserError, in_python

assert quintet.metrics

ISSUE_TASKS = {
    "summarization": {"coherence", "consistency", "fluency", "relevance"},
    "dialogue": {"naturalness", "coherence", "engagingness", "groundedness", "understandability", "overall"},
    "data2text": {"naturalness", "informativeness"},
    "rewriting": {"preservation", "fluency"},
    "fact": {"consistency"},
    "rag": {
        "faithfulness",
        "answer_relevance",
        "context_relevance",
        "context_precision",
        "context_recall",
        "answer_correctness",
        "noise_sensitivity",
    },
    "conversation": {"request_met", "coherence", "consistency", "retention", "naturalness"},
    "text": {"grammaticality", "non-redundancy", "focus", "structure", "quality"},
}


def test_absent_is_not_empty() -> None:
    assert not Example("x").has("source")
    assert Example("x", source="").has("source")
    assert not Example("x").has("references")
    assert Example("x", history=()).has("history")
    assert Example("x", history=("a", "b")).text("history") == "a\nb"


def test_digest_depends_on_the_fields_asked_for_only() -> None:
    one, two = Example("x", source="s", id="1"), Example("x", source="s", id="2", system="y")
    assert one.digest() == two.digest()
    assert one.digest(("source",)) != Example("x", source="t").digest(("source",))
    assert one.digest(("output",)) == Example("x", source="t").digest(("output",))
    assert Example("\ud800").digest() != Example("\ud801").digest()
    assert Example("x", references=("a", "b")).digest() != Example("x", references=("ab",)).digest()


def test_a_score_survives_json() -> None:
    score = Score(
        0.5, (Span(1, 2, 0.25, "pair", "source", "A", ("output", 3, 4), 0.25),), {"p": 0.1}, ("f",), {"source": 7}
    )
    assert Score.from_json(score.to_json()) == score
    assert Score(math.nan).to_json() == {"value": None}
    assert Score.from_json({"value": None}).missing


def test_a_value_cannot_forge_structure_in_a_signature() -> None:
    line = signature("m", {"a": "x|v:9\n", "b": None, "c": True, "d": (1, 2.5)}, 1, {"model": "z"}, "0")
    assert line == "m|a:x%7Cv:9%0A|b:none|c:yes|d:1+2.5|model:z|v:1|quintet:0"


def test_parameters_are_read_by_type() -> None:
    metric = build(metrics, "ctc-preservation:layer=3,center=no,baseline=0.5,long=cut")
    assert metric.parameters | {"layer": 3, "center": False, "baseline": 0.5, "long": "cut"} == metric.parameters
    assert build(metrics, "ctc-preservation:baseline=none").parameters["baseline"] is None
    for bad in ("ctc-preservation:layer=x", "ctc-preservation:center=maybe", "ctc-preservation:layer"):
        with pytest.raises(InputError):
            build(metrics, bad)


def test_the_tasks_are_those_of_the_plan() -> None:
    assert {name: set(task.dimensions) for name, task in read_tasks().items()} == ISSUE_TASKS
    for task in read_tasks().values():
        for wanted in task.dimensions.values():
            assert wanted.metric is not None, "every dimension is answered offline, by a bundled metric"
            assert wanted.metric.partition(":")[0] in metrics


def test_a_users_dimension_replaces_and_adds(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('[fact.dimensions]\nconsistency = { question = "Mine?" }\nbrevity = { question = "Short?" }\n')
    task = find_task("fact", path)
    assert [d.dimension.question for d in task.dimensions.values()] == ["Mine?", "Short?"]
    path.write_text('[fact.dimensions]\nx = { question = "?", needs = ["sorce"] }\n')
    with pytest.raises(UnknownName, match="did you mean source"):
        find_task("fact", path)


@pytest.mark.parametrize(
    ("typed", "in_functions"),
    [
        ("pass --columns output=COLUMN", 'pass columns={"output": "COLUMN"}'),
        (
            "say which: --columns output=response 1 or --columns output=response 2",
            'say which: columns={"output": "response 1"} or columns={"output": "response 2"}',
        ),
        ("mend the row, or pass --skip-bad to go on", "mend the row, or pass skip_bad=True to go on"),
        ("name another with --cache FILE, or pass --no-cache", "name another with cache=FILE, or pass cache=False"),
        ("give --task (see quintet tasks) or --metric", "give task (see quintet tasks) or metrics"),
        ("give --model openai:MODEL@http://H:1/v1", 'give model="openai:MODEL@http://H:1/v1"'),
        ("run: quintet score FILE --task NAME --out SCORED", "run: quintet score FILE --task NAME --out SCORED"),
        ("give another --base or --tasks", "give another --base or --tasks"),
    ],
)
def test_messages_name_arguments_in_python_and_options_on_the_command_line(typed: str, in_functions: str) -> None:
    assert in_python(typed) == in_functions
    assert (str(InputError(typed, "here")), InputError(typed).typed()) == (f"here: {in_functions}", typed)


def test_every_option_that_is_renamed_is_an_argument() -> None:
    from inspect import signature as of

    import quintet
    from quintet.errors import _FLAGS, _VALUED

    functions = (quintet.score, quintet.gate, quintet.compare, quintet.calibrate, quintet.prefer, quintet.bench)
    known = {name for function in functions for name in of(function).parameters}
    assert {name.replace("-", "_") for name in (*_FLAGS, *_VALUED)} - {"metric"} <= known
    with pytest.raises(UserError, match=r'name them: columns=\{"FIELD": "COLUMN"\}$'):
        quintet.score([{"output": "a"}], task="fact", cache=False)
