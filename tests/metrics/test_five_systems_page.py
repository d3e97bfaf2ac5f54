"""docs/five-systems.md says nothing that is not so: the files, tests, recipes and modes it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quintet_train import recipe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "five-systems.md").read_text(encoding="utf-8")
PARTS = PAGE.partition("## Parts")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PARTS.splitlines() if line.startswith("| ")]
ROWS = [row for row in ROWS[1:] if not row[0].startswith("---")]
TESTS = {path.name: path for tests in ("tests", "training/tests") for path in (ROOT / tests).rglob("test_*.py")}


def test_every_system_has_its_parts() -> None:
    counts = {name: sum(row[0] == name for row in ROWS) for name in ("CTC", "USR", "UniEval", "GRUEN", "IM2")}
    assert counts == {"CTC": 11, "USR": 5, "UniEval": 8, "GRUEN": 6, "IM2": 13}
    assert all(len(row) == 7 and all(row) for row in ROWS)
    assert "not yet" not in PAGE.lower()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}: {row[1][:40]}" for row in ROWS])
def test_what_a_row_names_is_there(row: list[str]) -> None:
    for named in re.findall(r"`([\w./-]+\.(?:py|toml))`", row[2]):
        homes = ("src/quintet/metrics", "src/quintet", "training/quintet_train")
        assert any((ROOT / home / named).exists() for home in homes), named
    for named, function in re.findall(r"`[\w/]*?(test_\w+\.py)(?:::(\w+))?`", row[3]):
        assert named in TESTS, named
        assert not function or f"def {function}(" in TESTS[named].read_text(encoding="utf-8"), function
    for named in re.findall(r"`((?:ctc|usr|unieval|gruen|im2)-[\w-]+)`", row[4]):
        assert named in recipe.names(), named


def test_every_recipe_is_named() -> None:
    trained = " ".join(row[4] for row in ROWS)
    families = ("ctc", "usr", "unieval", "gruen", "im2")
    assert [n for n in recipe.names() if n.partition("-")[0] in families and f"`{n}`" not in trained] == []


def test_the_ledger_is_complete_in_every_cell() -> None:
    ledger = PAGE.partition("## The ledger")[2]
    rows = [line.strip().strip("|").split(" | ") for line in ledger.splitlines() if line.startswith("| ")]
    assert len(rows) > 60
    assert {len(row) for row in rows} == {6}
    assert all(cell.strip() for row in rows for cell in row)
