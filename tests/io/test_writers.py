"""Writing: round trips, the same bytes twice, whole files or none."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import stat
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from quintet.core.result import score_layout
from quintet.errors import InputError, UnknownName
from quintet.io.tables import open_table
from quintet.io.writers import format_of, open_writer

FORMATS = ["jsonl", "csv", "tsv", "parquet"]


def write_all(path, rows, **options):
    with open_writer(path, **options) as writer:
        for row in rows:
            writer.write(row)
    return writer


def read_all(path):
    return [item.values for item in open_table(path)]


_TAB_IN_A_LINE = re.compile(r"[\n\r][^\n\r]*\t|\t[^\n\r]*[\n\r]")
plain_text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text()
cells = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2))
tables = st.lists(st.dictionaries(st.text(max_size=5), cells, max_size=4), min_size=1, max_size=6)


def strict(value):
    """What JSON can say of a value: no NaN, no infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [strict(item) for item in value]
    return {key: strict(item) for key, item in value.items()} if isinstance(value, dict) else value


def joined(value):
    """A high and a low surrogate side by side are one character once written as JSON."""
    return json.loads(json.dumps(value))


@settings(max_examples=150, deadline=None)
@given(tables)
def test_jsonl_gives_back_every_value(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    write_all(path, rows)
    assert read_all(path) == [joined(strict(row)) for row in rows]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": plain_text, "b,\t": plain_text}), min_size=1, max_size=5))
@pytest.mark.parametrize("format", FORMATS)
def test_text_survives_every_format(tmp_path_factory, format, rows):
    # A line of a cell that holds a tab may be a row of its own in TSV; reading refuses what can be read in two ways.
    assume(format != "tsv" or not any(_TAB_IN_A_LINE.search(text) for row in rows for text in row.values()))
    path = tmp_path_factory.getbasetemp() / f"text.{format}"
    write_all(path, rows)
    assert read_all(path) == rows


@settings(max_examples=100, deadline=None)
@given(tables)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_any_rows_can_be_written_flat(tmp_path_factory, format, rows):
    path = tmp_path_factory.getbasetemp() / f"flat.{format}"
    if not any(rows):
        return
    write_all(path, rows)
    back = read_all(path)
    assert len(back) == len(rows)
    assert len(back[0]) == len({name for row in rows for name in row})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "i": st.none() | st.integers(-(2**63), 2**63 - 1),
                "b": st.none() | st.booleans(),
                "l": st.none() | st.lists(plain_text, max_size=3),
                "t": st.none() | plain_text,
            }
        ),
        min_size=1,
        max_size=8,
    )
)
def test_parquet_keeps_types_and_pyarrow_agrees(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "typed.parquet"
    write_all(path, rows)
    assert pq.read_table(path).to_pylist() == rows
    assert read_all(path) == rows


def test_parquet_types(tmp_path):
    rows = [
        {"mixed": 1, "number": 1, "late": None, "nested": {"a": [1]}, "huge": 2**80, "listed": ["x"], "odd": [1]},
        {"mixed": "x", "number": 2.5, "late": "y", "nested": None, "huge": 1, "listed": None, "odd": None},
    ]
    write_all(tmp_path / "a.parquet", rows)
    table = pq.read_table(tmp_path / "a.parquet")
    assert {field.name: str(field.type) for field in table.schema} == {
        "mixed": "string", "number": "double", "late": "string", "nested": "string", "huge": "string",
        "listed": "list<item: string>", "odd": "string",
    }  # fmt: skip
    assert table.to_pylist()[0] == {
        "mixed": "1", "number": 1.0, "late": None, "nested": '{"a": [1]}', "huge": str(2**80), "listed": ["x"],
        "odd": "[1]",
    }  # fmt: skip


def test_many_batches_of_parquet(tmp_path):
    rows = [{"output": f"text {i}" * 20, "score": i / 7} for i in range(5000)]
    write_all(tmp_path / "a.parquet", rows)
    assert read_all(tmp_path / "a.parquet") == rows


def test_pandas_reads_our_csv(tmp_path):
    rows = [{"id": "1", "output": 'a "b",\n c', "score": 0.1 + 0.2}, {"id": "2", "output": "x\r\ny", "score": None}]
    write_all(tmp_path / "a.csv", rows)
    frame = pd.read_csv(tmp_path / "a.csv", dtype={"id": str})
    assert frame["score"][0] == 0.1 + 0.2
    assert frame["output"][0] == rows[0]["output"]
    assert next(csv.reader(io.StringIO((tmp_path / "a.csv").read_text()))) == ["id", "output", "score"]


@pytest.mark.parametrize("format", [*FORMATS, "jsonl.gz", "csv.gz"])
def test_the_same_rows_are_the_same_bytes(tmp_path, format):
    rows = [{"a": "é", "s": 1 / 3, "l": ["x"]}, {"a": None, "s": math.nan, "late": True}]
    paths = [tmp_path / f"{k}.{format}" for k in "12"]
    for path in paths:
        write_all(path, rows)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert len(read_all(paths[0])) == 2


def test_exact_bytes(tmp_path):
    rows = [{"b": 0.1 + 0.2, "a": "ü\ud800", "n": math.nan}, {"a": True, "new": [1, None]}]
    write_all(tmp_path / "a.jsonl", rows, columns=["a", "b"])
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"a": "ü\\ud800", "b": 0.30000000000000004, "n": null}\n{"a": true, "new": [1, null]}\n'
    )
    writer = write_all(tmp_path / "a.tsv", rows, columns=["a", "b"], digits={"b": 3})
    assert (tmp_path / "a.tsv").read_text() == "a\tb\tn\tnew\nü\ufffd\t0.3\t\t\ntrue\t\t\t[1, null]\n"
    assert (writer.rows, writer.replaced) == (2, 1)
    assert write_all(tmp_path / "a.parquet", rows).replaced == 1


