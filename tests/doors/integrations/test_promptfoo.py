"""The Python assertion of promptfoo: called as promptfoo calls it, with a text and a context of plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
