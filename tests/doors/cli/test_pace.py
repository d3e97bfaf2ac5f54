"""The rate and the time left: true from the first chunk on."""

import sys
import time

import pytest

from quintet.cli import screen
from quintet.cli.screen import Pace


def run(chunks: list[tuple[float, int]], total: int) -> Pace:
    """Each chunk takes some seconds and then gives its rows at once."""
    clock = [0.0]
    pace = Pace(total, "scoring", lambda: clock[0])
    for seconds, rows in chunks:
        clock[0] += seconds
        for _ in range(rows):
            pace.tick()
            clock[0] += 1e-6
    clock[0] += 1000.0  # the next chunk is worked on
    return pace


def test_the_first_chunk_gives_the_true_rate() -> None:
    pace = run([(13.0, 64)], 1200)
    assert pace.rate == pytest.approx(64 / 13, rel=1e-3)
    assert pace.words == "4.92 rows/s, about 4 min left"
    assert pace.line == "scoring: 64 of 1,200 rows, 4.92 rows/s, about 4 min left"


def test_rows_known_from_before_are_forgotten() -> None:
    pace = run([(0.01, 600), *[(13.0, 64)] * 5], 1200)
    assert pace.rate == pytest.approx(64 / 13, rel=1e-3)


def test_before_the_first_row_and_without_a_total() -> None:
    assert Pace(10, "scoring").words == "starting"
    clock = iter([0.0, 20.0])
    assert Pace(10, "scoring", lambda: next(clock)).line == "scoring: 0 of 10 rows, 20 s since the start"
    clock = iter([0.0, 2.0])
    pace = Pace(None, "scoring", lambda: next(clock))
    pace.tick()
    assert pace.line == "scoring: 1 rows, 0.5 rows/s"


def test_a_log_gets_a_line_once_in_a_while(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(screen, "EVERY", 0.05)
    assert not sys.stderr.isatty()
    with screen.progress(3, "scoring") as tick:
        tick()
        until, said = time.monotonic() + 60, ""
        while said.count("\n") < 2 and time.monotonic() < until:
            time.sleep(0.02)
            said += capsys.readouterr().err
    lines = said.splitlines()
    assert len(lines) >= 2
    assert lines[0].startswith("scoring: 1 of 3 rows, ")
