"""A damaged Parquet file is one line: no panic is printed, nothing aborts, and no row is lost in silence."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from quintet.errors import InputError
from quintet.io.records import BadRow
from quintet.io.tables import open_table

arrow = pytest.importorskip("arro3.core")
arro3_io = pytest.importorskip("arro3.io")

COUNT = 3000


def write(path: Path) -> Path:
    texts = arrow.Array([f"text number {k}" for k in range(COUNT)], arrow.DataType.string())
    numbers = arrow.Array(list(range(COUNT)), arrow.DataType.int64())
    arro3_io.write_parquet(arrow.Table.from_pydict({"output": texts, "n": numbers}), path)
    return path


def test_f10_damaged_footers_are_refused_without_a_panic(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = write(tmp_path / "a.parquet").read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    draw, said = random.Random(5), list[str]()
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(footer, len(whole) - 8)] ^= 1 << draw.randrange(8)
        file = tmp_path / "damaged.parquet"
        file.write_bytes(damaged)
        try:
            rows = list(open_table(file, skip_bad=True))
        except InputError as error:
            said.append(str(error))
        else:  # a bit that says nothing of the data
            assert len(rows) == COUNT
    assert len(said) > 3
    assert all("damaged.parquet" in line and len(line.splitlines()) == 1 for line in said)
    assert capfd.readouterr() == ("", "")


def test_f10_a_reader_that_dies_half_way_is_no_end_of_the_file(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "a.parquet"))
    rows = iter(table)
    seen = [next(rows)]
    child = next(item for item in _children(tmp_path))
    child.kill()
    with pytest.raises(InputError, match=r"after row \d+: cannot be read"):
        seen += rows
    assert 0 < len(seen) < COUNT


def _children(tmp_path: Path) -> list:
    import gc

    from quintet.io.parquet import _Child

    return [found._process for found in gc.get_objects() if isinstance(found, _Child)]


def test_f10_what_needs_too_much_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_PARQUET_BYTES", str(2**24))
    with pytest.raises(InputError, match=r"a\.parquet"):
        open_table(write(tmp_path / "a.parquet"))


def test_f10_a_date_that_python_cannot_hold_is_a_bad_row(tmp_path: Path) -> None:
    texts = arrow.Array(["a", "b", "c"], arrow.DataType.string())
    days = arrow.Array([1, 10_000_000, 3], arrow.DataType.int32()).cast(arrow.DataType.date32())
    file = tmp_path / "a.parquet"
    arro3_io.write_parquet(arrow.Table.from_pydict({"output": texts, "day": days}), file)
    with pytest.raises(InputError, match=r"row 2: the cell of 'day'"):
        list(open_table(file))
    found = list(open_table(file, skip_bad=True))
    assert [isinstance(row, BadRow) for row in found] == [False, True, False]
    assert found[1].values["output"] == "b"
