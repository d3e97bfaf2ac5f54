"""benchmarks/agreement.py: tables from stored parts, and no look at a test set that is not asked for."""

import gzip
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quintet.core.blend import Blend, percentile
from quintet.core.example import Example

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
signals: Any = import_module("evaluator_signals")
agreement: Any = import_module("agreement")

RECIPE = """
[tone.full]
question = "Is it good?"
needs = []
levels = [-2.0, 0.0, 2.0]
[[tone.full.signals]]
metric = "response-length"
label = "length"
shift = 4.0
scale = 2.0
weight = 0.5
[[tone.full.signals]]
metric = "gruen-redundancy"
label = "new"
shift = 0.5
scale = 0.5
weight = 0.5
"""


def test_blend_without_a_signal_comes_out_of_the_parts(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(RECIPE)
    blend = Blend(recipe=f"{tmp_path / 'own.toml'}#tone/full")
    texts = ["One two three.", "Cats sleep. Cats sleep.", "A b c d e f g h i."]
    found = signals.from_scores([row["full"] for row in blend.score([Example(t) for t in texts])])
    assert list(found.adds) == ["length", "new"]
    whole = found.adds["length"] + found.adds["new"]
    np.testing.assert_allclose(found.value, [percentile(v, [-2.0, 0.0, 2.0]) for v in whole])
    np.testing.assert_allclose(found.without("new"), 0.5 * (found.raw["length"] - 4.0) / 2.0)
    np.testing.assert_allclose(found.alone("length"), found.without("new"))
    names = [name for name, _ in agreement.variants(found, found)]
    assert names == ["full", "fast", "only length", "only new", "without length", "without new"]


def study_files(folder: Path, benchmarks: Path) -> tuple[Path, Path, Path]:
    """A study that has one signal of one set: the ratings themselves, with a little noise."""
    from quintet.data.benchmark import load

    people = load("simplicity_da", benchmarks).ratings["preservation"]
    ratings = folder / "ratings.json.gz"
    rows = [{"set": "simp_da", "human": {"meaning": float(v)}} for v in people]
    ratings.write_bytes(gzip.compress(json.dumps(rows).encode()))
    rng = np.random.default_rng(0)
    np.savez(folder / "s.npz", __id__=np.arange(len(people)),
             **{"acc.mean": people + rng.normal(0, 20, len(people)), "inp.adq": -people})  # fmt: skip
    (folder / "blends").mkdir()
    table = """signals = [{ name = "acc.mean", weight = 1, mean = 50.0, sd = 20.0 }, { name = "inp.adq", weight = 0.001, mean = 0.0, sd = 1.0 }]
percentiles = [-5.0, 0.0, 5.0]
"""  # noqa: E501
    modes = "\n".join(f"[preservation.{mode}]\n{table}" for mode in ("full", "fast"))
    (folder / "blends" / "rewriting.toml").write_text(modes)
    return ratings, folder / "s.npz", folder / "blends"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "agreement.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_tables_from_a_study(tmp_path: Path, benchmarks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "MEANS", {"one": ([("simplicity_da", "preservation")], 0.3, 0.9)})
    ratings, table, blends = study_files(tmp_path, benchmarks)
    page = tmp_path / "page.md"
    page.write_text("# Before\n<!-- tables -->\nold\n<!-- /tables -->\nafter\n")
    options = agreement.Options(data=str(benchmarks), resamples=50, study=signals.Study(ratings, [table], blends))
    records, draws, changes, signed = agreement.judge("simplicity_da", options)
    agreement.write_page(agreement.tables(records, draws), page)
    written = page.read_text()
    assert written.startswith("# Before\n<!-- tables -->\n## The evaluator")
    assert written.endswith("<!-- /tables -->\nafter\n")
    assert "old" not in written
    assert "| simplicity_da preservation | 600 | pooled |" in written
    cell, mean = (next(r for r in written.splitlines() if r.startswith(f"| {n}")) for n in ("simplicity_da", "**one"))
    assert cell.split(" | ")[3] == mean.split(" | ")[3].replace("*", "")  # the mean of one figure has its interval
    single = agreement.details(records, changes, signed)
    (alone,) = [line for line in single.splitlines() if "same meaning as the input" in line]
    assert "-1.000 [-1.00, -1.00]" in alone


def test_marks_reached_and_losses() -> None:
    assert [agreement._reached(v, 0.45, 0.575) for v in (0.4494, 0.4496, 0.5746)] == ["**no**", "least", "aim"]
    assert agreement._reached(0.5, None, None) == ""


def test_a_test_set_needs_a_reason(tmp_path: Path, benchmarks: Path) -> None:
    page = tmp_path / "page.md"
    found = run("qags_xsum", "--data", benchmarks, "--page", page)
    assert found.returncode == 2
    assert "--look" in found.stderr
    assert not page.exists()


def test_a_study_in_another_order_is_not_taken(tmp_path: Path, benchmarks: Path) -> None:
    from quintet.data.benchmark import load

    ratings, table, blends = study_files(tmp_path, benchmarks)
    rows = json.loads(gzip.decompress(ratings.read_bytes()))
    ratings.write_bytes(gzip.compress(json.dumps(rows[::-1]).encode()))
    found = signals.Study(ratings, [table], blends)
    assert found.blended(load("simplicity_da", benchmarks), ["preservation"], False) == {}
