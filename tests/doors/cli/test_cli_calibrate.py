"""`quintet calibrate`, and what `score` and `gate` do with its file."""

import json
import random
from pathlib import Path

import pytest
from test_cli_score import one_line, quintet, write_jsonl

import quintet as package
from quintet import _api as api


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Repetitive texts, which people in this made-up file dislike."""
    draw = random.Random(1)
    rows = []
    for n in range(90):
        words = draw.sample(["cat", "hat", "mat", "rat", "bat", "sat", "fat", "vat"], 6)
        good = draw.random()
        said = [f"The {words[0]} is near the {w} today." for w in words[1:4]]
        text = " ".join(said if good > 0.5 else [said[0]] * 3)
        yes = draw.random() < (0.8 if good > 0.5 else 0.2)
        rows.append({"id": n, "doc_id": n // 2, "text": text, "ok": "yes" if yes else "no", "stars": 1 + 4 * yes,
                     "theirs": good, "away": 1 - good, "people": [1 + 4 * yes, 3]})  # fmt: skip
    return write_jsonl(tmp_path / "mine.jsonl", rows)


def test_texts_are_scored_fitted_and_scored_again_with_the_map(tmp_path: Path, mine: Path) -> None:
    run = quintet("calibrate", mine, "--task", "text", "--labels", "non-redundancy=ok", "-o", "c.json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "n = 90" in run.stdout
    assert "AUC" in run.stdout
    file = json.loads((tmp_path / "c.json").read_text())["dimensions"]["non-redundancy"]
    assert file["signature"].startswith("gruen-redundancy|")
    scored = quintet("score", mine, "--task", "text", "--dims", "non-redundancy", "--calibration", "c.json",
                     "-f", "jsonl", cwd=tmp_path)  # fmt: skip
    assert scored.returncode == 0, scored.stderr
    assert "|calibration:" in scored.stderr
    rows = [json.loads(line) for line in scored.stdout.splitlines()]
    assert {row["non-redundancy.accepted"] for row in rows} == {0.0, 1.0}
    assert all(0.0 <= row["non-redundancy"] <= 1.0 for row in rows)
    again = package.score(str(mine), "text", dims=["non-redundancy"], calibration=tmp_path / "c.json", cache=False)
    assert [round(v, 6) for v in again["non-redundancy"]] == [row["non-redundancy"] for row in rows]
    gate = quintet("gate", mine, "--task", "text", "--min", "non-redundancy.accepted=0.99", "--calibration", "c.json",
                   cwd=tmp_path)  # fmt: skip
    assert gate.returncode == 3
    one_line(quintet("score", mine, "--metric", "gruen-redundancy", "--columns", "output=text", "--calibration",
                     "c.json", cwd=tmp_path), "calibrates non-redundancy")  # fmt: skip


def test_scores_that_are_there_already(tmp_path: Path, mine: Path) -> None:
    run = quintet("calibrate", mine, "--scores", "x=theirs", "--labels", "x=stars", "--accept", "4", "--scale", "1,5",
                  "--recall", "0.9", "-o", "c.json", "-f", "json", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)["x"]
    assert found["labels"] == "rating"
    assert found["threshold_facts"]["chosen_for"] == "recall of at least 0.9"
    rows = [{**json.loads(line)} for line in mine.read_text().splitlines()]
    scored = write_jsonl(
        tmp_path / "scored.jsonl", [{"id": r["id"], "text": r["text"], "x": r["theirs"]} for r in rows]
    )
    passed = quintet("gate", scored, "--calibration", "c.json", "--min", "x=2", "--min", "x.accepted=.1", cwd=tmp_path)
    assert passed.returncode == 0, passed.stderr
    one_line(quintet("gate", scored, "--calibration", "c.json", "--min", "y=2", cwd=tmp_path), "'y'")


def test_less_is_better_and_lists_of_ratings(mine: Path) -> None:
    up = api.calibrate(str(mine), {"x": "people"}, scores={"x": "theirs"}, resamples=50)
    down = api.calibrate(str(mine), {"x": "people"}, scores={"x": "away"}, lower_is_better=["x"], resamples=50)
    assert up.curves["x"].value(0.7) == pytest.approx(down.curves["x"].value(0.3))
    assert (up.curves["x"].low, up.curves["x"].high) == (2.0, 4.0)


def test_bad_input_is_one_line(tmp_path: Path, mine: Path) -> None:
    def calibrate(*words: object) -> object:
        return quintet("calibrate", mine, *words, cwd=tmp_path)

    one_line(calibrate("--scores", "x=theirs", "--labels", "x=okk"), "did you mean ok")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=text"), "neither a number nor yes or no", "row 1")
    one_line(calibrate("--scores", "x=theirs", "--labels", "y=ok"), "'y'")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=ok", "--precision", "2"), "precision")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=stars", "--accept", "x=many"), "'many'")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=stars", "--scale", "5,1"), "--scale")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=ok", "--task", "text"), "give one")
    one_line(calibrate("--labels", "x=ok"), "--task")
    one_line(calibrate("--scores", "x=theirs", "--labels", "x=ok", "-o", "no/where.json"), "cannot be written")
    few = write_jsonl(tmp_path / "few.jsonl", [json.loads(line) for line in mine.read_text().splitlines()[:20]])
    run = quintet("calibrate", few, "--scores", "x=theirs", "--labels", "x=ok", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stderr.splitlines()[0].startswith("x: only 20 labelled rows")
