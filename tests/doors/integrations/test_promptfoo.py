"""The Python assertion of promptfoo: called with a text and a context of plain data; and by promptfoo itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quintet
from quintet.errors import InputError
from quintet.integrations.promptfoo import get_assert

VARS = {
    "question": "Who paid for the bridge?",
    "contexts": ["Ann Lee paid for the bridge."],
    "reference": "Ann Lee paid.",
}


def asked(output: str, **config: Any) -> dict[str, Any]:
    given = {"task": "rag", "dims": ["answer_correctness"], "cache": False, **config}
    found = get_assert(output, {"vars": VARS, "prompt": "…", "config": given})
    return json.loads(json.dumps(found))  # promptfoo takes it as JSON


def test_a_limit_decides() -> None:
    right = asked("Ann Lee paid for it.", min={"answer_correctness": 0.5})
    wrong = asked("The weather was fine.", min={"answer_correctness": 0.5})
    assert (right["pass"], wrong["pass"]) == (True, False)
    assert right["namedScores"]["answer_correctness"] == right["score"] > wrong["score"]
    assert wrong["reason"].startswith("answer_correctness 0.")
    assert wrong["componentResults"][0]["pass"] is False


def test_without_limits_it_passes_and_a_dimension_that_is_not_there_is_named() -> None:
    assert asked("The weather was fine.")["pass"]
    with pytest.raises(InputError, match="fluency was not scored"):
        asked("x", min={"fluency": 0.5})


def test_a_variable_called_answer_is_not_the_output() -> None:
    given = {"task": "rag", "dims": ["answer_correctness"], "cache": False}
    said = "Ann Lee paid."
    alone = get_assert(said, {"vars": VARS, "config": given})
    assert get_assert(said, {"vars": {**VARS, "answer": "Nobody knows."}, "config": given}) == alone


def test_promptfoo_itself_asks_and_its_results_are_read(tmp_path: Path) -> None:
    program = os.environ.get("PROMPTFOO") or shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not installed: npm install -g promptfoo, or name it in PROMPTFOO")
    value = {
        "type": "python",
        "value": "file://quintet_assert.py",
        "config": {"task": "rag", "dims": ["answer_correctness"], "min": {"answer_correctness": 0.5}, "cache": False},
    }
    answers = ["Ann Lee paid for it.", "The weather was fine."]
    settings = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "tests": [{"vars": {**VARS, "contexts": VARS["contexts"][0], "answer": answer}, "assert": [value]}
                  for answer in answers],
    }  # fmt: skip
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    (tmp_path / "quintet_assert.py").write_text("from quintet.integrations.promptfoo import get_assert\n")
    own = {
        **{f"PROMPTFOO_DISABLE_{what}": "1" for what in ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")},
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "own"),
        "PROMPTFOO_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [program, "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache", "--no-table"]
    run = subprocess.run(command, cwd=tmp_path, env={**os.environ, **own}, capture_output=True, text=True)
    out = tmp_path / "out.json"
    assert out.exists(), run.stdout[-2000:] + run.stderr[-2000:]
    rows = json.loads(out.read_text(encoding="utf-8"))["results"]["results"]
    found = {row["vars"]["answer"]: row["gradingResult"] for row in rows}
    assert [found[answer]["pass"] for answer in answers] == [True, False], run.stdout[-2000:]
    named = found[answers[0]]["componentResults"][0]["namedScores"]
    assert named["answer_correctness"] > 0.5
    read = quintet.score(str(out), "rag", dims=["answer_correctness"], cache=False)
    scores = {row.item.example.output: row.scores["answer_correctness"].value for row in read.rows if row.item.example}
    assert scores[answers[0]] == pytest.approx(named["answer_correctness"])
