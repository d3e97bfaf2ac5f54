"""Metrics of other packages, found through their entry points."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

METRIC = """
from dataclasses import dataclass
from quintet import Dimension, Metric, Score

@dataclass(frozen=True)
class Shouting(Metric):
    mark: str = "!"
    name = "shouting"
    dimensions = (Dimension("shouting", "Does it shout?"),)

    def _score(self, examples):
        return [{"shouting": Score(float(self.mark in e.output))} for e in examples]

nonsense = dict
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "loud.py").write_text(METRIC)
    info = tmp_path / "loud-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    points = ("shouting = loud:Shouting", "gone = loud:Gone", "nonsense = loud:nonsense", "bleu-1 = loud:Shouting")
    (info / "entry_points.txt").write_text("\n".join(["[quintet.metrics]", *points]))
    (tmp_path / "rows.jsonl").write_text('{"output": "Hello!"}\n{"output": "hello?"}\n')
    return tmp_path


def quintet(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    line = [sys.executable, "-m", "quintet", *arguments]
    return subprocess.run(line, cwd=package, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})


def test_the_command_line_scores_and_lists_a_metric_of_another_package(package: Path) -> None:
    scored = quintet(package, "score", "rows.jsonl", "--metric", "shouting:mark=?", "--no-cache", "--format", "csv")
    assert scored.returncode == 0, scored.stderr
    assert [line.rpartition(",")[2] for line in scored.stdout.split()][1:] == ["0.0", "1.0"]
    assert "shouting|mark:?|v:1" in scored.stderr
    nearly = quintet(package, "score", "rows.jsonl", "--metric", "shoutin", "--no-cache")
    assert "did you mean shouting" in nearly.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone", "the metric gone of the package loud cannot be loaded"),
        ("nonsense", "nonsense of the package loud is no quintet.Metric but dict"),
    ],
)
def test_one_that_cannot_be_loaded_is_named_with_its_package(package: Path, name: str, says: str) -> None:
    found = quintet(package, "score", "rows.jsonl", "--metric", name, "--no-cache")
    assert found.returncode
    assert says in found.stderr
    assert len(found.stderr.splitlines()) <= 2


def test_none_takes_the_name_of_ours(package: Path) -> None:
    (package / "rows.jsonl").write_text('{"output": "Hello!", "references": ["Hello!"]}\n')
    found = quintet(package, "score", "rows.jsonl", "--metric", "bleu-1", "--no-cache")
    assert "bleu|" in found.stdout + found.stderr, found.stderr


def test_a_broken_one_leaves_the_list_of_metrics_alone(package: Path) -> None:
    found = quintet(package, "metrics", "--json")
    assert found.returncode == 0, found.stderr
    assert '"shouting"' in found.stdout
    assert '"rouge-l"' in found.stdout
    assert "the metric gone of the package loud cannot be loaded" in found.stderr
