"""The promises every metric keeps, checked for every row of the table unasked.

Metrics that use a model run on the public fake here: what is checked is the metric, not the weights.
"""

import copy
import dataclasses
import math
import types
import typing
from typing import Any, Literal

import pytest

from quintet.core.example import Example
from quintet.core.metric import Metric
from quintet.errors import MissingField, UserError
from quintet.metrics import metrics
from quintet.metrics.evaluator.signal import EvaluatorSignal
from quintet.metrics.unieval.tasks import YesNoMetric

TOLERANCE = 1e-4
"""How far a score may move when the batch around it changes."""

SOURCE = (
    "The town council voted on Monday evening to repair the old stone bridge over the river Wend. Work will begin in "
    "May and is expected to cost two million euros. The bridge has been closed to cars since a flood damaged it in "
    "January. Mayor Anna Brandt said that walkers may cross it again from the summer."
)
REFERENCE = "The council decided to repair the flood-damaged bridge over the Wend; work begins in May."
GOOD = Example(
    output="The council voted to repair the old bridge over the Wend, which a flood damaged. Work begins in May.",
    source=SOURCE,
    context="A flood damaged the old stone bridge over the Wend in January.",
    references=(REFERENCE, "The council will repair the bridge from May."),
    history=("Did you hear the news about the bridge?", "No, what did the council decide?"),
    question="What did the council decide about the bridge?",
    contexts=(SOURCE, "The river Wend is known for its trout."),
    id="good",
)
BAD = dataclasses.replace(GOOD, output="My cat sleeps on a sofa. My cat sleeps on a sofa.", id="bad")
OTHERS = [
    dataclasses.replace(GOOD, output="Café 数据 مرحبا 👩‍👩‍👧 ‏שלום", id="scripts"),
    dataclasses.replace(GOOD, output="one", id="one"),
    dataclasses.replace(GOOD, output="?!", references=("",), id="marks"),
    dataclasses.replace(GOOD, output="a \ud800 b \x00 c [SEP] </s> [MASK]", id="odd"),
    dataclasses.replace(GOOD, output="word " * 900, id="long"),
    dataclasses.replace(GOOD, source="", context="", history=(), contexts=("",), id="empty grounds"),
]
EXAMPLES = [GOOD, BAD, *OTHERS]
NAMES = [entry.name for entry in metrics]


def build(name: str, **parameters: Any) -> Metric:
    default = metrics[name].build()
    models = [key for key, value in default.parameters.items() if _is_model(value) or (key == "model" and not value)]
    fake = {key: "fake:" + role_of(default, key) for key in models}
    return dataclasses.replace(default, **{**fake, **parameters})


def _is_model(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("bundled:", "dir:", "hf:", "fake:"))


def role_of(metric: Metric, parameter: str) -> str:
    """The role of a model parameter: `model_roles` by parameter, or one `model_role`; embedder if none is said."""
    roles: dict[str, str] = getattr(metric, "model_roles", {})
    return roles.get(parameter, getattr(metric, "model_role", "embedder"))


def values(metric: Metric, examples: list[Example]) -> list[dict[str, float]]:
    return [{name: score.value for name, score in row.items()} for row in metric.score(examples)]


def assert_close(left: list[dict[str, float]], right: list[dict[str, float]]) -> None:
    for a, b in zip(left, right, strict=True):
        assert a == pytest.approx(b, abs=TOLERANCE, nan_ok=True)


every = pytest.mark.parametrize("name", NAMES)


@every
def test_order_does_not_matter(name: str) -> None:
    metric = build(name)
    assert_close(values(metric, EXAMPLES[::-1])[::-1], values(metric, EXAMPLES))


@every
def test_batch_size_does_not_matter(name: str) -> None:
    metric = build(name)
    assert_close([values(metric, [e])[0] for e in EXAMPLES], values(metric, EXAMPLES))


@every
def test_every_dimension_has_a_score_in_its_range(name: str) -> None:
    metric = build(name)
    for example, row in zip(EXAMPLES, metric.score(EXAMPLES), strict=True):
        assert set(row) == {d.name for d in metric.dimensions}
        for dimension in metric.dimensions:
            value = row[dimension.name].value
            assert isinstance(value, float)
            blank = any(example.blank(field) for field in dimension.needs)
            if math.isnan(value) and (blank or isinstance(metric, EvaluatorSignal)):
                # What has nothing to look at gives no number and says why; a blend goes on without it.
                assert row[dimension.name].flags[0].startswith(("no ", "empty "))
                continue
            assert not math.isnan(value)
            assert value >= dimension.low - 1e-9
            assert dimension.high is None or value <= dimension.high + 1e-9


