"""The GitHub Action: it parses, hands inputs over as data, and its own script runs through the command line."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
BASH = shutil.which("bash")
ACTION = Path(__file__).parents[3] / "action.yml"
pytestmark = pytest.mark.skipif(BASH is None, reason="no bash here")


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    return yaml.safe_load(ACTION.read_text(encoding="utf-8"))


def step(action: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in action["runs"]["steps"] if one["name"] == name)


def run_step(action: dict[str, Any], name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """As the runner does it: bash --noprofile --norc -eo pipefail, inputs as variables."""
    wanted = dict.fromkeys(step(action, name).get("env", {}), "")
    links = folder / "bin"
    links.mkdir(exist_ok=True)
    if not (links / "python").exists():
        (links / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (links / "python").chmod(0o755)
    env = {**os.environ, **wanted, "PYTHONUTF8": "1", **variables, "PATH": f"{links}:{os.environ['PATH']}",
           "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "output"),
           "GITHUB_STEP_SUMMARY": str(folder / "summary"), "QUINTET_CACHE": str(folder / "cache")}  # fmt: skip
    script = folder / "step.sh"
    script.write_text(step(action, name)["run"], encoding="utf-8")
    command = [str(BASH), "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")


def outputs(folder: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (folder / "output").read_text().splitlines())


def write(path: Path, scores: list[float]) -> None:
    path.write_text("".join(json.dumps({"id": str(i), "d": s}) + "\n" for i, s in enumerate(scores)))


def test_no_input_is_put_into_a_script(action: dict[str, Any]) -> None:
    assert action["runs"]["using"] == "composite"
    for one in action["runs"]["steps"]:
        assert one["shell"] == "bash"
        assert "${{" not in one["run"]
    used = "".join(str(one.get("env", "")) + str(one.get("if", "")) for one in action["runs"]["steps"])
    for name in action["inputs"]:
        assert f"inputs.{name}" in used


def test_every_option_it_uses_exists(action: dict[str, Any], tmp_path: Path) -> None:
    from quintet.cli.gate import gate

    script = step(action, "Gate")["run"]
    named = {word.replace("-", "_") for word in re.findall(r"--([a-z-]+)", script)}
    assert named == {"format", "min", "max_drop", "baseline", "task", "metric", "columns"}
    assert named <= set(gate.__annotations__)


def test_a_gate_that_falls_short_is_told_after_the_comment(action: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "my file.jsonl", [0.2, 0.4])
    run = run_step(action, "Gate", tmp_path, GATE_FILE="my file.jsonl", GATE_MIN="d=0.5", GATE_EXTRA="--show 1")
    assert run.returncode == 0, run.stderr
    assert outputs(tmp_path)["passed"] == "false"
    table = Path(outputs(tmp_path)["table"]).read_text(encoding="utf-8")
    assert "| d | ≥ 0.5 | 0.300 |" in table
    assert (tmp_path / "summary").read_text(encoding="utf-8") == table
    assert run_step(action, "Verdict", tmp_path, CODE=outputs(tmp_path)["code"]).returncode == 3


def test_a_gate_that_holds_and_bad_input(action: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "new.jsonl", [0.6] * 8)
    drop = {"GATE_MAX_DROP": "d=0.1", "GATE_BASELINE": "new.jsonl"}
    assert run_step(action, "Gate", tmp_path, GATE_FILE="new.jsonl", **drop).returncode == 0
    assert outputs(tmp_path)["passed"] == "true"
    assert run_step(action, "Gate", tmp_path, GATE_FILE="none.jsonl", GATE_MIN="d=0.5").returncode == 2


def test_an_input_cannot_run_a_command(action: dict[str, Any], tmp_path: Path) -> None:
    hostile = "x.jsonl; touch owned $(touch owned)"
    run_step(action, "Gate", tmp_path, GATE_FILE=hostile, GATE_MIN="d=0.5", GATE_EXTRA="; touch owned `touch owned`")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("known", ["", "41"])
def test_the_comment_is_written_once_and_then_renewed(action: dict[str, Any], tmp_path: Path, known: str) -> None:
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text(
        '#!/bin/sh\necho "$@" >> asked\n'
        'case "$*" in *--jq*) echo "$KNOWN"; exit 0;; esac\n'
        'cat "${RUNNER_TEMP}/quintet-comment.md" > sent\nexit "${GH_CODE:-0}"\n'
    )
    gh.chmod(0o755)
    (tmp_path / "t.md").write_text("| table |\n")
    told = {"PULL_REQUEST": "7", "REPOSITORY": "o/r", "TABLE": "t.md", "KNOWN": known}
    assert run_step(action, "Comment", tmp_path, **told).returncode == 0
    last = (tmp_path / "asked").read_text().splitlines()[-1]
    assert last.startswith("api --method PATCH repos/o/r/issues/comments/41" if known else "pr comment 7 --repo o/r")
    assert (tmp_path / "sent").read_text() == "<!-- quintet gate -->\n| table |\n"
    refused = run_step(action, "Comment", tmp_path, **told, GH_CODE="1")
    assert refused.returncode == 0
    assert "::warning::" in refused.stdout
