"""The plugin in a pytest of its own."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from quintet.core.score import Score
from quintet.errors import InputError
from quintet.integrations.pytest_plugin import Quality, _reaches, assert_quality

SOURCE = "The bridge opens in May. The council paid two million pounds for it."
TESTS = f"""
from quintet.integrations.pytest_plugin import assert_quality

SOURCE = {SOURCE!r}

def test_good(quality):
    quality("The bridge opens in May.", source=SOURCE, consistency=0.8)
    assert quality.score("The bridge opens in May.", "consistency", source=SOURCE)["consistency"] > 0.8

def test_bad():
    assert_quality("A dragon ate the moon.", source=SOURCE, task="fact", consistency=0.8)

def test_repeats(quality):
    quality.assert_quality("The dog ran home. The dog ran home.", task="text", non_redundancy=0)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_CACHE", str(tmp_path / "cache"))


def run_pytest(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    installed = any(point.name == "quintet" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "quintet.integrations.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-o", "addopts=", *more]
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env={**env, "PYTHONUTF8": "1"})


def test_failures_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nquintet_task = fact\n")
    (tmp_path / "test_mine.py").write_text(TESTS)
    run = run_pytest(tmp_path)
    assert "1 passed" in run.stdout, run.stdout + run.stderr
    assert "2 failed" in run.stdout
    for part in ("A dragon ate the moon.", "FAIL consistency: 0.", "at least 0.8 is wanted", "not in the source: ",
                 "FAIL non_redundancy: -0.400", "repeats: The dog ran home.", "-consistency|"):  # fmt: skip
        assert part in run.stdout
    assert "pytest_plugin.py" not in run.stdout, "the plugin's own frames are hidden"


def test_loading_it_costs_nothing_heavy() -> None:
    code = (
        "import sys, quintet.integrations.pytest_plugin\n"
        "heavy = {'numpy', 'onnxruntime', 'typer', 'rich', 'tokenizers', 'quintet._api'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_limits_that_hold_pass_and_nothing_is_returned() -> None:
    assert_quality("The bridge opens in May.", source=SOURCE, consistency=0.5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"source": SOURCE}, "no limit was given"),
        ({"source": SOURCE, "consistency": "high"}, "neither a field nor a number"),
        ({"source": SOURCE, "taste": 0.5}, "no task answers taste"),
        ({"source": 7, "consistency": 0.5}, "source is a int"),
    ],
)
def test_a_wrong_call_is_an_error_not_a_failure(given: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        assert_quality("The bridge opens.", **given)


def test_a_score_below_its_limit_fails() -> None:
    with pytest.raises(AssertionError, match="at least 0"):
        Quality("text").assert_quality("The dog ran home. The dog ran home.", non_redundancy=0.0)


def test_a_score_without_the_text_it_needs_reaches_nothing() -> None:
    assert _reaches(Score(0.9), 0.5)
    assert not _reaches(Score(0.9, flags=("empty source",)), 0.5)
    assert not _reaches(Score(float("nan")), 0.5)