@every
def test_evidence_points_into_the_texts(name: str) -> None:
    for example, row in zip(EXAMPLES, build(name).score(EXAMPLES), strict=True):
        for score in row.values():
            for span in score.spans:
                assert 0 <= span.start <= span.end <= len(example.text(span.field))
                if span.other is not None:
                    field, start, end = span.other
                    assert 0 <= start <= end <= len(example.text(field)), field


@every
def test_inputs_stay_unchanged(name: str) -> None:
    examples = list(EXAMPLES)
    before = copy.deepcopy(examples)
    build(name).score(examples)
    assert examples == before


@every
def test_a_missing_field_is_named_with_the_example(name: str) -> None:
    metric = build(name)
    for field in metric.fields:
        if field == "output" or not any(field in d.needs for d in metric.dimensions):
            continue
        lacking = dataclasses.replace(GOOD, **{field: () if field == "references" else None}, id="row-7")
        every_one = all(field in d.needs for d in metric.dimensions) and not isinstance(metric, EvaluatorSignal)
        if every_one or not isinstance(metric, YesNoMetric | EvaluatorSignal):
            with pytest.raises(MissingField, match=r"row-7.*" + field):
                metric.score([GOOD, lacking])
            continue
        # Several questions in one metric: those that need the field say so, the others are answered.
        row = metric.score([GOOD, lacking])[1]
        for dimension in metric.dimensions:
            score = row[dimension.name]
            assert score.missing == (field in dimension.needs), dimension.name
            assert not score.missing or score.flags[0].startswith("no ")


@every
@pytest.mark.parametrize("text", ["", " \n\t ", "\x00"])
def test_empty_output_has_a_score_and_a_flag(name: str, text: str) -> None:
    metric = build(name)
    empty, good = metric.score([dataclasses.replace(GOOD, output=text), GOOD])
    for dimension in metric.dimensions:
        score = empty[dimension.name]
        assert score.flags == ("empty output",)
        assert math.isfinite(score.value)
        assert good[dimension.name].flags != score.flags


@every
def test_every_parameter_changes_the_signature(name: str) -> None:
    metric = build(name)
    hints = typing.get_type_hints(type(metric))
    for field in dataclasses.fields(metric):
        other = another(getattr(metric, field.name), hints[field.name])
        if _is_model(other):
            continue  # one model per role is fake; that its identity is in the signature is checked below
        try:
            changed = dataclasses.replace(metric, **{field.name: other})
        except UserError:
            continue  # some variants take no other protocol: coco has no rouge-1
        assert changed.signature != metric.signature, field.name
    assert metric.signature == build(name).signature
    assert "\n" not in metric.signature
    if any(_is_model(value) for value in metric.parameters.values()):
        assert "fake-" in metric.signature


def another(value: Any, hint: Any) -> Any:
    if typing.get_origin(hint) is Literal:
        return next(option for option in typing.get_args(hint) if option != value)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
        return another(value, hint) if value is not None else {int: 3, float: 0.5, str: "x", bool: True}.get(hint, "x")
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if _is_model(value):
        return value
    if isinstance(value, tuple):
        return (*value, "x")
    if value in ("overall", "rouge-l"):
        return {"overall": "relevance", "rouge-l": "rouge-1"}[value]  # a quality or metric that is none is refused
    return f"{value}x"


