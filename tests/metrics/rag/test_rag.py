"""Retrieval-augmented answers: from a file to scores, on the bundled embedder and on the fake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quintet
from quintet.cli import main
from quintet.core.task import find_task
from quintet.metrics.rag.against import average_precision
from quintet.metrics.rag.features import kind
from quintet.text.abstention import abstains

ROWS = Path(__file__).parents[3] / "examples" / "rag.jsonl"
DIMENSIONS = list(find_task("rag").dimensions)


@pytest.fixture(scope="module")
def scored() -> dict[str, dict[str, quintet.Score]]:
    result = quintet.score(str(ROWS), task="rag", fast=True, cache=False)
    assert list(result.columns) == DIMENSIONS
    return {row.item.example.id: dict(row.scores) for row in result.rows if row.item.example is not None}


def test_what_was_made_up_scores_below_what_the_contexts_say(scored: dict[str, dict[str, quintet.Score]]) -> None:
    for question in ("ferry", "bees"):
        for dimension in ("faithfulness", "answer_correctness"):
            good, bad = (scored[f"{question}-{system}"][dimension].value for system in ("faithful", "inventive"))
            assert good > bad, (question, dimension)
    assert (
        scored["glacier-faithful"]["answer_correctness"].value > scored["glacier-evasive"]["answer_correctness"].value
    )


def test_an_answer_that_declines_is_neither_unfaithful_nor_an_answer(
    scored: dict[str, dict[str, quintet.Score]],
) -> None:
    row = scored["library-abstaining"]
    assert row["faithfulness"].missing
    assert row["faithfulness"].flags == ("abstained",)
    assert (row["answer_relevance"].value, row["answer_relevance"].flags) == (0.0, ("abstained",))
    assert row["answer_correctness"].value == 1.0  # the reference declines as well
    assert row["context_recall"].flags == ("no answer in the references",)


def test_each_context_is_told_apart(scored: dict[str, dict[str, quintet.Score]]) -> None:
    ranks = scored["ferry-faithful"]["context_precision"]
    assert ranks.parts["context 1"] > max(ranks.parts["context 2"], ranks.parts["context 3"])
    example = json.loads(ROWS.read_text(encoding="utf-8").splitlines()[0])
    joined = "\n".join(example["contexts"])
    assert [joined[s.start : s.end] for s in ranks.spans] == example["contexts"]
    # The context that is needed stands first here and last there.
    assert ranks.value > scored["glacier-faithful"]["context_precision"].value


def test_average_precision() -> None:
    assert average_precision([1, 0, 0]) == 1.0
    assert average_precision([0, 1]) == 0.5
    assert average_precision([0, 0]) == 0.0
    assert average_precision([1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)


def test_names_of_other_tools_lead_to_the_dimension() -> None:
    rows = [
        {"question": "Who paid?", "contexts": ["Ann Lee paid."], "answer": "Ann Lee.", "reference": "Ann Lee paid."}
    ]
    result = quintet.score(rows, metrics=["contextual_recall", "response-length"], cache=False)
    assert list(result.columns) == ["contextual_recall", "response-length"]
    assert result.signatures["contextual_recall"].startswith("rag-context-recall|")
    by_dims = quintet.score(rows, task="qa", dims=["contextual_recall"], cache=False)
    assert by_dims["contextual_recall"] == result["contextual_recall"]
    for alias in ("faithfulness", "hallucination", "answer_relevancy", "context_precision", "context_recall"):
        assert quintet.load(alias).signature
    assert quintet.load("answer_relevancy", fast=True).parameters["fast"]


def test_any_metric_that_needs_a_source_can_be_asked_for_support() -> None:
    rows = [{"question": "Who paid?", "contexts": ["Ann Lee paid."], "answer": "Bob.", "reference": "Ann Lee paid."}]
    by = quintet.score(rows, metrics="rag-context-recall:by=evaluator-overlap", cache=False)
    assert by["rag-context-recall:by=evaluator-overlap"] == [1.0]
    odds = quintet.load("rag-context-recall", by="evaluator-document", of="relevance")
    with pytest.raises(quintet.UserError, match="unknown dimension"):
        quintet.load("rag-context-recall", by="rag-support", of="nothing").score(
            [quintet.Example("x", contexts=("a",), references=("b",))]
        )
    assert odds.signature != quintet.load("rag-context-recall").signature


def test_a_question_without_contexts_is_scored_where_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"question": "Who paid?", "answer": "I don't know."}) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["score", str(file), "--task", "rag", "--fast", "--no-cache", "--format", "jsonl"])
    assert done.value.code == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["answer_relevance"] == 0.0
    assert "not scored: faithfulness: needs source" in shown.err


@pytest.mark.parametrize(
    "text",
    [
        "The document does not say.",
        "I don't know.",
        "I'm sorry, but the provided context does not contain information about the price.",
        "It isn't stated. Please consult the manual.",
        "There is no mention of a date in the passages.",
        "This cannot be determined from the text.",
        "Not mentioned.",
    ],
)
def test_declining_to_answer_is_recognised(text: str) -> None:
    assert abstains(text)


@pytest.mark.parametrize(
    "text",
    [
        "She did not pay.",
        "The hut is open until September.",
        "The report says that nobody was hurt.",
        "It does not say when, but the bridge was closed in May. The mayor reopened it.",
        "No, the ferry does not run on Sundays.",
        "",
    ],
)
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not abstains(text)


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("When did it open?", "In May.", 1.0),
        ("When did it open?", "It is large.", -1.0),
        ("Who paid?", "Ann Lee did.", 1.0),
        ("How many came?", "Twelve.", 1.0),
        ("Is it open?", "Yes.", 1.0),
        ("What did they find?", "A lake.", 0.0),
    ],
)
def test_the_kind_of_answer(question: str, text: str, found: float) -> None:
    assert kind(question, text) == found
