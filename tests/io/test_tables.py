"""Reading: every format, every kind of damage, row k stays row k."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.errors import InputError, QuintetError, UnknownName
from quintet.io.json_rows import read_json
from quintet.io.tables import BadRow, Record, open_table

ODD_TEXT = "a \ud800 b \x00 c 🙂 שלום مرحبا \u2028 \x85 é"


def values(table):
    return [item.values for item in table if isinstance(item, Record)]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


ROWS = [{"output": "one", "n": 1}, {"output": "two", "n": None}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"output": "one", "n": 1}\n{"output": "two", "n": null}\n'),
        ("a.ndjson", '{"output": "one", "n": 1}\r\n\r\n{"output": "two", "n": null}'),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps(ROWS, indent=2)),
        ("a.json", '{"output": "one", "n": 1}\n{"output": "two", "n": NaN}\n'),
        ("a.json", "\n".join(json.dumps(row, indent=1) for row in ROWS)),
        ("a.json", json.dumps({"output": ["one", "two"], "n": [1, None]})),
        ("a.json", json.dumps({"output": ["one", "two"], "n": [1, None]}, indent=4)),
        ("unknown", '{"output": "one", "n": 1}\n{"output": "two", "n": Infinity}\n'),
        ("unknown", json.dumps(ROWS, indent=2)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_json_in_all_its_shapes(tmp_path, name, content, packed, mark):
    content = mark + content.encode()
    path = write(tmp_path, name + ".gz" * packed, gzip.compress(content) if packed else content)
    table = open_table(path)
    assert table.columns == ("output", "n")
    assert values(table) == ROWS


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t"), ("noname", ","), ("noname", "\t")])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv_and_tsv(tmp_path, name, mark, line_end):
    lines = ["output,source", '"he said ""hi""",x', ",y", '"two\nlines",']
    path = write(tmp_path, name, line_end.join(line.replace(",", mark) for line in lines) + line_end)
    table = open_table(path)
    assert table.columns == ("output", "source")
    assert table.empty_is_missing
    items = list(table)
    assert [item.values["output"] for item in items] == ['he said "hi"', "", "two\nlines"]
    assert [item.values["source"] for item in items] == ["x", "y", ""]
    assert [item.position.line for item in items] == [2, 3, 4]
    assert [item.position.row for item in items] == [1, 2, 3]


def test_columns_without_a_name(tmp_path):
    for text, columns in (
        (",output\n0,a\n", ("", "output")),
        (",,output\n0,1,a\n", ("column 1", "column 2", "output")),
    ):
        with open_table(write(tmp_path, "a.csv", text)) as table:
            assert table.columns == columns


@pytest.mark.parametrize("mark", [";", "\t"])
def test_csv_without_commas(tmp_path, mark):
    path = write(tmp_path, "a.csv", f"output{mark}source\na, b{mark}c\n")
    assert values(open_table(path)) == [{"output": "a, b", "source": "c"}]


def test_standard_input_without_a_name(monkeypatch):
    def feed(content: bytes):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    feed(b'{"output": "a"}\n')
    assert values(open_table("-")) == [{"output": "a"}]
    feed(gzip.compress(b"output,source\na,b\n", mtime=0))
    assert values(open_table("-")) == [{"output": "a", "source": "b"}]
    feed(b"[1]")
    with pytest.raises(InputError, match=r"standard input, line 1: not a JSON object but a number"):
        list(open_table("-"))


def test_lines_keep_blank_lines(tmp_path):
    output = write(tmp_path, "out.txt", "one\n\nthree\r\n")
    source = write(tmp_path, "src.txt", "a\nb\x85b\u2028b\n")
    refs = write(tmp_path, "refs.txt", gzip.compress(b"r1 ||| r2\n\nr3", mtime=0))
    with pytest.raises(InputError, match=r"out.txt has 3 lines, .*src.txt has 2 lines"):
        open_table({"output": output, "source": source})
    table = open_table({"hypo": output, "refs": refs})
    assert values(table) == [
        {"hypo": "one", "refs": "r1 ||| r2"},
        {"hypo": "", "refs": ""},
        {"hypo": "three", "refs": "r3"},
    ]
    assert values(open_table(output)) == [{"output": "one"}, {"output": ""}, {"output": "three"}]
    assert values(open_table({"source": source}))[1] == {"source": "b\x85b\u2028b"}


