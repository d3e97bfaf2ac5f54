"""Nothing that was given is lost, no row slides beside another, and no file takes all memory. The numbers are those of
the faults that were found."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from command import METRIC, quintet, refused

from quintet.errors import InputError
from quintet.io.atomic import Target
from quintet.io.tables import open_table
from quintet.io.writers import open_writer


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


# F2


def test_f02_the_text_of_a_bad_row_is_kept_where_it_is_written_over(tmp_path: Path) -> None:
    broken = '{"id": "b", "output": "precious words'
    file = tmp_path / "in.jsonl"
    file.write_text('{"id": "a", "output": "one two"}\n' + broken + '\n{"id": "c", "output": "three"}\n')
    run = quintet("score", file, *METRIC, "--skip-bad", "--out", file, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = rows_of(file)
    assert [row.get("id") for row in rows] == ["a", None, "c"]
    assert rows[1]["raw"] == broken
    assert "raw" not in rows[0]


def test_f02_a_short_row_of_csv_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("id,source,output\n1,s,one\n2,precious words\n3,s,three\n")
    assert quintet("score", file, *METRIC, "--skip-bad", "--out", file, cwd=tmp_path).returncode == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["raw"] for row in rows] == ["", "2,precious words", ""]


def test_f02_bytes_that_are_no_text_are_kept_in_jsonl_and_refused_elsewhere(tmp_path: Path) -> None:
    line = b'{"output": "caf\xe9"}'
    file = tmp_path / "in.jsonl"
    file.write_bytes(b'{"output": "a"}\n' + line + b"\n")
    assert quintet("score", file, *METRIC, "--skip-bad", "--out", "out.jsonl", cwd=tmp_path).returncode == 0
    raw = rows_of(tmp_path / "out.jsonl")[1]["raw"]
    assert raw.encode("utf-8", "surrogateescape") == line
    table = tmp_path / "in.csv"
    table.write_bytes(b"output\none\ncaf\xe9\n")
    before = table.read_bytes()
    refused(quintet("score", table, *METRIC, "--skip-bad", "--out", table, cwd=tmp_path), "would be lost", "in.csv")
    assert table.read_bytes() == before


# F3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", '1,"abc\n2,"c"\n3,d\n4,e\n'),
        ("a.csv", '1,"abc\n2,d\n3,e"\n4,f\n'),
        ("a.csv", '1,abc\n2,"d"x,"\n3,e",g\n'),
        ("a.csv", 'doc-1,"abc\ndoc-2,def"\ndoc-3,g\n'),
        ("a.tsv", '1\t"He left\n2\tshe said"\n'),
        ("a.tsv", 'he\t"He left\nshe\tshe said"\n'),
    ],
)
def test_f03_rows_that_may_run_together_are_refused(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(("id,output\n" if name.endswith("csv") else "id\toutput\n") + content)
    with pytest.raises(InputError, match=r"line \d+.*(two ways|run together)"):
        list(open_table(file, skip_bad=True))


def test_f03_both_readings_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text('id\toutput\tsystem\n1\t"He left\ts1\n2\tshe said"\ts2\n')
    with pytest.raises(InputError, match=r"lines 2 to 3 can be read in two ways: as one row .*, or as 2 rows"):
        list(open_table(file))


@pytest.mark.parametrize(
    ("name", "content", "outputs"),
    [
        ("a.csv", 'id,output\n1,"Dear John,\nhow are you, friend?"\n2,b\n', ["Dear John,\nhow are you, friend?", "b"]),
        ("a.csv", 'id,output\n1,"one\n\ntwo, three"\n2,b\n', ["one\n\ntwo, three", "b"]),
        ("a.tsv", 'id\toutput\n1\t"one\ntwo"\n2\tb\n', ["one\ntwo", "b"]),
    ],
)
def test_f03_cells_of_several_lines_are_still_read(tmp_path: Path, name: str, content: str, outputs: list) -> None:
    (tmp_path / name).write_text(content)
    assert [record.values["output"] for record in open_table(tmp_path / name)] == outputs  # type: ignore[union-attr]


def test_f03_json_objects_that_run_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{\n"output": "a"}\n{"output": "b"\n{"output": "c"}}\n')
    with pytest.raises(InputError, match="run together"):
        list(open_table(file, skip_bad=True))
    file.write_text('{\n"output": "a"}\n{"output": "b"\n{"output": "c"}\n')
    with pytest.raises(InputError, match="in the middle"):
        list(open_table(file, skip_bad=True))


# F6


@pytest.mark.parametrize("ending", ["xls", "docx", "txt", "html", "xz", "zst", "arrow", "pickle", "db", "jsonl.zip"])
def test_f06_an_ending_that_is_no_format_is_refused(tmp_path: Path, ending: str) -> None:
    with pytest.raises(InputError, match=rf"\.{ending.rpartition('.')[2]} names no format"):
        open_writer(tmp_path / f"a.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["jsonl", "jl", "ndjson", "json", "csv", "tsv", "tab", "pq", "parquet", "jsonl.gz"])
def test_f06_what_is_written_is_read_back_by_its_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    with open_writer(path) as writer:
        writer.write({"output": "one", "n": "x"})
        writer.write({"output": "two\nlines", "n": "y"})
    found = [record.values for record in open_table(path)]  # type: ignore[union-attr]
    assert found == [{"output": "one", "n": "x"}, {"output": "two\nlines", "n": "y"}]


def test_f06_a_format_that_the_name_belies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"says csv, but jsonl was asked for"):
        open_writer(tmp_path / "a.csv", "jsonl")
    file = tmp_path / "in.jsonl"
    file.write_text('{"output": "a"}\n')
    refused(quintet("score", file, *METRIC, "--format", "table", "--out", "t.csv", cwd=tmp_path), "screen")
    refused(quintet("score", file, *METRIC, "--out", "", cwd=tmp_path), "empty")
    refused(quintet("score", file, *METRIC, "--report", "r.csv", cwd=tmp_path), ".html")


# F7


def test_f07_inputs_and_stores_are_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"output": "a"}\n')
    (tmp_path / "html").symlink_to(file)
    os.link(file, tmp_path / "hard")
    for report in ("html", "hard"):
        refused(quintet("score", file, *METRIC, "--report", report, cwd=tmp_path), "would overwrite", "input")
    refused(quintet("score", file, *METRIC, "--out", "c", "--cache", "c", cwd=tmp_path), "--cache")
    refused(quintet("score", file, *METRIC, "--out", "x", "--report", "x", cwd=tmp_path), "--out")
    assert quintet("score", file, *METRIC, "--cache", "store", cwd=tmp_path).returncode == 0
    refused(quintet("score", file, *METRIC, "--out", "store", "--no-cache", cwd=tmp_path), "database")
    assert file.read_text() == '{"output": "a"}\n'


def test_f07_rights_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"output": "a"}\n')
    file.chmod(0o600)
    assert quintet("score", file, *METRIC, "--out", file, cwd=tmp_path).returncode == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o444)
    before = file.read_bytes()
    refused(quintet("score", file, *METRIC, "--out", file, cwd=tmp_path), "write-protected")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (before, 0o444)


# F8


def test_f08_a_bomb_is_refused_within_little_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb") as stream:
        for _ in range(600):
            stream.write(bytes(2**20))

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))

    environment = {"QUINTET_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = quintet("score", bomb, *METRIC, cwd=tmp_path, preexec_fn=little, env=environment)
    refused(run, "bomb.jsonl.gz", "400 times")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt"])
def test_f08_a_line_has_a_bound_that_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text = "x" * 200_000
    file = tmp_path / name
    file.write_text({"a.csv": f'output\n"{text}\n"\n', "a.txt": text}.get(name, json.dumps([{"output": text}])))
    if name == "a.jsonl":
        file.write_text(json.dumps({"output": text}))
    monkeypatch.setenv("QUINTET_ROW_BYTES", "150000")
    with pytest.raises(InputError, match=r"longer than 150,000 bytes; raise it with QUINTET_ROW_BYTES"):
        list(open_table(file, skip_bad=True))
    monkeypatch.setenv("QUINTET_ROW_BYTES", "400000")
    assert len(list(open_table(file))) == 1
    monkeypatch.setenv("QUINTET_ROW_BYTES", "²")
    with pytest.raises(InputError, match="QUINTET_ROW_BYTES is"):
        list(open_table(file))


# F9


@pytest.mark.parametrize("depth", [101, 600, 900, 5000])
def test_f09_deep_cells_are_bad_rows(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for column in ("extra", "history"):
        file = tmp_path / "in.jsonl"
        file.write_text(f'{{"output": "a"}}\n{{"output": "b", "{column}": {deep}}}\n{{"output": "c"}}\n')
        refused(quintet("score", file, *METRIC, "--out", "o.jsonl", cwd=tmp_path), "line 2", "nested deeper than 100")
        run = quintet("score", file, *METRIC, "--out", "o.jsonl", "--skip-bad", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        rows = rows_of(tmp_path / "o.jsonl")
        assert [row.get("output") for row in rows] == ["a", None, "c"]
        assert deep in rows[1]["raw"]


def test_f09_deep_values_from_python_are_refused_by_row() -> None:
    from quintet import score

    deep: list = []
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(InputError, match="row 2: 'x' is nested deeper than 100"):
        score([{"output": "a"}, {"output": "b", "x": deep}], metrics="response-length", cache=False)
    kept = score([{"output": "a"}, {"output": "b", "x": deep}], metrics="response-length", cache=False, skip_bad=True)
    assert kept.to_dicts()[1]["output"] == "b"


# F13


def test_f13_a_second_run_on_one_output_is_told_so(tmp_path: Path) -> None:
    final = tmp_path / "o.jsonl"
    first = Target(final)
    first.stream.write(b"first\n")
    # Another process with another view of process numbers sees the same lock.
    script = f"from quintet.io.atomic import Target; Target({str(final)!r})"
    unshared = ["unshare", "--pid", "--fork", "--map-root-user"]
    may = shutil.which("unshare") and subprocess.run([*unshared, "true"], capture_output=True).returncode == 0
    prefix = unshared if may else []
    run = subprocess.run([*prefix, sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "is being written by another run" in run.stderr
    first.finish()
    assert final.read_bytes() == b"first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["o.jsonl"]


def test_f13_what_a_killed_run_left_is_taken_over(tmp_path: Path) -> None:
    final = tmp_path / "o.jsonl"
    script = f"""
