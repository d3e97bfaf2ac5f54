"""The gate that pages and messages name passes the faithful examples and fails the inventive ones."""

import json
import re
from pathlib import Path

import pytest
from test_gate import EXAMPLES, quintet, write

ROOT = Path(__file__).parents[3]
NAMED = re.compile(r"consistency\s?[=@]\s?(0\.\d+)")
PAGES = [
    "README.md",
    "action.yml",
    "docs/gates.md",
    "src/quintet/stats/gate.py",
    "src/quintet/integrations/pytest_plugin.py",
]
THRESHOLD = "0.3"


def test_every_page_names_the_same_threshold() -> None:
    for page in PAGES:
        text = re.sub(r"max.drop\S* \S*|max_drop = .*", "", (ROOT / page).read_text(encoding="utf-8"))
        assert set(NAMED.findall(text)) <= {THRESHOLD}, page


@pytest.mark.parametrize(("system", "code"), [("faithful", 0), ("inventive", 3)])
def test_it_tells_faithful_from_inventive(system: str, code: int, tmp_path: Path) -> None:
    lines = (EXAMPLES / "summarization.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["system"] == system]
    file = tmp_path / "rows.jsonl"
    write(file, rows)
    limits = ["--min", f"consistency={THRESHOLD}", "--min-share", f"consistency@{THRESHOLD}=95%"]
    run = quintet("gate", file, "--task", "summarization", *limits, cwd=tmp_path)
    assert run.returncode == code, run.stdout
