"""Preference: order never matters, ties, strengths of many systems, files of pairs and of systems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import quintet
from quintet.cli import main
from quintet.errors import InputError
from quintet.stats.preference import OVERALL, Scale, bradley_terry

ROWS = {
    "good": [
        {"id": str(k), "output": f"the cat {k} sat here", "references": [f"the cat {k} sat here"]} for k in range(6)
    ],
    "bad": [{"id": str(k), "output": "dogs", "references": [f"the cat {k} sat here"]} for k in range(6)],
    "mid": [{"id": str(k), "output": f"the cat {k}", "references": [f"the cat {k} sat here"]} for k in range(6)],
}
METRICS = ["rouge-1", "rouge-l"]


@pytest.mark.parametrize("difference", [-1.0, -0.1, 0.0, 0.3, 2.0])
def test_chances_sum_to_one_and_turn_with_the_order(difference: float) -> None:
    first, tie, second = Scale().chances(difference)
    assert first + tie + second == pytest.approx(1.0)
    assert min(first, tie, second) > 0
    assert Scale().chances(-difference) == pytest.approx((second, tie, first))


def test_the_order_of_the_systems_changes_nothing() -> None:
    one = quintet.prefer(ROWS["good"], ROWS["mid"], metrics=METRICS, cache=False)
    two = quintet.prefer(ROWS["mid"], ROWS["good"], metrics=METRICS, cache=False)
    for dimension in (*METRICS, OVERALL):
        here, there = one[dimension], two[dimension]
        assert (here.first, here.tie, here.second) == pytest.approx((there.second, there.tie, there.first))
        assert here.win_rate == pytest.approx(1 - there.win_rate)
    assert (one.better, two.better) == ("A", "B")


def test_equal_outputs_are_even() -> None:
    found = quintet.prefer(ROWS["good"], ROWS["good"], metrics="rouge-1", cache=False)["rouge-1"]
    assert found.first == found.second
    assert found.win_rate == pytest.approx(0.5)


def test_strengths_of_several_systems() -> None:
    found = quintet.prefer(*ROWS.values(), names=list(ROWS), metrics=METRICS, cache=False)
    assert sorted(found.strengths, key=lambda name: -found.strengths[name]) == ["good", "mid", "bad"]
    assert sum(found.strengths.values()) == pytest.approx(1.0)
    assert len(found.pairs) == 9


def test_bradley_terry_finds_the_strengths_that_made_the_wins() -> None:
    true = np.array([0.6, 0.3, 0.1])
    wins = 1e6 * true[:, None] / (true[:, None] + true[None, :])
    np.fill_diagonal(wins, 0.0)
    assert bradley_terry(wins) == pytest.approx(true, abs=1e-3)
    assert bradley_terry(np.array([[0.0, 5.0], [0.0, 0.0]])).min() > 0


def test_a_file_of_pairs_and_one_of_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [{"id": str(k), "chosen": "the cat sat", "rejected": "dogs", "reference": "the cat sat"} for k in range(3)]
    talks = [
        {"id": "1", **{n: [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": t}] for n, t in
                       (("chosen", "the cat sat"), ("rejected", "dogs"))}, "reference": "the cat sat"}
    ]  # fmt: skip
    for rows in (pairs, talks):
        found = quintet.prefer(rows, metrics="rouge-1", cache=False)
        assert (found.better, found["rouge-1"].first > 0.8) == ("chosen", True)
    file = tmp_path / "systems.jsonl"
    mixed = [{**row, "doc_id": row["id"], "system": name} for name in ("good", "bad") for row in ROWS[name]]
    file.write_text("".join(json.dumps(row) + "\n" for row in mixed), encoding="utf-8")
    out = tmp_path / "rows.csv"
    with pytest.raises(SystemExit) as done:
        main(["prefer", str(file), "--metric", "rouge-1", "--no-cache", "--out", str(out)])
    assert done.value.code == 0
    shown = capsys.readouterr().out
    assert "good" in shown
    assert out.read_text(encoding="utf-8").startswith("id,rouge-1.first,rouge-1.tie,rouge-1.second")


def test_agreement_with_what_people_chose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = "the cat sat", "dogs"
    pairs = [{"chosen": good, "rejected": bad, "reference": good}] * 3 + [
        {"chosen": bad, "rejected": good, "reference": good},
        {"chosen": bad, "rejected": "birds", "reference": good},
    ]
    found = quintet.prefer(pairs, metrics=METRICS, cache=False).agreement
    assert set(found) == {*METRICS, OVERALL}
    assert (found[OVERALL].n, found[OVERALL].share) == (5, 0.7), "three right, one wrong, one even"
    assert found[OVERALL].low < 0.7 < found[OVERALL].high
    said = ["response_b", "tie", "2", "B", "model_b", "response_a"]
    labelled = [{"response_a": bad, "response_b": good, "reference": good, "winner": word} for word in said]
    found = quintet.prefer(labelled, metrics="rouge-1", labels="winner", cache=False).agreement
    assert (found["rouge-1"].n, found["rouge-1"].share) == (5, 0.8), "a tie is left out"
    assert not quintet.prefer(labelled, metrics="rouge-1", cache=False).agreement
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in pairs), encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["prefer", str(file), "--metric", "rouge-1", "--no-cache"])
    assert done.value.code == 0
    shown = capsys.readouterr()
    assert "agreement with the choice of people in 5 pairs: rouge-1 70 % [" in shown.out
    assert "columns: output=chosen or rejected, references=reference" in shown.err


@pytest.mark.parametrize(
    ("labels", "said"), [("winner", "'maybe' says neither output"), ("who", "unknown column of labels 'who'")]
)
def test_labels_that_say_nothing_are_refused(labels: str, said: str) -> None:
    rows = [{"response_a": "a", "response_b": "b", "reference": "a", "winner": "maybe"}]
    with pytest.raises(quintet.UserError, match=said):
        quintet.prefer(rows, metrics="rouge-1", labels=labels, cache=False)
    with pytest.raises(quintet.InputError, match="labels belong to a file of two outputs"):
        quintet.prefer(ROWS["good"], ROWS["bad"], metrics="rouge-1", labels=labels, cache=False)


def test_scored_files_need_no_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("one", 0.9), ("two", 0.4)):
        rows = "".join(json.dumps({"id": str(k), "consistency": value}) + "\n" for k in range(4))
        (tmp_path / f"{name}.jsonl").write_text(rows, encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["prefer", str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl"), "--format", "json"])
    assert done.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["strengths"]["one"] > found["strengths"]["two"]
    with pytest.raises(quintet.InputError, match="one system"):
        quintet.prefer([{"id": "1", "output": "a", "reference": "b"}], metrics="rouge-1", cache=False)


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three"), "ab"])
def test_names_are_one_for_each_system(names) -> None:
    with pytest.raises(InputError, match="2 to be named"):
        quintet.prefer(*list(ROWS.values())[:2], names=names, metrics=METRICS, cache=False)
