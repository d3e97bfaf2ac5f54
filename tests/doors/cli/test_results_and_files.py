"""A result in hand and on disk: rows, columns, data frames, every format, reports of scored files, several inputs."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pytest
from test_cli_score import one_line, quintet, read_jsonl, write_jsonl

import quintet as library
from quintet._saved import read_scored
from quintet.errors import InputError, UnknownName
from quintet.io.tables import open_table

ROWS = [
    {"id": "a", "output": "The dog ran home. The dog ran home.", "source": "A dog ran home.", "price": 3},
    {"id": "b", "output": "=SUM(A1:A9) | <b>bold</b>", "source": "The council\x01 voted.", "price": 4},
    {"id": "c", "output": "The council met.", "source": "The council met.", "price": 5},
]
METRICS = ["gruen-redundancy", "rouge-1"]
FORMATS = ["jsonl", "json", "csv", "tsv", "parquet", "xlsx"]


@pytest.fixture(scope="module")
def result() -> library.Result:
    return library.score([{**row, "references": ["The dog ran home."]} for row in ROWS], metrics=METRICS, cache=False)


def test_rows_columns_slices_and_a_short_repr(result: library.Result) -> None:
    assert result[0]["gruen-redundancy"].value == result["gruen-redundancy"][0] == -0.4
    assert dict(result[-1]) == dict(list(result)[2])
    assert isinstance(result[:2], library.Result)
    assert len(result[:2]) == 2
    with pytest.raises(IndexError, match="there is no row 3: the result has 3"):
        result[3]
    with pytest.raises(UnknownName, match="did you mean rouge-1"):
        result["rouge1"]
    assert repr(result[:1]) == "Result(1 row: gruen-redundancy -0.400, rouge-1 0.667)"
    assert len(repr(result[0]["gruen-redundancy"])) < 80
    assert "<table" in result._repr_html_()


def test_data_frames(result: library.Result) -> None:
    pandas, polars = result.to_pandas(), result.to_polars()
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert list(pandas["gruen-redundancy"]) == polars["gruen-redundancy"].to_list() == result["gruen-redundancy"]
    assert list(pandas["price"]) == [3, 4, 5]


@pytest.mark.parametrize("ending", FORMATS)
def test_saved_and_read_back_scores_texts_and_evidence_are_the_same(
    result: library.Result, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"scored.{ending}"
    result.save(path, evidence=True)
    again = read_scored(str(path))
    assert list(again.columns) == METRICS, "a column of prices is no score"
    for label in METRICS:
        assert again[label] == pytest.approx(result[label], abs=1e-6)
        assert [row[label].spans for row in again] == [row[label].spans for row in result]
        assert again.columns[label].high == result.columns[label].high
    assert [row.item.example.id for row in again.rows if row.item.example] == ["a", "b", "c"]
    if ending == "xlsx":
        result.save(tmp_path / "twice.xlsx", evidence=True)
        assert path.read_bytes() == (tmp_path / "twice.xlsx").read_bytes()
        sheet = openpyxl.load_workbook(path).active
        assert sheet is not None
        assert (sheet["B3"].value, sheet["B3"].data_type) == ("=SUM(A1:A9) | <b>bold</b>", "s"), "text, not a formula"


def test_markdown_cannot_be_broken_out_of_and_html_is_the_report(result: library.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "rows.md")
    lines = (tmp_path / "rows.md").read_text().splitlines()
    assert len(lines) == 5
    assert len({line.count("|") for line in lines}) == 1
    assert "<b>" not in lines[3]
    result.save(tmp_path / "page.html")
    assert "<!doctype html>" in (tmp_path / "page.html").read_text().lower()[:40]
    result.report(tmp_path / "own.html", title="Mine")
    assert "<title>Mine" in (tmp_path / "own.html").read_text()


@pytest.mark.parametrize("ending", ["txt", "docx", "xls", "feather"])
def test_other_endings_are_refused(result: library.Result, ending: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no format that is written here"):
        result.save(tmp_path / f"o.{ending}")
    assert not list(tmp_path.iterdir())


def test_comparing_with_a_result_or_a_scored_file(tmp_path: Path) -> None:
    def scored(text: str) -> library.Result:
        rows = [{"id": str(k), "output": text, "references": [f"number {k}"]} for k in range(8)]
        return library.score(rows, metrics="ter", cache=False)

    good, bad = scored("number 1"), scored("nothing like it at all")
    (found,) = good.compare(bad)
    assert found.difference < 0
    assert found.better == "this", "TER: lower is better"
    bad.save(tmp_path / "before.csv")
    (again,) = good.compare(tmp_path / "before.csv")
    assert again.difference == pytest.approx(found.difference)
    with pytest.raises(InputError, match="share no column"):
        good.compare(library.score([{"output": "a"}], metrics="gruen-redundancy", cache=False))


def test_report_of_a_scored_file(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    made = quintet("score", file, "--metric", "gruen-redundancy", "-o", "s.xlsx", "--evidence", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run = quintet("report", "s.xlsx", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "s.html\n"), run.stderr
    assert "gruen-redundancy" in (tmp_path / "s.html").read_text()
    one_line(quintet("report", file, "--dims", "fluency", cwd=tmp_path), "unknown column of scores", "fluency")
    one_line(quintet("report", "s.xlsx", "-o", "s.pdf", cwd=tmp_path), "end its name in .html")


def test_questions_of_a_scored_file_are_those_of_the_one_task_with_them(tmp_path: Path) -> None:
    names = ("coherence", "consistency", "fluency", "relevance")
    four = read_scored(
        str(write_jsonl(tmp_path / "s.jsonl", [{"id": "a", "output": "x", **dict.fromkeys(names, 0.5)}]))
    )
    assert all(four.columns[name].question for name in names)
    one = read_scored(str(write_jsonl(tmp_path / "t.jsonl", [{"id": "a", "output": "x", "consistency": 0.5}])))
    assert one.columns["consistency"].question == "", "of a summary, a claim or a conversation"


def test_formats_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.feather").write_bytes(b"ARROW1")
    run = quintet("score", "x.feather", "--metric", "gruen-redundancy", cwd=tmp_path)
    one_line(run, ".feather files are not read", "save it as .parquet")
    (tmp_path / "x.xlsx").write_bytes(b"no zip at all")
    one_line(quintet("score", "x.xlsx", "--task", "text", cwd=tmp_path), "is no .xlsx file")
    run = quintet("score", "https://example.org/a.jsonl", "--task", "text", cwd=tmp_path)
    one_line(run, "only files are read", "curl -s URL | quintet score -")


def test_a_spreadsheet_bomb_is_not_unpacked(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b"\0" * (80 * 2**20))
    with pytest.raises(InputError, match="unpacks to more than"):
        open_table(tmp_path / "bomb.xlsx")


def test_several_files_and_patterns(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_jsonl(tmp_path / f"{name}.jsonl", [{**row, "id": f"{name}-{row['id']}"} for row in ROWS])
    run = quintet("score", "*.jsonl", "--metric", "gruen-redundancy", "-o", "all.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows: list[Any] = [record.values for record in open_table(tmp_path / "all.csv")]
    assert [row["file"] for row in rows] == ["one.jsonl"] * 3 + ["two.jsonl"] * 3
    assert [row["id"] for row in rows] == [f"{f}-{i}" for f in ("one", "two") for i in "abc"]
    assert "two" in run.stdout, "each file is a system of its own"
    assert "(in 2 files)" in run.stderr
    one_line(quintet("score", "no*.jsonl", "--task", "text", cwd=tmp_path), "no file has such a name")
    one_line(
        quintet("score", "one.jsonl", "two.jsonl", "-m", "gruen-redundancy", "-o", "two.jsonl", cwd=tmp_path),
        "would overwrite",
    )


def test_one_text_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("A dog ran home.")
    text = ["--output", "The dog ran home. The dog ran home.", "--source", "@long.txt"]
    run = quintet("score", *text, "--metric", "gruen-redundancy", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "-0.400" in run.stdout
    assert "interval" not in run.stdout, "one row has no interval"
    out = quintet("score", *text, "--metric", "gruen-redundancy", "-o", "-", cwd=tmp_path)
    assert json.loads(out.stdout)["gruen-redundancy"] == -0.4
    one_line(quintet("score", "--task", "text", cwd=tmp_path), "nothing to score", "--output TEXT")
    one_line(quintet("score", "f.jsonl", *text, "--task", "text", cwd=tmp_path), "both a file and --output")
    one_line(quintet("score", "--source", "x", "--task", "text", cwd=tmp_path), "--source: belongs to --output")


def test_one_row_has_no_interval(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS[:1])
    run = quintet("gate", file, "--metric", "gruen-redundancy", "--min", "gruen-redundancy=-1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "nan" not in run.stdout
    plain = quintet("gate", file, "-m", "gruen-redundancy", "--min", "gruen-redundancy=-1", "-f", "json", cwd=tmp_path)
    assert json.loads(plain.stdout)["checks"][0]["low"] is None
    quintet("score", file, "-m", "gruen-redundancy", "-o", "s.jsonl", cwd=tmp_path)
    assert read_jsonl(tmp_path / "s.jsonl")[0]["gruen-redundancy"] == -0.4


def test_a_report_says_what_has_changed_since_a_baseline(tmp_path: Path) -> None:
    clean = [{"id": f"<{k}>", "output": f"The council met. Item {k} was the bridge."} for k in range(8)]
    worse = [*clean[:6], *({**row, "output": "The dog ran home. The dog ran home."} for row in clean[6:])]
    for name, rows in (("old", clean), ("new", [*worse, {"id": "x", "output": "One more."}])):
        scored = library.score(rows, metrics="gruen-redundancy", cache=False)
        scored.save(tmp_path / f"{name}.jsonl")
    run = quintet("report", "new.jsonl", "--baseline", "old.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "new.html").read_text()
    since = page[page.index('<section id="since">') : page.index('<section id="charts">')]
    assert "over 8 examples" in since
    assert "1 examples are new" in since
    assert since.count("0.000 → \u22120.400") == 2
    assert '<a href="#example-7">&lt;6&gt;</a>' in since
    assert 'href="#since"' in page
    scored.report(tmp_path / "plain.html")
    assert 'id="since"' not in (tmp_path / "plain.html").read_text()


def test_notes_of_a_scored_file_are_flags_again(tmp_path: Path) -> None:
    rows = [{"id": "a", "output": "x y", "d": 0.1, "e": 0.2, "notes": ["d: empty source", "short output: 2 words"]}]
    first = read_scored(str(write_jsonl(tmp_path / "s.jsonl", rows)))[0]
    assert first["d"].flags == ("empty source", "short output: 2 words")
    assert first["e"].flags == ("short output: 2 words",)
