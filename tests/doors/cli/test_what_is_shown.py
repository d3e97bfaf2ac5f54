"""What a person sees: lists that fit a screen, hints that help, scales that are said, a stop that leaves nothing."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from test_cli_score import quintet, write_jsonl

import quintet as library
from quintet.cli.screen import example_table, scale_lines
from quintet.core.evidence import weakest
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.result import Column
from quintet.core.score import Score, Span
from quintet.errors import UnknownName
from quintet.metrics import metrics


def test_metrics_of_a_task_and_by_words_fit_a_screen(tmp_path: Path) -> None:
    run = quintet("metrics", "--task", "fact", "--search", "source", cwd=tmp_path)
    lines = run.stdout.splitlines()
    assert 3 <= len(lines) <= 24
    assert all(len(line.rstrip()) <= 120 for line in lines)
    found = json.loads(quintet("metrics", "--search", "papineni", "--json", cwd=tmp_path).stdout)
    assert {row["name"] for row in found} >= {"bleu", "bleu-4"}
    listed = quintet("metrics", cwd=tmp_path).stdout
    assert "evaluator-acceptability" not in listed, "a feature inside the evaluator"
    assert "no metric fits" in quintet("metrics", "--search", "zzz", cwd=tmp_path).stderr


def test_a_name_like_no_other_is_not_guessed_at() -> None:
    name = "hallucinations-of-mine"
    assert "quintet metrics --search TEXT" in str(UnknownName("metric", name, [entry.name for entry in metrics]))
    assert "did you mean" not in str(UnknownName("task", "chat", ["fact", "dialogue"]))


def test_what_is_not_here_is_said_and_names_of_other_tools_are_near() -> None:
    with pytest.raises(UnknownName, match="unknown metric 'Toxicity'; quintet knows nothing of harm"):
        library.load("Toxicity")
    with pytest.raises(UnknownName, match="unknown task 'translation'; there is no task for translation"):
        library.score([{"output": "a", "source": "b"}], "translation")
    with pytest.raises(UnknownName, match="did you mean faithfulness"):
        library.load("faithfulnes")


def test_scales_other_than_0_to_1_are_said() -> None:
    plain = Column("a", "")
    assert scale_lines([Column("c", "", low=0.0, high=1.0)]) == []
    assert scale_lines([plain]) == ["a: no lower bound to no upper bound, higher is better"]
    ter = Column("ter", "", low=0.0, high=None, higher_is_better=False)
    assert scale_lines([ter]) == ["ter: 0 to no upper bound, lower is better"]


def test_words_of_evidence_carry_no_marks() -> None:
    text = "At the airport, eagles. slept"
    words = tuple(Span(start, end, 0.1) for start, end in ((7, 15), (16, 23)))
    assert weakest(Score(0.2, words), text) == "weakest: airport 0.10, eagles 0.10"


def test_a_sentence_at_fault_is_named_with_its_fault() -> None:
    text = "Sure. What size do you need?"
    spans = (Span(0, 5, 1.0, "sentence"), Span(6, 28, 0.1, "sentence", note="asks what was said already"))
    assert weakest(Score(0.1, spans), text) == "asks what was said already: What size do you need?"
    assert weakest(Score(1.0, spans[:1]), text) == ""


def test_pairs_are_called_what_they_are() -> None:
    text = "The dog ran. The dog ran. A bank failed."

    def pair(value: float, note: str) -> Score:
        return Score(0.1, (Span(13, 25, value, "pair", note=note, other=("output", 0, 12)),))

    assert weakest(pair(-0.2, "AB"), text) == "repeats: The dog ran."
    assert weakest(pair(0.2, ""), text) == "does not follow: The dog ran."
    assert weakest(pair(0.2, "order"), text) == "the order may be wrong here: The dog ran."
    assert weakest(pair(0.9, ""), text) == ""


def test_a_perfect_score_is_not_the_lowest() -> None:
    scores = {"non-redundancy": Score(0.0, parts={"flags": 0.0}), "focus": Score(0.3, parts={"pairs": 2.0})}
    row = Scored(Item(Example("A text.", id="a")), scores)

    def shown(highs: dict[str, float | None]) -> str:
        out = io.StringIO()
        Console(file=out, width=120).print(example_table([row], list(scores), 120, highs))
        return out.getvalue()

    assert "pairs 2.00" in shown({"non-redundancy": 0.0, "focus": 1.0})
    assert "flags 0.00" in shown({})


def test_words_that_are_fine_are_no_evidence() -> None:
    text = "At the airport"
    words = (Span(0, 2, 0.95), Span(3, 6, 0.99), Span(7, 14, 0.3))
    assert weakest(Score(0.4, words), text) == "weakest: airport 0.30"
    assert weakest(Score(0.4, words[:2]), text) == ""


def test_what_is_shown_without_evidence_is_called_text(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "s.jsonl", [{"id": "a", "output": "Some words.", "d": 0.1}])
    assert "a  0.100  text: Some words." in quintet("gate", file, "--min", "d=0.5", cwd=tmp_path).stdout


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM to handle")
def test_sigterm_is_as_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quintet", "score", "-", "-m", "gruen-redundancy", "-o", "out.jsonl"]
    environment = {**os.environ, "QUINTET_CACHE": str(tmp_path / "cache")}
    run = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert run.stdin is not None
    for k in range(400):  # more rows than are looked at before the output is opened
        run.stdin.write(json.dumps({"output": f"The dog ran {k}."}) + "\n")
    run.stdin.flush()
    until = time.monotonic() + 120
    while not (tmp_path / "out.jsonl.part").exists() and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    _, error = run.communicate(timeout=300)
    assert run.returncode == 130, error
    assert error.splitlines()[-1].startswith("quintet: stopped; what was scored is kept")
    assert not list(tmp_path.glob("*.part"))