import os
from quintet.io.atomic import Target
t = Target({str(final)!r}); t.stream.write(b"half"); t.stream.flush(); os.kill(os.getpid(), 9)"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert [path.name for path in tmp_path.iterdir()] == ["o.jsonl.part"]
    second = Target(final)
    second.stream.write(b"whole\n")
    second.finish()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("o.jsonl", b"whole\n")]


# F14 and F22


def _feed(path: Path, pieces: list[bytes], pause: float = 0.05) -> threading.Thread:
    def write() -> None:
        with contextlib.suppress(OSError), path.open("wb", buffering=0) as stream:
            for piece in pieces:
                stream.write(piece)
                time.sleep(pause)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_f14_pipes_may_be_files_of_lines(tmp_path: Path) -> None:
    for name in ("out.txt", "refs"):
        os.mkfifo(tmp_path / name)
    _feed(tmp_path / "out.txt", [b"one\ntwo\n"])
    assert [item.values for item in open_table(tmp_path / "out.txt")] == [{"output": "one"}, {"output": "two"}]  # type: ignore[union-attr]
    _feed(tmp_path / "out.txt", [b"one\n", b"two\n"])
    _feed(tmp_path / "refs", [b"r1\nr", b"2\n"])
    both = open_table({"output": tmp_path / "out.txt", "references": tmp_path / "refs"})
    assert [item.values["references"] for item in both] == ["r1", "r2"]  # type: ignore[union-attr]
    _feed(tmp_path / "out.txt", [b"one\n", b"two\n"])
    _feed(tmp_path / "refs", [b"r1\n"])
    with pytest.raises(InputError, match=r"out.txt has 2 lines, .*refs has 1 line"):
        list(open_table({"output": tmp_path / "out.txt", "references": tmp_path / "refs"}))


