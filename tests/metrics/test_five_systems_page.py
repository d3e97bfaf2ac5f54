"""docs/five-systems.md says nothing that is not so: the files, recipes, metrics and modes it names are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from quintet import load
from quintet.metrics import metrics
from quintet.reproduce.printed import PAPERS
from quintet_train import recipe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "five-systems.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([^`]+)`", PAGE)
HOMES = ("src/quintet", "src/quintet/metrics", "training/quintet_train")


def test_it_can_be_read_in_ten_minutes() -> None:
    assert len(PAGE.split()) <= 1500


@pytest.mark.parametrize("named", sorted({name for name in NAMED if re.fullmatch(r"[\w/]+/[\w]+\.(?:py|toml)", name)}))
def test_files_are_there(named: str) -> None:
    assert any((ROOT / home / named).is_file() for home in HOMES)


def test_every_recipe_of_the_five_is_named_and_no_other() -> None:
    families = ("ctc", "usr", "unieval", "gruen", "im2")
    own = {name for name in recipe.names() if name.partition("-")[0] in families}
    known = {entry.name for entry in metrics}
    said = {name for name in NAMED if name.partition("-")[0] in families and re.fullmatch(r"[a-z0-9-]+", name)}
    assert own <= said
    assert said <= own | known


@pytest.mark.parametrize("spec", sorted({name for name in NAMED if re.fullmatch(r"[a-z0-9-]+:[a-z]+=[\w=,/-]+", name)}))
def test_modes_can_be_asked_for(spec: str) -> None:
    assert load(spec).signature


def test_each_paper_has_its_figures() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert [name.lower() for name, *_ in rows] == list(PAPERS)
    # tests/reproduce holds these figures against the data.
    held = re.search(
        r"MARKED = (\{.*?\n\})", (ROOT / "tests/reproduce/test_reproduce.py").read_text(encoding="utf-8"), re.S
    )
    assert held is not None
    assert {name.lower(): tuple(map(int, counts)) for name, *counts in rows} == ast.literal_eval(held[1])
