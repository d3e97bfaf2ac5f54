"""How many rows a file has, as far as counting lines can tell."""

from pathlib import Path

from quintet.io.items import row_count


def test_lines_are_counted_where_that_is_cheap(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"output": 1}\n{"output": 2}\n')
    (tmp_path / "a.csv").write_text("output\n1\n2\n3\n")
    assert row_count(str(tmp_path / "a.jsonl")) == 2
    assert row_count(str(tmp_path / "a.csv")) == 3
    assert row_count(str(tmp_path / "a.parquet")) is None
    assert row_count("-") is None
