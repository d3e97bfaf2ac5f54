"""Limits on shares, on the worst rows and on flags; and the verdict as CI systems read it."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from test_gate import quintet

from quintet import _api as api
from quintet.cli.verdicts import as_github, as_junit, as_sarif
from quintet.errors import InputError
from quintet.stats.gate import read_limits

VALUES = [0.1, 0.69, 0.71, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
ROWS = [
    {"id": f"r{k}", "d": v, "output": "]]> <b> ::error::x\x01", "notes": ["d: empty source"] if k == 3 else []}
    for k, v in enumerate(VALUES)
]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    file = tmp_path / "scored.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def gate(file: Path, *limits: str) -> Any:
    return quintet("gate", file, *limits, cwd=file.parent)


def test_limits_are_read_as_people_write_them() -> None:
    (share,) = read_limits("min-share", ["a@0.7=95%"])
    assert (share.dimension, share.at, share.value) == ("a", 0.7, 0.95)
    assert share.text == "95 % of rows reach 0.7"
    (worst,) = read_limits("min-worst", ["bertscore-f:layer=12@5%=0.4"])
    assert (worst.dimension, worst.at, worst.value) == ("bertscore-f:layer=12", 0.05, 0.4)
    for kind, text in (("min-share", "a=0.9"), ("min-share", "a@x=0.9"), ("min-worst", "a@0=1"), ("max-flag", "f=2")):
        with pytest.raises(InputError):
            read_limits(kind, [text])  # type: ignore[arg-type]


def test_shares_worst_rows_and_flags(scored: Path) -> None:
    def verdict(**limits: Any) -> Any:
        return api.gate(str(scored), skip_bad=True, **limits).checks[0]

    share = verdict(min_share={"d": (0.7, 0.75)})
    assert (share.mean, share.below, share.near, share.n) == (pytest.approx(7 / 9), 2, 2, 9)
    assert share.passed
    assert not verdict(min_share={"d": (0.7, 0.8)}).passed
    assert [e.id for e in share.examples] == ["r0", "r1"]
    assert [e.near for e in share.examples] == [False, True], "0.69 could as well be 0.7"
    worst = verdict(min_worst={"d": (0.2, 0.5)})
    assert (worst.mean, worst.n) == (pytest.approx((0.1 + 0.69) / 2), 2)
    assert not worst.passed
    assert worst.low <= worst.mean <= worst.high
    flag = verdict(max_flag={"empty source": 0.05})
    assert (flag.mean, flag.passed, flag.examples[0].id) == (0.1, False, "r3")
    assert verdict(max_flag={"any": 0.1}).passed
    assert verdict(max_flag={"cut": 0.0}).passed


def test_less_is_better_turns_shares_and_tails_around(scored: Path) -> None:
    below = api.gate(str(scored), min_share={"d": (0.7, 0.2)}, lower_is_better=["d"], skip_bad=True).checks[0]
    assert below.mean == pytest.approx(2 / 9)
    tail = api.gate(str(scored), min_worst={"d": (0.2, 0.95)}, lower_is_better=["d"], skip_bad=True).checks[0]
    assert (tail.mean, tail.passed) == (pytest.approx(0.9), True)


def test_files_that_ci_systems_read(scored: Path) -> None:
    limits = ["--min", "d=0.8", "--min-share", "d@0.7=95%", "--max-flag", "any=50%", "--skip-bad"]
    more = ["--write", "junit=out.xml", "--write", "sarif=out.sarif", "--write", "markdown=out.md"]
    run = gate(scored, *limits, *more)
    assert run.returncode == 3, run.stderr
    assert "1 row near it" not in run.stdout.splitlines()[1]
    assert "2 rows near it" in run.stdout
    suite = ET.parse(scored.parent / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.get("name") for case in suite][1] == "d 95 % of rows reach 0.7"
    assert "r0" in (suite[1][0].text or "")
    page = json.loads((scored.parent / "out.sarif").read_text())["runs"][0]
    place = page["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 1
    assert place["artifactLocation"]["uri"].endswith("scored.jsonl")
    assert (scored.parent / "out.md").read_text().startswith("### quintet: fell short")
    wrong = gate(scored, "--min", "d=0.8", "--write", "pdf=x")
    assert wrong.returncode == 2
    assert "unknown format in --write 'pdf'" in wrong.stderr


def test_texts_cannot_break_out(scored: Path) -> None:
    verdict = api.gate(str(scored), min={"d": 0.99}, skip_bad=True)
    lines = as_github(verdict, "scored.jsonl").splitlines()
    assert lines[0].startswith("::error title=quintet%3A d ≥ 0.99::mean d")
    assert all(line.startswith("::") for line in lines)
    assert lines[1].startswith("::warning title=d ≥ 0.99,file=scored.jsonl,line=1::r0: 0.100")
    ET.fromstring(as_junit(verdict))
    json.loads(as_sarif(verdict))
