"""Settings of a project: found, applied, refused where they cannot be right; the shell's completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli_score import one_line, quintet, read_jsonl, write_jsonl

from quintet.cli.config import defaults, find_config
from quintet.errors import InputError, UnknownName

ROWS = [{"id": "a", "text_of_mine": "The dog ran home. The dog ran home.", "more": "x"}]
OPTIONS = {
    "score": {"task": False, "metric": True, "columns": False, "fast": False, "calibration": False, "workers": False},
    "explain": {"task": False},
    "gate": {"task": False, "min": True, "baseline": False},
}


def test_settings_hold_unless_something_else_is_typed(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.quintet]\nmetric = "gruen-redundancy"\ncolumns = { output = "text_of_mine" }\n'
        "[tool.quintet.gate]\nmin = { gruen-redundancy = -0.1 }\n"
    )
    run = quintet("score", file, "-o", "o.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "pyproject.toml (metric, columns)" in run.stderr
    assert read_jsonl(tmp_path / "o.jsonl")[0]["gruen-redundancy"] == -0.4
    assert quintet("gate", file, cwd=tmp_path).returncode == 3
    typed = quintet("score", file, "--columns", "output=more", "-o", "-", cwd=tmp_path)
    assert '"gruen-redundancy": 0.0' in typed.stdout
    assert "pyproject.toml (metric)" in typed.stderr, "what is typed is no setting that was used"
    typed = quintet("score", file, "--columns=output=more", "-mgruen-redundancy", "-o", "-", cwd=tmp_path)
    assert (typed.returncode, "settings" in typed.stderr) == (0, False), typed.stderr


def test_values_become_what_options_take(tmp_path: Path) -> None:
    path = tmp_path / "quintet.toml"
    (tmp_path / "c.json").write_text("{}")
    path.write_text(
        'task = "fact"\nfast = true\ncolumns = { output = "a", source = "b" }\ncalibration = "c.json"\n'
        '[gate]\nmin = { fluency = 0.5 }\nbaseline = "last-on-main"\n[score]\nworkers = 2\n'
    )
    assert defaults(path, OPTIONS) == {
        "score": {"task": "fact", "fast": True, "columns": "output=a,source=b", "workers": 2,
                  "calibration": str(tmp_path / "c.json")},
        "explain": {"task": "fact"},
        "gate": {"task": "fact", "min": ["fluency=0.5"], "baseline": "last-on-main"},
    }  # fmt: skip
    path.write_text("tusk = 1\n")
    with pytest.raises(UnknownName, match="did you mean task"):
        defaults(path, OPTIONS)
    path.write_text("[gate]\nmax = 1\n")
    with pytest.raises(UnknownName, match=r"unknown setting in .*quintet.toml \[gate\] 'max'"):
        defaults(path, OPTIONS)
    path.write_text("task = \n")
    with pytest.raises(InputError, match="not valid TOML"):
        defaults(path, OPTIONS)


def test_the_nearest_file_counts_up_to_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "quintet.toml").write_text("")
    (tmp_path / "repository" / "pyproject.toml").write_text("[tool.other]\n")
    assert find_config(inner) == tmp_path / "quintet.toml"
    (tmp_path / "repository" / ".git").mkdir()
    assert find_config(inner) is None
    (tmp_path / "repository" / "a" / "quintet.toml").write_text("")
    assert find_config(inner) == tmp_path / "repository" / "a" / "quintet.toml"
    monkeypatch.setenv("QUINTET_CONFIG", "")
    assert find_config(inner) is None


def test_init_writes_what_can_be_used_at_once(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "rag.jsonl", [{"question": "q?", "contexts": ["c"], "answer": "a"}])
    assert quintet("init", "rag.jsonl", cwd=tmp_path).stdout == "quintet.toml\n"
    text = (tmp_path / "quintet.toml").read_text()
    assert 'output = "answer"' in text
    assert 'contexts = "contexts"' in text
    assert defaults(tmp_path / "quintet.toml", OPTIONS)["gate"]["task"] in ("rag", "fact")
    one_line(quintet("init", cwd=tmp_path), "is there already")


def test_the_shell_completes_tasks() -> None:
    asked = {"_QUINTET_COMPLETE": "complete_bash", "COMP_WORDS": "quintet score --task summ", "COMP_CWORD": "3"}
    run = subprocess.run([sys.executable, "-m", "quintet"], env={**os.environ, **asked}, capture_output=True, text=True)
    assert run.stdout.split() == ["summarization"]
