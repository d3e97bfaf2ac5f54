"""Corpus scores against sacrebleu's own, its signatures, its paired tests."""

import json
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from test_cli_score import one_line, quintet, write_jsonl

from quintet.metrics.baselines.corpus import corpus_scores

REFS = [["The cat sat on the mat.", "A cat was on the mat."], ["It rained all day in May."], ["He left."], ["We ate."]]
A = ["The cat sat on a mat.", "It rained all day long in May.", "He left.", "We ate bread and jam."]
B = ["Cat on mat is.", "All day rain it did.", "He is gone.", "We eat."]
STREAMS = [[refs[k] if k < len(refs) else None for refs in REFS] for k in range(2)]


def rows(outputs: list[str]) -> list[dict[str, Any]]:
    return [{"id": str(k), "output": o, "references": r} for k, (o, r) in enumerate(zip(outputs, REFS, strict=True))]


def test_scores_are_those_of_sacrebleu() -> None:
    found = {score.metric: score for score in corpus_scores({"A": A}, REFS, ["bleu", "chrf", "chrf++", "ter"])}
    assert found["bleu"].score == sacrebleu.corpus_bleu(A, STREAMS).score
    assert found["chrf"].score == CHRF().corpus_score(A, STREAMS).score
    assert found["chrf++"].score == CHRF(word_order=2).corpus_score(A, STREAMS).score
    assert found["ter"].score == TER().corpus_score(A, STREAMS).score
    assert "eff:no|tok:13a|smooth:exp" in found["bleu"].signature
    assert "nrefs:var" in found["bleu"].signature
    (characters,) = corpus_scores({"A": A}, REFS, ["bleu:tokenizer=char"])
    assert characters.score == BLEU(tokenize="char").corpus_score(A, STREAMS).score


@pytest.mark.parametrize(("test", "theirs"), [("bootstrap", "bs"), ("randomization", "ar")])
def test_paired_tests_are_those_of_sacrebleu(test: Any, theirs: str) -> None:
    first, second = corpus_scores({"A": A, "B": B}, REFS, ["bleu"], test, 200)
    confidence = 1000 if theirs == "ar" else -1
    _, known = PairedTest([("A", A), ("B", B)], {"BLEU": BLEU()}, STREAMS, theirs, 200, confidence)()
    assert second.p == known["BLEU"][1].p_value
    assert (first.mean, first.interval) == (known["BLEU"][0].mean, known["BLEU"][0].ci)


def test_the_command_and_the_line_below_a_table_of_rows(tmp_path: Path) -> None:
    a, b = write_jsonl(tmp_path / "a.jsonl", rows(A)), write_jsonl(tmp_path / "b.jsonl", list(reversed(rows(B))))
    run = quintet("corpus", a, b, "-m", "bleu", "-f", "json", "--samples", "100", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert [score["system"] for score in found] == ["a", "b"]
    assert found[1]["score"] == sacrebleu.corpus_bleu(B, STREAMS).score, "rows are paired by id"
    assert found[0]["p"] is None
    text = quintet("corpus", a, b, "-m", "ter", "--samples", "100", cwd=tmp_path).stdout
    assert "baseline" in text
    whole = f"{sacrebleu.corpus_bleu(A, STREAMS).score:.2f}"
    scored = quintet("score", a, "--metric", "bleu", cwd=tmp_path).stdout
    assert f"bleu of the corpus: {whole} (nrefs:var|" in scored
    one_line(quintet("corpus", a, "-m", "rouge-l", cwd=tmp_path), "unknown metric 'rouge-l'")
    write_jsonl(tmp_path / "c.jsonl", rows(A)[:2])
    other = quintet("corpus", a, tmp_path / "c.jsonl", cwd=tmp_path)
    assert other.returncode == 2
    assert "a and c differ in 2 ids" in other.stderr


def test_two_systems_in_one_file_are_paired_by_document(tmp_path: Path) -> None:
    both = [{**row, "system": name, "doc_id": row["id"], "id": f"{name}{row['id']}"}
            for name, outputs in (("A", A), ("B", B)) for row in rows(outputs)]  # fmt: skip
    run = quintet("corpus", write_jsonl(tmp_path / "s.jsonl", both), "-m", "chrf", "-f", "json", cwd=tmp_path)
    assert [score["score"] for score in json.loads(run.stdout)] == [
        CHRF().corpus_score(outputs, STREAMS).score for outputs in (A, B)
    ]
