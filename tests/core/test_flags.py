"""What makes a score doubtful is said with a stable code, and a gate heeds it as it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quintet
from quintet.cli import main
from quintet.core.flags import FLAGS, code_of, flag, unsure
from quintet.text.language import other_language

SOURCE = "The town council voted on Monday evening to repair the old stone bridge. Work will begin in May."
ROWS = {
    "good": {"output": "The council will repair the old bridge from May.", "source": SOURCE},
    "no source": {"output": "The council will repair the old bridge from May.", "source": "  "},
    "German": {"output": "Der Rat stimmte am Montag für die Reparatur der alten Brücke.", "source": SOURCE},
    "short": {"output": "Old bridge.", "source": SOURCE},
    "copy": {"output": SOURCE, "source": SOURCE},
    "far": {"output": "Penguins cannot fly, yet they swim faster than people.", "source": SOURCE},
    "empty": {"output": "", "source": SOURCE},
}


@pytest.fixture(scope="module")
def scored() -> dict[str, quintet.Score]:
    rows = [{"id": name, **row} for name, row in ROWS.items()]
    result = quintet.score(rows, task="fact", fast=True, cache=False)
    return dict(zip(ROWS, (row["consistency"] for row in result), strict=True))


def test_codes_are_these() -> None:
    assert set(FLAGS) == {
        "empty output", "empty source", "empty context", "empty references", "empty history", "empty question",
        "empty contexts", "abstained", "other language", "short output", "copy of the source", "far from the source",
        "not all seen",
    }  # fmt: skip
    assert code_of(flag("short output", "2 words")) == "short output"
    assert unsure(["abstained", "short output: 2 words", "no such flag"]) == ("short output",)
    assert all(known.about.endswith(".") for known in FLAGS.values())


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        ("good", ()),
        ("German", ("other language",)),
        ("short", ("short output",)),
        ("copy", ("copy of the source",)),
        ("far", ("far from the source",)),
    ],
)
def test_a_doubtful_score_says_why(scored: dict[str, quintet.Score], row: str, codes: tuple[str, ...]) -> None:
    assert scored[row].unsure == codes
    assert not scored[row].missing


def test_an_empty_source_is_never_a_middling_number(scored: dict[str, quintet.Score]) -> None:
    assert scored["no source"].missing
    assert scored["no source"].flags[0] == "empty source"
    assert (scored["empty"].value, scored["empty"].flags) == (0.0, ("empty output",))


def test_metrics_without_a_model_have_no_language() -> None:
    rows = [{"output": "Der Rat stimmte am Montag ab.", "reference": "Der Rat stimmte ab."}]
    assert not quintet.score(rows, metrics="rouge-1", cache=False)[0]["rouge-1"].flags


def test_what_a_model_did_not_see_makes_it_unsure() -> None:
    assert quintet.Score(0.5, cut={"source": 3}).unsure == ("not all seen",)


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as done:
        main(["gate", *arguments])
    return int(done.value.code or 0), capsys.readouterr().out


def test_a_gate_counts_excludes_or_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = {"b": ["short output: 2 words"], "c": ["faithfulness: abstained"]}
    values = {"a": 0.9, "b": 0.1, "c": None}
    rows = [{"id": i, "output": "x", "faithfulness": v, "notes": notes.get(i, [])} for i, v in values.items()]
    file = tmp_path / "scored.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    least = [str(file), "--min", "faithfulness=0.4", "--format", "json"]
    code, shown = gate(capsys, *least)
    assert (code, json.loads(shown)["checks"][0]["n"]) == (0, 2)  # the row that declines is left out without a word
    code, shown = gate(capsys, *least, "--exclude-unsure")
    (check,) = json.loads(shown)["checks"]
    assert (code, check["n"], check["mean"]) == (0, 1, 0.9)
    assert gate(capsys, *least, "--max-flag", "short output=0")[0] == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The council voted to repair the bridge.", ""),
        ("Der Rat stimmte am Montag für die Reparatur der Brücke.", "de"),
        ("会議は月曜日に開かれた。", "ja"),
        ("name[Blue Spice], eatType[coffee shop], area[city centre]", ""),
        ("Ann Lee, Bob Ray, Oslo", ""),
        ("12:30 ?!", ""),
    ],
)
def test_the_language_is_named_only_where_it_is_plain(text: str, code: str) -> None:
    assert other_language(text) == code