@pytest.mark.parametrize(
    "pieces",
    [
        [b"id", b";output\n", b"1;a\n"],
        [b"\xef", b"\xbb\xbfid;output\n1;a\n"],
        [b"\x1f", b"\x8b" + gzip.compress(b"id;output\n1;a\n", mtime=0)[2:]],
        [gzip.compress(b"id;output\n1;a\n", mtime=0)[:5], gzip.compress(b"id;output\n1;a\n", mtime=0)[5:]],
    ],
)
def test_f22_a_slow_writer_changes_nothing(tmp_path: Path, pieces: list[bytes]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _feed(pipe, pieces, pause=0.2)
    assert [item.values for item in open_table(pipe, "csv")] == [{"id": "1", "output": "a"}]  # type: ignore[union-attr]


# F20 and F23


@pytest.mark.parametrize("skip_bad", [True, False])
def test_f20_an_object_on_one_line_before_others_on_many(tmp_path: Path, skip_bad: bool) -> None:
    rows = [{"output": f"text {k}", "x": [k]} for k in range(3)]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(rows[0]) + "\n" + "\n".join(json.dumps(row, indent=2) for row in rows[1:]))
    assert [item.values for item in open_table(file, skip_bad=skip_bad)] == rows  # type: ignore[union-attr]
    many = [json.dumps(rows[0])] * 2000 + [json.dumps(rows[1], indent=2)]
    file.write_text("\n".join(many))
    with contextlib.suppress(InputError):  # told only after the beginning: read right, or refused, never guessed
        assert len(list(open_table(file, skip_bad=skip_bad))) == 2001


