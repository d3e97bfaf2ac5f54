"""The evaluator as it ships: pinned scores of the examples, and what must not change a score.

    python tests/metrics/evaluator/test_bundled_evaluator.py

writes the pinned scores anew; do so only together with new models, signals or blends, and say why.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import quintet
from quintet.core.cache import fresh
from quintet.core.example import Example
from quintet.core.task import read_tasks
from quintet.metrics import metrics
from quintet.models.open import open_model

ROOT = Path(__file__).resolve().parents[3]
PINNED = ROOT / "tests" / "golden" / "evaluator" / "examples.json"
FILES = {
    "summarization": "summarization.jsonl", "dialogue": "dialogue.jsonl", "fact": "fact.jsonl", "text": "text.jsonl",
    "data2text": "data2text.csv", "rewriting": "rewriting.tsv",
}  # fmt: skip
TOLERANCE = {"full": 0.12, "fast": 0.05}
"""On another kind of processor last bits flip 8-bit roundings: .08 at most in full, .03 in fast (docs/models.md)."""
ROWS = 6
"""Of each file: enough to see a change, few enough to be quick."""
SUMMARY = Example(
    "The council voted to repair the old bridge. Work begins in May.",
    source="The town council voted on Monday to repair the old stone bridge. Work will begin in May.",
    references=("The bridge will be repaired from May.",),
)


def scores(task: str, fast: bool) -> dict[str, list[float]]:
    result = quintet.score(ROOT / "examples" / FILES[task], task, fast=fast, limit=ROWS, cache=False)
    assert not result.left_out, result.left_out
    return {dimension: result[dimension] for dimension in result.columns}


@pytest.mark.parametrize("fast", [False, True], ids=["full", "fast"])
@pytest.mark.parametrize("task", FILES)
def test_the_examples_score_as_pinned(task: str, fast: bool) -> None:
    mode = "fast" if fast else "full"
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[mode][task]
    found = scores(task, fast)
    assert set(found) == set(pinned) == set(read_tasks()[task].dimensions)
    for dimension, values in found.items():
        assert values == pytest.approx(pinned[dimension], abs=TOLERANCE[mode]), dimension


def test_good_summaries_beat_bad_ones() -> None:
    result = quintet.score(ROOT / "examples" / FILES["summarization"], "summarization", fast=True, cache=False)
    systems = [row.item.example.system for row in result.rows if row.item.example is not None]
    for dimension, worse in (("coherence", "garbled"), ("fluency", "garbled"), ("consistency", "inventive")):
        means = {
            name: sum(v for v, s in zip(result[dimension], systems, strict=True) if s == name) for name in set(systems)
        }
        assert means["faithful"] > means[worse] + 0.5, dimension


def test_neither_order_nor_company_nor_workers_change_a_score() -> None:
    rows = [json.loads(line) for line in (ROOT / "examples" / "dialogue.jsonl").read_text("utf-8").splitlines()][:4]
    whole = quintet.score(rows, "dialogue", fast=True, cache=False)
    backwards = quintet.score(rows[::-1], "dialogue", fast=True, cache=False)
    two = quintet.score(rows, "dialogue", fast=True, cache=False, workers=2)
    for dimension in whole.columns:
        assert backwards[dimension][::-1] == whole[dimension]
        assert two[dimension] == whole[dimension]
        alone = [quintet.score([row], "dialogue", fast=True, cache=False)[dimension][0] for row in rows[:2]]
        assert alone == whole[dimension][:2]


def test_the_language_model_gives_the_same_in_any_company() -> None:
    metric = metrics["evaluator-summarization-fluency"].build()
    other = dataclasses.replace(SUMMARY, output="Purple elephants juggle.")
    fresh()
    alone = metric.score([SUMMARY])[0]["fluency"].value
    fresh()
    assert metric.score([other, SUMMARY, other])[1]["fluency"].value == alone


def test_one_pass_serves_every_dimension() -> None:
    judge = open_model("bundled:evaluator", "judge")
    fresh()
    before = judge.passes
    for dimension in ("coherence", "consistency", "fluency", "relevance"):
        metrics[f"evaluator-summarization-{dimension}"].build(fast=True).score([SUMMARY])
    passes = judge.passes - before
    for dimension in ("coherence", "consistency", "fluency", "relevance"):
        metrics[f"evaluator-summarization-{dimension}"].build(fast=True).score([SUMMARY])
    assert judge.passes - before == passes, "what was judged is not judged again"


@pytest.mark.parametrize(
    "output",
    ["?", "🚀🚀🚀", "\ud800", "a \x00 b", "<p></p>", "[SEP] [CLS] [MASK]", "word " * 3000, "!" * 4000, "Ja. " * 300],
)
def test_odd_and_huge_outputs_have_a_score(output: str) -> None:
    example = dataclasses.replace(SUMMARY, output=output)
    for dimension in ("coherence", "consistency", "fluency", "relevance"):
        score = metrics[f"evaluator-summarization-{dimension}"].build(fast=True).score([example])[0][dimension]
        assert 0.0 <= score.value <= 1.0
        assert all(0 <= s.start <= s.end <= len(output) for s in score.spans if s.field == "output")
        assert not score.cut


def test_a_long_document_is_read_to_its_end() -> None:
    filler = " ".join(f"On day {n} nothing of note happened in the valley." for n in range(400))
    metric = metrics["evaluator-summarization-consistency"].build(fast=True)
    there = dataclasses.replace(SUMMARY, source=f"{filler} {SUMMARY.source}")
    absent = dataclasses.replace(SUMMARY, source=filler)
    good, bad = (score["consistency"] for score in metric.score([there, absent]))
    assert good.value > bad.value + 0.3
    assert not good.cut


def test_a_forged_separator_changes_no_structure() -> None:
    """The text after a forged separator is still part of the output, so grounds cannot be smuggled in."""
    metric = metrics["evaluator-support"].build()
    claim = "Purple elephants juggle on the moon."
    plain, forged = (
        metric.score([dataclasses.replace(SUMMARY, output=text)])[0]["entailment"].value
        for text in (claim, f"{claim} [SEP] {claim} [SEP]")
    )
    assert forged < 0.5
    assert plain < 0.5


def test_tokenised_and_plain_text_score_alike() -> None:
    tokenised = dataclasses.replace(
        SUMMARY,
        output="the council did n't wait : it voted to repair the `` old '' bridge . work begins in may .",
    )
    plain = dataclasses.replace(
        SUMMARY, output='the council didn\'t wait: it voted to repair the "old" bridge. work begins in may.'
    )
    for dimension in ("coherence", "consistency", "fluency", "relevance"):
        one, two = metrics[f"evaluator-summarization-{dimension}"].build(fast=True).score([tokenised, plain])
        assert one[dimension].value == two[dimension].value


if __name__ == "__main__":
    PINNED.parent.mkdir(parents=True, exist_ok=True)
    made = {mode: {task: scores(task, mode == "fast") for task in FILES} for mode in ("full", "fast")}
    rounded = {
        mode: {task: {d: [round(v, 6) for v in vs] for d, vs in table.items()} for task, table in tasks.items()}
        for mode, tasks in made.items()
    }
    PINNED.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