def test_library_values(tmp_path):
    row = {"a": np.float64(0.5), "b": np.array(["x", "y"]), "c": pd.NA, "d": pd.Timestamp("2020-01-01"), "e": b"hi"}
    write_all(tmp_path / "a.jsonl", [row])
    assert read_all(tmp_path / "a.jsonl") == [
        {"a": 0.5, "b": ["x", "y"], "c": None, "d": "2020-01-01 00:00:00", "e": "hi"}
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_an_error_leaves_nothing_behind(tmp_path, format):
    path = tmp_path / f"a.{format}"
    path.write_text("what was there")

    def interrupted() -> None:
        with open_writer(path) as writer:
            writer.write({"a": 1})
            assert [p.name for p in tmp_path.iterdir() if p != path] == [f"a.{format}.part"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "what was there"


def test_the_input_may_be_written_over(tmp_path):
    path = tmp_path / "a.jsonl"
    write_all(path, [{"n": i} for i in range(1000)])
    with open_writer(path) as writer:
        for item in open_table(path):
            writer.write({**item.values, "score": 1.0})
    assert read_all(path)[999] == {"n": 999, "score": 1.0}


def test_links_devices_and_bad_targets(tmp_path):
    (tmp_path / "real.jsonl").write_text("")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write_all(tmp_path / "link.jsonl", [{"a": 1}])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_text() == '{"a": 1}\n'
    write_all(os.devnull, [{"a": 1}])
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(InputError, match="its folder does not exist; create"):
        open_writer(tmp_path / "no" / "a.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        open_writer(tmp_path)
    with pytest.raises(UnknownName, match="did you mean jsonl"):
        open_writer(tmp_path / "a", "jsnl")
    with pytest.raises(InputError, match="without columns"):
        write_all(tmp_path / "a.parquet", [])
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_is_told_in_one_line():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left on device\)"):
        write_all("/dev/full", [{"a": "x" * 100_000}])


@pytest.mark.parametrize("format", FORMATS)
def test_standard_output(monkeypatch, format):
    class Out:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Out)
    write_all("-", [{"a": "é", "b": 1}], format=format)
    content = Out.buffer.getvalue()
    expected = {"jsonl": '{"a": "é", "b": 1}\n', "csv": "a,b\né,1\n", "tsv": "a\tb\né\t1\n"}
    if format == "parquet":
        assert pq.read_table(io.BytesIO(content)).to_pylist() == [{"a": "é", "b": 1}]
    else:
        assert content.decode() == expected[format]
    Out.buffer.seek(0)
    Out.buffer.truncate()


def test_format_of():
    assert [format_of(name) for name in ("a.JSONL", "b.csv.gz", "c.parquet", "d.tsv", "e", "f.gz", "-")] == [
        "jsonl", "csv", "parquet", "tsv", None, None, None,
    ]  # fmt: skip


def test_scores_never_overwrite_the_input():
    layout = score_layout(["id", "coherence", "quintet.coherence"], ["coherence", "fluency"])
    assert layout.columns == ("id", "coherence", "quintet.coherence", "quintet.quintet.coherence", "fluency")
    row = {"id": "1", "coherence": 4, "fluency": "late"}
    assert layout.row(row, {"coherence": 0.5, "fluency": 0.25}) == {
        "id": "1",
        "coherence": 4,
        "input.fluency": "late",
        "quintet.quintet.coherence": 0.5,
        "fluency": 0.25,
    }
    assert row == {"id": "1", "coherence": 4, "fluency": "late"}