def test_f23_a_key_that_stands_twice_is_a_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"output": "a"}\n{"output": "b", "output": "c"}\n{"output": "d", "x": {"k": 1, "k": 2}}\n')
    with pytest.raises(InputError, match=r"line 2: the key 'output' stands twice"):
        list(open_table(file))
    items = list(open_table(file, skip_bad=True))
    assert [getattr(item, "raw", "") != "" for item in items] == [False, True, True]


def test_f23_nor_may_it_in_a_calibration_or_a_request(tmp_path: Path) -> None:
    from quintet.core.calibration import read_calibration

    file = tmp_path / "c.json"
    file.write_text('{"format": "quintet-calibration-1", "dimensions": {}, "dimensions": {"x": {}}}')
    with pytest.raises(InputError, match="the key 'dimensions' stands twice"):
        read_calibration(file)
    pytest.importorskip("starlette", reason="the service needs the extra `serve`")
    from quintet.server.request import Refusal, read_request
    from quintet.server.settings import Limits

    body = b'{"metrics": ["rouge-l"], "examples": [{"output": "a", "output": "b"}]}'
    with pytest.raises(Refusal) as told:
        read_request(body, Limits())
    assert (told.value.status, told.value.message) == (400, "the key 'output' stands twice")


def test_f23_scores_have_the_digits_that_the_page_says(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"output": "one two three", "references": ["one two six seven"]}\n')
    run = quintet("score", file, "--metric", "rouge-1", "--evidence", "--out", "o.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    row = rows_of(tmp_path / "o.jsonl")[0]
    full = row["evidence"]["rouge-1"]["value"]
    assert row["rouge-1"] == round(full, 6) != full
    said = (Path(__file__).parents[2] / "docs/files.md").read_text()
    assert "six decimals" in said
    assert "Numbers are written in full" not in said


def test_what_a_spreadsheet_library_warns_of_is_no_refusal(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="spreadsheets need the extra")
    book = openpyxl.Workbook()
    book.active.append(["output"])
    book.active.append(["A dog ran."])
    book.save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(tmp_path / "bare.xlsx", "w") as bare:
        for name in whole.namelist():
            styles = b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
            bare.writestr(name, styles if name == "xl/styles.xml" else whole.read(name))
    assert [item.values for item in open_table(tmp_path / "bare.xlsx")] == [{"output": "A dog ran."}]  # type: ignore[union-attr]
