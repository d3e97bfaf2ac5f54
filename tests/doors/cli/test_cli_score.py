"""Real files through the real command line: good runs, and every kind of bad input with its one line."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
REDUNDANCY = ["--metric", "gruen-redundancy"]


def quintet(*arguments: str | Path, cwd: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "quintet", *map(str, arguments)], cwd=cwd, input=stdin, capture_output=True,
        env={**os.environ, "QUINTET_CACHE": str(cwd / "cache"), "COLUMNS": "200"},
    )  # fmt: skip
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    # Not splitlines: JSON strings may hold U+2028, which it would break at.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def one_line(run: subprocess.CompletedProcess[str], *parts: str, code: int = 2) -> None:
    """Beside what every run says: which columns it read, and how far it is where it takes long."""
    assert run.returncode == code, run.stderr
    said = [line for line in run.stderr.split("\n") if line and not line.startswith(("columns: ", "scoring: "))]
    assert len(said) == 1, run.stderr
    for part in parts:
        assert part in said[0]


ROWS = [
    {"id": "a", "output": "The dog ran home. The dog ran home.", "source": "A dog ran home.", "mine": [1, {"x": None}]},
    {"id": "b", "output": "The council met. It voted on the bridge.", "source": "The council voted.", "mine": "ä"},
]


def test_scores_every_row_in_order_and_carries_columns_through(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run = quintet("score", file, *REDUNDANCY, "--out", tmp_path / "out.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = read_jsonl(tmp_path / "out.jsonl")
    assert [{k: v for k, v in row.items() if k != "gruen-redundancy"} for row in rows] == ROWS
    assert [row["gruen-redundancy"] for row in rows] == [-0.4, 0.0]
    assert "gruen-redundancy|overlap:0.8" in run.stdout
    assert "2 rows; 2 scores computed" in run.stdout


def test_table_shows_means_intervals_signature_and_evidence(tmp_path: Path) -> None:
    run = quintet("score", write_jsonl(tmp_path / "in.jsonl", ROWS), "--task", "text", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    for part in ("95 % interval", "repeats: The dog ran home.", "-0.200", "|v:2|quintet:"):
        assert part in run.stdout


def test_stdin_to_stdout_keeps_stdout_for_rows(tmp_path: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    run = quintet("score", "-", *REDUNDANCY, "--format", "jsonl", cwd=tmp_path, stdin=text)
    assert [json.loads(line)["id"] for line in run.stdout.splitlines()] == ["a", "b"]
    assert "95 % interval" in run.stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl.gz", "json"])
def test_formats_in_and_out(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"in.{ending}"
    rows = [{"id": r["id"], "output": r["output"]} for r in ROWS]
    if ending in ("csv", "tsv"):
        with file.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "output"], delimiter="," if ending == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    elif ending == "parquet":
        import pandas

        pandas.DataFrame(rows).to_parquet(file)
    elif ending == "json":
        file.write_text(json.dumps(rows, indent=1))
    else:
        file.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in rows).encode()))
    for out in ("out.csv", "out.parquet", "out.jsonl"):
        run = quintet("score", file, *REDUNDANCY, "--out", tmp_path / out, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    import pandas

    for frame in (pandas.read_csv(tmp_path / "out.csv"), pandas.read_parquet(tmp_path / "out.parquet")):
        assert frame["gruen-redundancy"].tolist() == [-0.4, 0.0]
        assert frame["id"].tolist() == ["a", "b"]


def test_line_aligned_files(tmp_path: Path) -> None:
    (tmp_path / "hyp.txt").write_text("one two three\n\nfour\n")
    (tmp_path / "ref.txt").write_text("one two three\nx\nfive\n")
    run = quintet("score", f"output={tmp_path}/hyp.txt,references={tmp_path}/ref.txt", "--metric", "rouge-1",
                  "--format", "jsonl", cwd=tmp_path)  # fmt: skip
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["rouge-1"] for row in rows] == [1.0, 0.0, 0.0]
    assert rows[1]["notes"] == ["empty output"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    one_line(quintet("score", "nowhere.jsonl", *REDUNDANCY, cwd=tmp_path), "nowhere.jsonl")


def test_broken_json_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"output": "a"}\n{"output": "b"}\n{"output": \n{"output": "d"}\n')
    one_line(quintet("score", "in.jsonl", *REDUNDANCY, cwd=tmp_path), "in.jsonl", "line 3")
    run = quintet("score", "in.jsonl", *REDUNDANCY, "--skip-bad", "--format", "jsonl", cwd=tmp_path)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["gruen-redundancy"] for row in rows] == [0.0, 0.0, None, 0.0]
    assert "line 3" in rows[2]["notes"][0]
    assert "skipped: 1 row" in run.stderr


def test_a_row_without_a_needed_field_is_named(tmp_path: Path) -> None:
    rows = [{"id": "k1", "output": "a b", "source": "a b"}, {"id": "k2", "output": "c d", "source": None}]
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    model = ["--model", "fake:embedder"]
    run = quintet("score", file, "--metric", "ctc-consistency", *model, cwd=tmp_path)
    one_line(run, "'k2'", "'source'", "consistency", "--skip-bad")
    run = quintet(
        "score", file, "--metric", "ctc-consistency", *model, "--skip-bad", "--out", "out.jsonl", cwd=tmp_path
    )
    assert run.returncode == 0
    assert "skipped: 1 row: no source" in run.stdout
    out = read_jsonl(tmp_path / "out.jsonl")
    assert out[0]["ctc-consistency"] == 1.0
    assert out[1]["ctc-consistency"] is None
    assert out[1]["notes"] == ["ctc-consistency: no source"]


def test_nothing_is_written_when_a_row_stops_the_run(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": "a"}, {"output": None, "id": "x"}])
    one_line(quintet("score", file, *REDUNDANCY, "--out", "out.jsonl", cwd=tmp_path), "'x'", "'output'")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == ["in.jsonl"]


def test_empty_output_is_scored_and_flagged(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": "", "source": "a"}, {"output": " \n ", "source": "a"}])
    run = quintet(
        "score", file, "--metric", "ctc-consistency", "--model", "fake:embedder", "--format", "jsonl", cwd=tmp_path
    )
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["ctc-consistency"], row["notes"]) for row in rows] == [(0.0, ["empty output"])] * 2


def test_nan_and_null(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "q", "output": NaN}\n')
    one_line(quintet("score", "in.jsonl", *REDUNDANCY, cwd=tmp_path), "'q'", "'output'")


def test_invalid_utf8_is_placed(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"output": "fine"}\n{"output": "caf\xe9"}\n')
    one_line(quintet("score", "in.jsonl", *REDUNDANCY, cwd=tmp_path), "in.jsonl", "line 2", "UTF-8")


def test_odd_characters_come_through(tmp_path: Path) -> None:
    texts = ["lone \ud800 surrogate here", "a \x00 b \x1b[31m c", "שלום עולם مرحبا", "👩‍👩‍👧‍👦 é ẛ̣", "\u2028 line"]
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": t, "source": "x y " + t} for t in texts])
    run = quintet("score", file, "--task", "fact", "--metric", "ctc-consistency", "--metric", "gruen-redundancy",
                  "--model", "fake:embedder", "--out", "out.jsonl", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert [row["output"] for row in read_jsonl(tmp_path / "out.jsonl")] == texts
    assert quintet("score", file, *REDUNDANCY, cwd=tmp_path).returncode == 0


def test_one_text_of_a_megabyte(tmp_path: Path) -> None:
    text = "The council met again and voted on the bridge over the river. " * 16_500
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": "The council voted.", "source": text}])
    assert file.stat().st_size > 1_000_000
    run = quintet("score", file, "--metric", "ctc-consistency", "--model", "fake:embedder", cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_fifty_thousand_rows_with_duplicates(tmp_path: Path) -> None:
    texts = [f"Row {n % 97} says so. It says so on day {n % 31}." for n in range(50_000)]
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": text} for text in texts])
    run = quintet("score", file, *REDUNDANCY, "--out", "out.jsonl", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert [row["output"] for row in read_jsonl(tmp_path / "out.jsonl")] == texts
    assert f"{97 * 31} scores computed" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "sumarization"], "did you mean summarization"),
        (["--task", "summarization", "--dims", "coherense"], "did you mean coherence"),
        (["--metric", "rogue-1"], "did you mean rouge-1"),
        (["--metric", "rouge-1:steem=yes"], "rouge-1"),
        (["--metric", "ctc-consistency:long=wimdow"], "did you mean window"),
        (["--task", "text", "--format", "jsnl"], "did you mean jsonl"),
        (["--task", "text", "--columns", "output=outputs"], "did you mean output"),
        ([], "neither a task nor a metric"),
        (["--limt", "3"], "--limit"),
    ],
)
def test_unknown_names_get_a_hint(tmp_path: Path, arguments: list[str], says: str) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    one_line(quintet("score", file, *arguments, cwd=tmp_path), says)


def test_dimensions_without_their_column_are_left_out_and_named(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "source"} for row in ROWS]
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    run = quintet("score", file, "--task", "summarization", "--fast", "--model", "fake:judge", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "not scored: relevance: needs source" in run.stdout
    assert "fluency" in run.stdout
    assert "rows above: without coherence beside the document" in " ".join(run.stdout.split())


def test_a_task_of_which_nothing_can_be_scored_is_refused(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"id": "1", "output": "A bridge."}])
    run = quintet("score", file, "--task", "fact", cwd=tmp_path)
    one_line(run, "nothing can be scored for task fact (consistency: needs source")


def test_what_every_row_lacks_is_said_once_and_leaves_room_for_evidence(tmp_path: Path) -> None:
    rows = [{"id": k, "source": "The old bridge is closed.", "output": "The bridge is closed."} for k in "ab"]
    rows.append({"id": "c", "source": "The old bridge is closed.", "output": ""})
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    run = quintet("score", file, "--task", "summarization", "--dims", "relevance", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("no references") == 1
    assert "weakest: " not in run.stdout, "the least good words of a good text say nothing"
    assert "empty output" in run.stdout


def test_limit(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run = quintet("score", file, *REDUNDANCY, "--limit", "1", "--format", "jsonl", cwd=tmp_path)
    assert len(run.stdout.splitlines()) == 1


def test_a_user_adds_a_task_and_a_dimension(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[notes]\nabout = "Meeting notes"\n'
        "[notes.dimensions.tight]\n"
        'question = "Is it free of repetition?"\nmetric = "gruen-redundancy"\nparameters = { penalty = 0.5 }\n'
    )
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run = quintet("score", file, "--task", "notes", "--task-file", "mine.toml", "--format", "jsonl", cwd=tmp_path)
    assert [json.loads(line)["tight"] for line in run.stdout.splitlines()] == [-2.0, 0.0]
    (tmp_path / "bad.toml").write_text('[notes.dimensions]\ntight = { question = "?", metrik = "x" }\n')
    run = quintet("score", file, "--task", "notes", "--task-file", "bad.toml", cwd=tmp_path)
    one_line(run, "bad.toml", "did you mean metric")
    (tmp_path / "bad.toml").write_text('[notes.dimensions]\ntight = { question = "?", metric = "gruen-redundency" }\n')
    run = quintet("score", file, "--task", "notes", "--task-file", "bad.toml", cwd=tmp_path)
    one_line(run, "bad.toml [notes]", "gruen-redundency", "did you mean gruen-redundancy")


def test_a_second_run_does_no_model_work(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    arguments = ["score", file, "--metric", "ctc-consistency", "--model", "fake:embedder", "--out", "out.jsonl"]
    first = quintet(*arguments, cwd=tmp_path)
    before = (tmp_path / "out.jsonl").read_bytes()
    second = quintet(*arguments, cwd=tmp_path)
    assert "2 scores computed, 0 from the cache" in first.stdout
    assert "0 scores computed, 2 from the cache" in second.stdout
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_killed_half_way_and_run_again_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"id": str(n), "output": f"Sentence {n} of many. It is about thing {n % 13}.", "source": f"thing {n}"}
            for n in range(3000)]  # fmt: skip
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    arguments = ["score", str(file), "--metric", "ctc-consistency", "--model", "fake:embedder", "--evidence", "--out"]
    assert quintet(*arguments, "calm.jsonl", "--cache", "calm.sqlite", cwd=tmp_path).returncode == 0
    # It is given half of the rows and waits for more, so that it cannot be done before it is killed.
    asked = ["-" if argument == str(file) else argument for argument in arguments]
    command = [sys.executable, "-m", "quintet", *asked, "torn.jsonl", "--cache", "torn.sqlite"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.writelines(file.read_bytes().splitlines(keepends=True)[:1500])
    process.stdin.flush()
    deadline = time.monotonic() + 300
    while _stored(tmp_path / "torn.sqlite") < 500 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    assert not (tmp_path / "torn.jsonl").exists()
    assert 500 <= _stored(tmp_path / "torn.sqlite") < 3000
    run = quintet(*arguments, "torn.jsonl", "--cache", "torn.sqlite", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "torn.jsonl").read_bytes() == (tmp_path / "calm.jsonl").read_bytes()


def _stored(path: Path) -> int:
    import sqlite3

    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.Error:
        return 0


FILES = ["summarization.jsonl", "dialogue.jsonl", "data2text.csv", "rewriting.tsv", "fact.jsonl", "text.jsonl"]


@pytest.mark.parametrize("name", FILES)
def test_the_examples_score_with_the_bundled_model(tmp_path: Path, name: str) -> None:
    task = name.partition(".")[0]
    run = quintet("score", EXAMPLES / name, "--task", task, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "95 % interval" in run.stdout


def test_explain_shows_one_example(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run = quintet("explain", file, "--id", "a", "--metric", "ctc-consistency", "--model", "fake:embedder", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "consistency" in run.stdout
    assert "in source" in run.stdout
    one_line(quintet("explain", file, "--id", "zz", "--task", "text", cwd=tmp_path), "'zz'")


def test_explain_where_ids_repeat_says_so_and_takes_a_row(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "output": text} for text in ("It rains.", "It snows.", "It hails.")]
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    run = quintet("explain", file, "--id", "a", *REDUNDANCY, cwd=tmp_path)
    assert "3 rows have the id 'a': row 1 is shown; --row NUMBER for 2, 3" in run.stderr
    assert "It rains." in run.stdout
    run = quintet("explain", file, "--row", "2", *REDUNDANCY, cwd=tmp_path)
    assert "It snows." in run.stdout
    assert "have the id" not in run.stderr
    one_line(quintet("explain", file, "--row", "4", *REDUNDANCY, cwd=tmp_path), "no row 4, only 3")
    one_line(quintet("explain", file, *REDUNDANCY, cwd=tmp_path), "--id ID or --row NUMBER")


def test_inventories(tmp_path: Path) -> None:
    listed = quintet("metrics", "--json", cwd=tmp_path)
    assert {"ctc-consistency", "gruen-redundancy", "rouge-1"} <= {row["name"] for row in json.loads(listed.stdout)}
    models = json.loads(quintet("models", "--json", cwd=tmp_path).stdout)
    assert {row["state"] for row in models} == {"intact"}
    assert "summarization" in quintet("tasks", cwd=tmp_path).stdout
    assert quintet("--version", cwd=tmp_path).stdout.startswith("quintet ")


def test_python_refuses_unequal_lengths() -> None:
    import quintet as package

    with pytest.raises(package.UserError, match=r"2.*3|3.*2"):
        package.score({"output": ["a", "b"], "source": ["a", "b", "c"]}, task="fact", cache=False)


def test_words_the_model_does_not_know_match_only_themselves(tmp_path: Path) -> None:
    pairs = [("🚀🚀", "🥑🥑"), ("🥑🥑", "🥑🥑")]
    file = write_jsonl(tmp_path / "in.jsonl", [{"source": s, "output": o} for s, o in pairs])
    run = quintet("score", file, "--metric", "ctc-consistency", "--out", "-", cwd=tmp_path)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["ctc-consistency"] for row in rows] == [0.0, 1.0]
    assert rows[0]["notes"] == ["most of the text is unknown to the model"]


def test_our_own_output_is_input_again(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    arguments = ["--metric", "ctc-consistency", "--model", "fake:embedder"]
    assert quintet("score", file, *arguments, "--evidence", "--out", "one.jsonl", cwd=tmp_path).returncode == 0
    assert quintet("score", "one.jsonl", *arguments, "--out", "two.jsonl", cwd=tmp_path).returncode == 0
    assert "quintet.ctc-consistency" in read_jsonl(tmp_path / "two.jsonl")[0]


def test_limit_never_cuts_the_input_file(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS)
    one_line(quintet("score", file, *REDUNDANCY, "--limit", "1", "--out", file, cwd=tmp_path), "--limit")
    assert read_jsonl(file) == ROWS
    assert quintet("score", file, *REDUNDANCY, "--out", file, cwd=tmp_path).returncode == 0
    assert len(read_jsonl(file)) == 2


def test_a_table_without_rows_is_named(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("output\n")
    one_line(quintet("score", "in.csv", *REDUNDANCY, "--out", "out.csv", cwd=tmp_path), "in.csv", "no rows")
    assert not (tmp_path / "out.csv").exists()


def test_a_full_disk_and_a_reader_that_leaves(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", ROWS * 500)
    command = f"{sys.executable} -m quintet score {file} --metric gruen-redundancy --no-cache --format jsonl"
    left = subprocess.run(["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"], capture_output=True)
    assert left.returncode == 0, left.stderr
    full = subprocess.run(["bash", "-c", f"{sys.executable} -m quintet tasks > /dev/full"], capture_output=True)
    assert full.returncode == 2
    assert full.stderr.count(b"\n") == 1


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": "naïve 🥑 text here"}])
    done = subprocess.run(
        [sys.executable, "-m", "quintet", "score", str(file), *REDUNDANCY, "--no-cache"], capture_output=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _hear_ctrl_c() -> None:
    """A shell starts what it puts in the background deaf to it, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    rows = [{"output": f"Sentence {n} of many. It is about {n % 13}.", "source": f"thing {n}"} for n in range(60_000)]
    file = write_jsonl(tmp_path / "in.jsonl", rows)
    command = [
        sys.executable,
        "-m",
        "quintet",
        "score",
        str(file),
        "--metric",
        "ctc-consistency",
        "--model",
        "fake:embedder",
    ]
    process = subprocess.Popen([*command, "--cache", str(tmp_path / "c.sqlite")], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, preexec_fn=_hear_ctrl_c)  # fmt: skip
    deadline = time.monotonic() + 300
    while _stored(tmp_path / "c.sqlite") < 64 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    assert b"run the same command to go on" in error
    assert b"Traceback" not in error


def test_what_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"output": "A dog ran. A dog ran."}])
    (tmp_path / "folder").mkdir()
    for options in (("--cache", "folder"), ("--report", "absent/r.html"), ("--report", "folder")):
        run = quintet("score", file, "--metric", "gruen-redundancy", "--out", "o.jsonl", *options, cwd=tmp_path)
        assert run.returncode == 2, run.stderr
        assert not [*tmp_path.rglob("*.part"), *tmp_path.glob("o.jsonl")]
