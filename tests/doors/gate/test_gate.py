"""Gates through the real command line, and the paired test against a plain twin."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.cli.verdicts import as_markdown, escape
from quintet.errors import InputError
from quintet.stats.gate import Limit, Rules, Subject, below_zero_p, judge, read_limits, scored_file

EXAMPLES = Path(__file__).parents[3] / "examples"


def quintet(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-m", "quintet", *map(str, arguments)], cwd=cwd, capture_output=True, encoding="utf-8",
        env={**os.environ, "QUINTET_CACHE": str(cwd / "cache"), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert "Traceback" not in run.stderr
    return run


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def subject(values: list[float], name: str = "x") -> Subject:
    ids = tuple(str(k) for k in range(len(values)))
    return Subject(name, ids, {"d": np.array(values)}, {"d": ("",) * len(values)}, {})


OLD = [{"id": f"k{i}", "output": f"text {i}", "fluency": 0.8 + 0.01 * (i % 5), "consistency": 0.9} for i in range(20)]


def test_a_mean_below_its_limit_fails_with_the_worst_first(tmp_path: Path) -> None:
    scores = [0.5, 0.1, 0.9, 0.3]
    write(tmp_path / "s.jsonl", [{"id": f"r{i}", "output": "o", "d": s} for i, s in enumerate(scores)])
    run = quintet("gate", "s.jsonl", "--min", "d=0.6", "--format", "json", cwd=tmp_path)
    assert run.returncode == 3
    assert run.stderr == "quintet: gate not passed: mean d 0.450 is below 0.6 (n=4)\n"
    (check,) = json.loads(run.stdout)["checks"]
    assert [e["id"] for e in check["examples"]] == ["r1", "r3", "r0"]
    assert check["mean"] == pytest.approx(0.45)
    assert check["low"] <= check["mean"] <= check["high"]
    assert quintet("gate", "s.jsonl", "--min", "d=0.45", cwd=tmp_path).returncode == 0
    assert quintet("gate", "s.jsonl", "--max", "d=0.44", cwd=tmp_path).returncode == 3


def test_an_unscored_file_is_scored_and_shows_evidence(tmp_path: Path) -> None:
    run = quintet("gate", EXAMPLES / "fact.jsonl", "--task", "fact", "--min", "consistency=2", cwd=tmp_path)
    assert run.returncode == 3
    assert "not in the source: " in run.stdout or "contradicted: " in run.stdout
    assert "-consistency|" in run.stdout
    assert "columns: output=claim, source=document" in run.stderr, "a gate may fail by a wrong reading"


def test_a_scored_file_keeps_its_evidence(tmp_path: Path) -> None:
    rows = [{"id": "a", "output": "The dog ran home. The dog ran home."}]
    write(tmp_path / "in.jsonl", rows)
    metric = ["--metric", "gruen-redundancy"]
    for out in ("s.jsonl", "s.csv"):
        assert quintet("score", "in.jsonl", *metric, "--evidence", "-o", out, cwd=tmp_path).returncode == 0
        run = quintet("gate", out, "--min", "gruen-redundancy=0", cwd=tmp_path)
        assert run.returncode == 3
        assert "a  -0.400  repeats: The dog ran home." in run.stdout


def test_a_drop_is_judged_by_the_paired_test(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", OLD)
    write(tmp_path / "fell.jsonl", [{**row, "fluency": row["fluency"] - 0.05} for row in OLD])
    # The same raw drop, but from one example alone: it settles nothing.
    write(
        tmp_path / "one.jsonl", [{**row, "fluency": row["fluency"] - (1.0 if row["id"] == "k3" else 0)} for row in OLD]
    )
    limit = ["--max-drop", "fluency=0.02", "--baseline", "old.jsonl"]
    run = quintet("gate", "fell.jsonl", *limit, cwd=tmp_path)
    assert run.returncode == 3
    assert "0.820 → 0.770" in run.stdout
    assert "p < .001" in run.stderr
    assert quintet("gate", "one.jsonl", *limit, cwd=tmp_path).returncode == 0
    assert (
        quintet("gate", "fell.jsonl", "--max-drop", "fluency=0.05", "--baseline", "old.jsonl", cwd=tmp_path).returncode
        == 0
    )
    up = ["--lower-is-better", "fluency"]
    assert quintet("gate", "fell.jsonl", *limit, *up, cwd=tmp_path).returncode == 0
    assert (
        quintet(
            "gate", "old.jsonl", "--max-drop", "fluency=0.02", "--baseline", "fell.jsonl", *up, cwd=tmp_path
        ).returncode
        == 3
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["old.jsonl"], "no limit was given"),
        (["old.jsonl", "--min", "fluency"], "cannot read 'fluency'"),
        (["old.jsonl", "--min", "fluency=high"], "DIMENSION=NUMBER"),
        (["old.jsonl", "--min", "fluency=nan"], "cannot read"),
        (["old.jsonl", "--min", "fluency=1", "--min", "fluency=2"], "two limits"),
        (["old.jsonl", "--min", "fluenzy=0.5"], "did you mean fluency?"),
        (["old.jsonl", "--min", "output=0.5"], "which is no number"),
        (["none.jsonl", "--min", "fluency=0.5"], "none.jsonl"),
        (["old.jsonl", "--max-drop", "fluency=0.1"], "needs a baseline"),
        (["old.jsonl", "--max-drop", "fluency=-0.1"], "give 0 or more"),
        (["old.jsonl", "--min", "fluency=0.1", "--baseline", "old.jsonl"], "--max-drop"),
        (["old.jsonl", "--max-drop", "fluency=0.1", "--baseline", "few.jsonl"], "the ids differ"),
        (["old.jsonl", "--max-drop", "fluency=0", "--baseline", "few.jsonl", "--common-only"], "needs at least 5"),
        (["twice.jsonl", "--max-drop", "fluency=0.1", "--baseline", "old.jsonl"], "occurs twice"),
        (["hole.jsonl", "--min", "fluency=0.1"], "1 of 2 rows have no score of fluency, or"),
        (["old.jsonl", "--min", "fluency=0.1", "--lower-is-better", "fluenci"], "did you mean fluency?"),
        (["old.jsonl", "--min", "fluency=0.1", "--format", "xml"], "unknown format"),
        (["old.jsonl", "--min", "fluency=0.1", "--alpha", "2"], "--alpha"),
        (["old.jsonl", "--task", "summarization", "--min", "taste=0.5"], "unknown dimension"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], says: str) -> None:
    write(tmp_path / "old.jsonl", OLD)
    write(tmp_path / "few.jsonl", OLD[:4])
    write(tmp_path / "twice.jsonl", [*OLD, OLD[0]])
    write(tmp_path / "hole.jsonl", [OLD[0], {"id": "h", "fluency": None}])
    run = quintet("gate", *arguments, cwd=tmp_path)
    assert run.returncode == 2, run.stdout
    assert run.stderr.count("\n") == 1
    assert says in run.stderr


def test_rows_without_a_score_are_left_out_only_when_told(tmp_path: Path) -> None:
    path = write(tmp_path / "hole.jsonl", [{"id": "a", "d": 0.5}, {"id": "b", "d": None}, {"id": "c", "d": 0.7}])
    with pytest.raises(InputError, match="no score of d"):
        judge(scored_file(str(path), ["d"]), [Limit("min", "d", 0.5)], None, Rules())
    verdict = judge(scored_file(str(path), ["d"]), [Limit("min", "d", 0.5)], None, Rules(skip_bad=True))
    assert (verdict.checks[0].n, verdict.checks[0].missing, verdict.passed) == (2, 1, True)


def plain_one_sided(values: list[float]) -> float:
    sums = [
        sum(s * v for s, v in zip(signs, values, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    return sum(total <= sum(values) + 1e-9 for total in sums) / len(sums)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=9))
def test_one_sided_p_is_that_of_all_sign_patterns(gaps: list[int]) -> None:
    values = [g / 64 for g in gaps]
    if sum(values) < 0:
        assert below_zero_p(np.array(values)) == pytest.approx(plain_one_sided(values))
    else:
        assert below_zero_p(np.array(values)) == 1.0


def test_a_drop_within_the_limit_seldom_fails() -> None:
    rng = np.random.default_rng(1)
    failed = 0
    for _ in range(200):
        old = rng.normal(0.7, 0.1, 40)
        new = old + rng.normal(-0.02, 0.05, 40)  # the true drop is exactly the limit
        failed += not judge(subject(list(new)), [Limit("max-drop", "d", 0.02)], subject(list(old), "y"), Rules()).passed
    assert failed <= 0.05 * 200 + 3 * (200 * 0.05 * 0.95) ** 0.5


def test_a_drop_of_exactly_the_limit_passes_despite_rounding() -> None:
    old = [0.1 * k for k in range(12)]
    new = [value - 0.02 for value in old]
    assert judge(subject(new), [Limit("max-drop", "d", 0.02)], subject(old, "y"), Rules()).passed


def test_holm_runs_over_all_drops() -> None:
    gaps = [-0.3, -0.2, -0.2, -0.1, -0.1, -0.1]
    many = {name: np.array(gaps) for name in "abc"}
    blank = dict.fromkeys("abc", ("",) * 6)
    ids = tuple("123456")
    new, old = Subject("n", ids, many, blank, {}), Subject("o", ids, {n: np.zeros(6) for n in "abc"}, blank, {})
    one = judge(new, [Limit("max-drop", "a", 0.0)], old, Rules())
    three = judge(new, [Limit("max-drop", n, 0.0) for n in "abc"], old, Rules(alpha=0.06))
    assert one.checks[0].p == pytest.approx(1 / 64)
    assert [check.p for check in three.checks] == pytest.approx([3 / 64] * 3)


def test_markdown_cannot_be_broken_by_a_text(tmp_path: Path) -> None:
    hostile = "a | b </details><img src=x> @someone [x](http://e) #1 `c`\n\n# big"
    path = write(tmp_path / "s.jsonl", [{"id": "x|y", "output": hostile, "d": 0.1}])
    page = as_markdown(judge(scored_file(str(path), ["d"]), [Limit("min", "d", 0.5)], None, Rules()))
    row = next(line for line in page.split("\n") if "&#124;y" in line)
    assert row.count("|") == 4
    assert page.count("</details>") == 1
    for sign in ("<img", "@someone", "](", "#1 ", "`c`", "\n# big"):
        assert sign not in page
    assert escape("plain words, 0.5") == "plain words, 0.5"


def test_limits_of_metrics_with_parameters() -> None:
    assert read_limits("min", ["bertscore-f:layer=12=0.8"]) == [Limit("min", "bertscore-f:layer=12", 0.8)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_score_without_the_text_it_needs_is_not_judged(tmp_path: Path, suffix: str) -> None:
    """An empty source makes an average score; it must not carry a text through."""
    texts = [{"id": f"r{i}", "output": f"The dog {i} ran home.", "source": f"The dog {i} ran home."} for i in range(3)]
    write(tmp_path / "t.jsonl", [*texts, {"id": "hollow", "output": "The dog ran.", "source": " "}])
    how = ("--metric", "ctc-consistency", "--model", "fake:embedder")
    assert quintet("score", "t.jsonl", *how, "--out", f"s.{suffix}", cwd=tmp_path).returncode == 0
    for asked in ((f"s.{suffix}",), ("t.jsonl", *how)):
        limit = ("--min", "ctc-consistency=0.01")
        stopped = quintet("gate", *asked, *limit, cwd=tmp_path)
        assert stopped.returncode == 2
        assert "1 of 4 rows have no score of ctc-consistency, or one without the text that it needs" in stopped.stderr
        assert "(first: hollow)" in stopped.stderr
        passed = quintet("gate", *asked, *limit, "--skip-bad", cwd=tmp_path)
        assert passed.returncode == 0
        assert "1 row was not judged on ctc-consistency" in passed.stdout


def test_gate_from_python_takes_results_and_files(tmp_path: Path) -> None:
    from quintet._api import gate, score
    from quintet.errors import GateFailed

    rows = [{"id": str(k), "output": "a b c d" if k % 2 else "a b", "references": ["a b c d"]} for k in range(20)]
    result = score(rows, metrics=["ter", "rouge-1"], cache=False)
    assert gate(result, min={"rouge-1": 0.5}, max={"ter": 60}).passed
    with pytest.raises(GateFailed, match=r"mean rouge-1 0\.833 is below 0\.9"):
        gate(result, min={"rouge-1": 0.9}).check()
    worse = score([{**row, "output": "z"} for row in rows], metrics=["ter"], cache=False)
    assert gate(result, max_drop={"ter": 0}, baseline=worse).passed
    assert not gate(worse, max_drop={"ter": 0}, baseline=result).passed, "less is better, and the Result knows it"
    (tmp_path / "old.csv").write_text("id,output,rouge-1\n" + "\n".join(f"{k},a,1.0" for k in range(20)))
    assert not gate(result, max_drop={"rouge-1": 0.05}, baseline=tmp_path / "old.csv").passed
    with pytest.raises(InputError, match="go together"):
        gate(result, min={"ter": 0}, baseline=worse)