def test_lines_from_standard_input_are_counted_as_they_go(tmp_path, monkeypatch):
    source = write(tmp_path, "src.txt", "a\nb\nc\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ny\n")))
    with pytest.raises(InputError, match=r"standard input has 2 lines, .*src.txt has 3 lines"):
        list(open_table({"output": "-", "source": source}))
    with pytest.raises(InputError, match="only one"):
        open_table({"output": "-", "source": "-"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"output": "b"', r"broken JSON \(Expecting ',' delimiter at column 15\)"),
        (b"oops", r"broken JSON \(Expecting value at column 1\)"),
        (b"[1, 2]", "not a JSON object but a list"),
        (b'"text"', "not a JSON object but a string"),
        (b"null", "not a JSON object but null"),
        (b'{"output": "\xe9t\xe9"}', "byte 0xe9 at offset 28 is not valid UTF-8"),
        (b'{"output": ' + b"[" * 5000, "nested deeper than"),
        (b'{"output": ' + b"1" * 5000 + b"}", "digits"),
    ],
)
def test_a_bad_line_is_named_and_may_be_skipped(tmp_path, line, message):
    path = write(tmp_path, "a.jsonl", b'{"output": "a"}\n' + line + b'\n{"output": "c"}\n')
    with pytest.raises(InputError, match=rf"a\.jsonl, line 2: .*{message}") as caught:
        list(open_table(path))
    assert "\n" not in str(caught.value)
    assert "skip_bad=True" in str(caught.value)
    items = list(open_table(path, skip_bad=True))
    assert [type(item) for item in items] == [Record, BadRow, Record]
    assert [item.position.row for item in items] == [1, 2, 3]
    assert items[1].position.line == 2


def test_bad_rows_of_a_list_keep_their_place(tmp_path):
    path = write(
        tmp_path,
        "a.json",
        b'[\n {"output": "a"},\n 5,\n {"output": \n "b" "x"},\n {"output": "\xff"},\n {"output": "c"}\n]',
    )
    items = list(open_table(path, skip_bad=True))
    assert [isinstance(item, BadRow) for item in items] == [False, True, True, True, False]
    assert [item.position.line for item in items] == [2, 3, 4, 6, 7]
    with pytest.raises(InputError, match=r"a\.json, line 3: not a JSON object but a number"):
        list(open_table(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"output": "a"}', "in the middle"),
        ('[{"output": "a}]', "in the middle"),
        ('[{"output": "a"},]', "a comma without a row"),
        ('[,{"output": "a"}]', "a comma without a row"),
        ('[{"output": "a"}}]', "too many"),
        ('[{"output": "a"}] {"output": "b"}', "goes on after the end"),
        ('[{"output": "a"}]\n\n]', "line 3: goes on after the end"),
        ("  \n ", "holds no JSON object"),
        ('{"output": ["a", "b"], "n": [1]}', r"output: 2, n: 1"),
    ],
)
def test_a_broken_document_is_never_skipped(tmp_path, content, message):
    path = write(tmp_path, "a.json", content)
    with pytest.raises(InputError, match=message):
        list(open_table(path, skip_bad=True))


def test_an_empty_list_has_no_rows(tmp_path):
    assert list(open_table(write(tmp_path, "a.json", " [ ] \n"))) == []


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"output,source\na,b\nc\n", 3, "has 1 cells, but the header names 2 columns"),
        (b"output,source\na,b\nc,d,e\n", 3, "has 3 cells"),
        (b'output,source\na,b\n"c"d,e\n', 3, "broken quoting"),
        (b"output,source\na,b\n\xe9,d\n", 3, "byte 0xe9 at offset 18"),
    ],
)
def test_bad_csv_rows(tmp_path, content, line, message):
    path = write(tmp_path, "a.csv", content + b"y,z\n")
    with pytest.raises(InputError, match=rf"a\.csv, line {line}: .*{message}"):
        list(open_table(path))
    items = list(open_table(path, skip_bad=True))
    assert [type(item) for item in items] == [Record, BadRow, Record]
    assert items[2].values == {"output": "y", "source": "z"}