# BAD is grammatical, in order and about one thing: these questions need texts that are good and bad in their own way.
GARBLED = "Council council voted voted xqz the bridge bridge of of Wnd."
OWN_PAIRS: dict[str, tuple[str, str, dict[str, Any]]] = {
    **dict.fromkeys(
        (
            "unieval-summarization",
            "unieval-dialogue",
            "unieval-data2text",
            "unieval-question",
            "g-eval",
            "gruen-grammaticality",
            "usr-mlm",
            "im2-vup",
            "sum-qe",
            "im2-nuf5",
            "im2-nuf",
            "im2-dmlm",
            "evaluator-acceptability",
            "evaluator-flow",
            "evaluator-likelihood-nothing",
            "evaluator-reader-alone",
            "evaluator-summarization-fluency",
            "evaluator-data2text-naturalness",
            "evaluator-rewriting-fluency",
            "evaluator-text-grammaticality",
            "evaluator-text-focus",
            "evaluator-text-quality",
        ),
        (GOOD.output, GARBLED, {}),
    ),
    "rag-noise-sensitivity": (REFERENCE, "The river Wend is known for its trout.", {}),
    "evaluator-dialogue-coherence": ("No, what did the council decide then?", BAD.output, {}),
    **dict.fromkeys(
        ("evaluator-order", "evaluator-text-structure"),
        (
            "The old bridge needs repair. The repair of the old bridge begins.",
            "Purple elephants juggle zzt zzt zzt. The repair of the old bridge begins.",
            {},
        ),
    ),
    "im2-lsc": ("The bridge is old, so the old bridge closed.", "The bridge is old, purple elephants juggle.", {}),
    "gruen-focus": (
        "The old bridge needs repair. The repair of the old bridge begins.",
        "The old bridge needs repair. Purple elephants juggle sandwiches.",
        {"unrelated": 6.0},  # far by the fake's vectors
    ),
    "gruen-structure": (
        "The council voted on Monday. They will repair the bridge.",
        "They will repair the bridge. The council voted on Monday.",
        {},
    ),
}


OWN_PAIRS |= {
    **dict.fromkeys(("exact", "contains", "starts-with", "regex"), (REFERENCE, BAD.output, {})),
    "json-valid": ('{"a": 1}', "{a: 1}", {}),
    "json-schema": ('{"a": 1}', '{"a": "one"}', {"schema": '{"properties": {"a": {"type": "integer"}}}'}),
    "length": (GOOD.output, BAD.output, {"least": 15}),
    "language": (GOOD.output, "Der Stadtrat beschloss am Montag, die alte Brücke zu erneuern.", {}),
    "refusal": (GOOD.output, "I'm sorry, but I can't help with that.", {}),
    "at-most": (BAD.output, GOOD.output, {}),
    "tool-calls": ('{"name": "find", "args": {"q": "x"}}', '{"name": "find", "args": {"q": "y"}}', {}),
}
OWN_PAIRS |= dict.fromkeys(
    ("evaluator-claims-fact", "evaluator-claims-dialogue"), ("A flood damaged the bridge in January.", BAD.output, {})
)
OWN_REFERENCES = {"tool-calls": ('[{"name": "find", "args": {"q": "x"}}]',)}
OF_THE_CONTEXTS = {"rag-context-relevance", "rag-context-precision", "rag-context-recall"}
"""These do not look at the output where there is a reference."""
OWN_SOURCES = {"evaluator-record-values": "inform(who='the council', what='the old bridge', start=May)"}
"""For metrics that say nothing of prose."""


OF_MODELS_ALONE = {"fed", "likelihood-gain"}
"""The fake models look at neighbouring words only and know nothing of what was said before: tests/metrics/baselines."""
OF_CONVERSATIONS = {"conversation-consistency", "conversation-retention"}
"""The turns before GOOD state nothing, and the fake judge finds nothing contradicted: see tests/metrics/rag."""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_CONVERSATIONS | OF_MODELS_ALONE])
def test_good_beats_bad(name: str) -> None:
    better, worse, parameters = OWN_PAIRS.get(name, (GOOD.output, BAD.output, {}))
    metric = build(name, **parameters)
    grounds = dataclasses.replace(
        GOOD, source=OWN_SOURCES.get(name, GOOD.source), references=OWN_REFERENCES.get(name, GOOD.references)
    )
    pair = [dataclasses.replace(grounds, output=text) for text in (better, worse)]
    if name in OF_THE_CONTEXTS:
        other = "Penguins cannot fly."
        pair = [dataclasses.replace(grounds, contexts=found) for found in ((SOURCE, other), (other, "Cats sleep."))]
    good, bad = metric.score(pair)
    for dimension in metric.dimensions:
        margin = good[dimension.name].value - bad[dimension.name].value
        assert margin > 0 if dimension.higher_is_better else margin < 0, dimension.name


@every
def test_the_table_says_what_it_is(name: str) -> None:
    entry = metrics[name]
    assert entry.summary
    for dimension in entry.build().dimensions:
        assert dimension.question.endswith("?")
