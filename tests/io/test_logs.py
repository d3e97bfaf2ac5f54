"""`quintet compare` on the logs of Inspect, promptfoo, lm-evaluation-harness and MLflow."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from quintet.cli import main
from quintet.io.logs import of_log, value_of
from quintet.io.score_rows import read_score_rows, scores_by_system

N = 8


def inspect_log(right: int) -> list[dict[str, Any]]:
    grade = ["C" if k < right else "I" for k in range(N)]
    return [
        {"id": k, "epoch": 1, "input": f"q{k}", "target": "x", "output": {"choices": []},
         "scores": {"match": {"value": grade[k], "answer": "x"}, "graded": {"value": {"style": 0.1 * right}}}}
        for k in range(N)
    ]  # fmt: skip


def test_an_inspect_log_packed_or_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("a", 8), ("b", 1)):
        with zipfile.ZipFile(tmp_path / f"{name}.eval", "w") as packed:
            packed.writestr("header.json", "{}")
            for sample in inspect_log(right):
                packed.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"version": 2, "eval": {"model": name}, "samples": inspect_log(right)}), encoding="utf-8"
        )
        packed_rows, rows = (read_score_rows(str(tmp_path / f"{name}.{end}")) for end in ("eval", "json"))
        assert packed_rows == rows
        assert sum(row["match"] for row in rows) == right
    with pytest.raises(SystemExit) as done:
        main(["compare", str(tmp_path / "a.eval"), str(tmp_path / "b.eval"), "--dims", "match", "--format", "json"])
    assert done.value.code == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["difference"] == pytest.approx(7 / 8)


def test_a_promptfoo_file_holds_all_its_providers(tmp_path: Path) -> None:
    rows = [
        {"provider": {"id": f"openai:{name}", "label": name}, "testIdx": k, "promptIdx": 0, "vars": {"q": k},
         "success": name == "one", "score": 0.9 if name == "one" else 0.2, "namedScores": {"tone": 0.5},
         "response": {"output": "x"}}
        for name in ("one", "two") for k in range(N)
    ]  # fmt: skip
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"results": {"version": 3, "results": rows}}), encoding="utf-8")
    one, two = scores_by_system([str(file)], ["pass", "score", "tone"])
    assert (one[0], two[0]) == ("one", "two")
    assert one[1] == two[1]
    assert (set(one[2]["pass"]), set(two[2]["score"])) == ({1.0}, {0.2})


def test_samples_of_the_harness_and_an_evaluation_of_mlflow() -> None:
    sample = {"doc_id": 3, "doc": {"question": "q"}, "target": "4", "arguments": [], "resps": [["4"]],
              "filtered_resps": ["4"], "filter": "strict", "metrics": ["exact_match"], "exact_match": 1.0}  # fmt: skip
    assert of_log(sample) == {"id": "3/strict", "exact_match": 1.0}
    feedback = {"assessment_name": "correctness", "feedback": {"value": "yes"}}
    row = {"trace_id": "t1", "request": {"q": "who?"}, "response": "Ann", "assessments": [feedback]}
    again = {**row, "trace_id": "t2"}
    assert of_log(row) == of_log(again)
    assert (of_log(row) or {})["correctness"] == 1.0
    assert (of_log({"request": "who?", "relevance/value": 0.25}) or {})["relevance"] == 0.25


def test_our_own_rows_are_no_log() -> None:
    assert of_log({"id": "1", "output": "x", "scores": {"consistency": 0.5}}) is None
    assert value_of("maybe") is None


def test_what_is_no_log_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.eval").write_text("no zip", encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["compare", str(tmp_path / "a.eval"), str(tmp_path / "a.eval")])
    assert done.value.code == 2
    assert "is no Inspect log" in capsys.readouterr().err