def test_an_open_quote_is_never_skipped(tmp_path):
    path = write(tmp_path, "a.csv", 'output,source\na,b\n"c,d\ne,f\n')
    with pytest.raises(InputError, match=r"a\.csv, line 3: a quote is opened and never closed"):
        list(open_table(path, skip_bad=True))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"a,a\n1,2\n", "two columns are named 'a'"),
        ("a.parquet", b"PAR1 but not really", "cannot be read as Parquet"),
        ("a.jsonl.gz", gzip.compress(b'{"output": "a"}\n' * 9999, mtime=0)[:60], "cannot be read"),
        ("a.jsonl", '{"output": "a"}'.encode("utf-16"), "looks like UTF-16"),
        ("a.csv", "output\na\n".encode("utf-16"), "looks like UTF-16"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as caught:
        list(open_table(write(tmp_path, name, content), skip_bad=True))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    write(tmp_path, "data.jsonl", "{}")
    with pytest.raises(InputError, match=r"dta\.jsonl: no such file; did you mean .*data\.jsonl\?"):
        open_table(tmp_path / "dta.jsonl")
    with pytest.raises(InputError, match="does not exist either"):
        open_table(tmp_path / "no" / "data.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        open_table(tmp_path)
    with pytest.raises(InputError, match="cannot be opened"):
        open_table("a\0b")
    with pytest.raises(UnknownName, match="did you mean jsonl"):
        open_table(tmp_path / "data.jsonl", "jsnl")


def test_odd_text_survives(tmp_path):
    line = json.dumps({"output": ODD_TEXT})
    assert values(open_table(write(tmp_path, "a.jsonl", line)))[0]["output"] == ODD_TEXT
    clean = ODD_TEXT.replace("\ud800", "")
    assert values(open_table(write(tmp_path, "a.csv", f"output,x\n{clean},1\n")))[0]["output"] == clean


def test_a_text_of_one_megabyte(tmp_path):
    text = "wörter " * 150_000
    assert values(open_table(write(tmp_path, "a.jsonl", json.dumps({"output": text}))))[0]["output"] == text
    assert values(open_table(write(tmp_path, "a.json", json.dumps([{"output": text}]))))[0]["output"] == text
    assert values(open_table(write(tmp_path, "a.csv", f"output,b\n{text},1\n")))[0]["output"] == text


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    rows = [{"output": "x" * 1000, "n": i} for i in range(20_000)]
    if name.endswith("csv"):
        content = "output,n\n" + "".join(f"{row['output']},{row['n']}\n" for row in rows)
    else:
        content = json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows))
    path = write(tmp_path, name, content)
    del rows, content
    tracemalloc.start()
    count = sum(1 for _ in open_table(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 2_000_000


def test_a_table_is_read_once(tmp_path):
    table = open_table(write(tmp_path, "a.jsonl", '{"output": "a"}'))
    list(table)
    with pytest.raises(QuintetError, match="open it again"):
        list(table)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(st.text(), json_values, min_size=1, max_size=4), min_size=2, max_size=6)


class Trickle(io.RawIOBase):
    """Hands out a few bytes at a time, so that every token is cut somewhere."""

    def __init__(self, content: bytes, size: int) -> None:
        self._rest, self._size = content, size

    def readable(self):
        return True

    def read(self, size=-1):
        piece, self._rest = self._rest[: self._size], self._rest[self._size :]
        return piece


@settings(max_examples=150, deadline=None)
@given(objects, st.integers(1, 7), st.sampled_from([None, 1]), st.booleans(), st.booleans())
def test_the_streaming_json_reader_agrees_with_json_loads(rows, size, indent, ascii_only, as_list):
    dump = lambda value: json.dumps(value, indent=indent, ensure_ascii=ascii_only)  # noqa: E731
    content = dump(rows) if as_list else "\n".join(map(dump, rows))
    try:
        content = content.encode()
    except UnicodeEncodeError:
        return
    items = list(read_json(Trickle(content, size), "x", False))
    assert [item.values for item in items] == rows
    if as_list and indent:
        starts = [k for k, line in enumerate(content.split(b"\n"), start=1) if line.startswith(b" {")]
        assert [item.position.line for item in items] == starts


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60) | st.text('[]{}",:\\ab1\n', max_size=40).map(str.encode),
    st.sampled_from(["jsonl", "json", "csv", "tsv"]),
)
def test_any_bytes_give_rows_or_one_line(tmp_path_factory, content, format):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    complaint, items = "", []
    try:
        items = list(open_table(path, format, skip_bad=True))
    except InputError as error:
        complaint = str(error)
    assert "\n" not in complaint
    assert [item.position.row for item in items] == list(range(1, len(items) + 1))
