"""USR's human analysis: a planted regression, the paper's completeness check, and weights per annotator."""

import gzip
import json

import numpy as np
import pytest

from quintet.errors import UserError
from quintet.stats.agreement import regress, regress_by_annotator, weigh
from quintet.stats.coefficients import spearman

QUALITIES = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge")


def topical_chat(benchmarks):
    data = gzip.decompress((benchmarks / "topical_chat_usr/topical-usr_per_annotator_dstc10.jsonl.gz").read_bytes())
    rows = [json.loads(line)["annotations"] for line in data.splitlines()]
    return {name: np.array([row[name] for row in rows], dtype=float) for name in (*QUALITIES, "Overall")}


def test_planted_weights_are_found():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(2, 3, 200), rng.integers(0, 2, 200).astype(float), np.ones(200)
    overall = 4 + 0.5 * (a - a.mean()) / a.std() - 0.25 * (b - b.mean()) / b.std()
    found = regress({"a": a, "b": b, "constant": c}, overall)
    assert found.weights == pytest.approx({"a": 0.5, "b": -0.25, "constant": 0.0}, abs=1e-9)
    assert (found.intercept, found.r_squared) == (pytest.approx(4.0), pytest.approx(1.0))
    raised = np.exp([0.5, -0.25, 0.0])
    assert list(found.softmax.values()) == pytest.approx(list(raised / raised.sum()))
    assert found.spearman == pytest.approx(1.0)
    np.testing.assert_allclose(weigh({"a": a, "b": b, "constant": c}, found.weights, found.intercept), overall)


def test_usr_the_five_qualities_explain_overall(benchmarks):
    """The paper's .9654 is what the released weights give on the z-scored mean ratings of all 360 responses."""
    table = topical_chat(benchmarks)
    means = {name: values.mean(axis=1) for name, values in table.items()}
    released = (0.6601100065, 0.4035348605, 0.5132785702, 0.9605336087, 0.3564255382)
    predicted = weigh(means, dict(zip(QUALITIES, released, strict=True)), 3.5974754476)
    assert spearman(predicted, means["Overall"]) == pytest.approx(0.9654, abs=0.0001)
    # Our own least squares on the same ratings fits a little better, as it must.
    own = regress({name: means[name] for name in QUALITIES}, means["Overall"])
    assert round(own.spearman, 4) == 0.9687
    assert max(own.softmax, key=own.softmax.__getitem__) == "Engaging"


def test_usr_weights_by_annotator(benchmarks):
    """PersonaChat names its annotators; a good response is natural, keeps the context and is interesting (3.5)."""
    data = json.loads(gzip.decompress((benchmarks / "persona_chat_usr/pc_usr_data.json.gz").read_bytes()))
    rows = [(context["annotators"], response) for context in data for response in context["responses"]]
    tables = {name: [response[name] for _, response in rows] for name in QUALITIES}
    found = regress_by_annotator(tables, [response["Overall"] for _, response in rows], [who for who, _ in rows])
    assert {name: each.n for name, each in found.items()} == {
        "annotator_0": 300,
        "annotator_1": 200,
        "annotator_2": 200,
        "annotator_3": 200,
    }
    for each in found.values():
        assert sum(each.softmax.values()) == pytest.approx(1.0)
        assert min(each.softmax, key=each.softmax.__getitem__) == "Understandable"
        assert each.spearman > 0.85


def test_columns_stand_for_people_where_nobody_is_named(benchmarks):
    table = topical_chat(benchmarks)
    found = regress_by_annotator({name: table[name] for name in QUALITIES}, table["Overall"])
    assert [(name, each.n) for name, each in found.items()] == [("column 1", 360), ("column 2", 360), ("column 3", 360)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: regress({"a": [1, 2, 3]}, [1, 2]), "3 ratings of the qualities but 2 overall"),
        (lambda: regress({"a": [1, 2, np.nan]}, [1, 2, 3]), "2 complete ratings are too few"),
        (lambda: regress_by_annotator({"a": [1, 2]}, [1, 2]), "items by annotators"),
        (lambda: regress_by_annotator({"a": [[1, 2]]}, [[1, 2]], [["x"]]), "names of annotators are not"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError, match=words):
        call()
