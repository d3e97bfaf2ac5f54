"""What is said is one line that names what and where, shows no key, drives no terminal and fills no screen; closed
streams are no reason to fail."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command import METRIC, quintet, refused

from quintet._secrets import MASK, keep_secret, masked
from quintet.errors import InputError, ModelError, UnknownName

ROWS = '{"output": "one two"}\n{"output": "three"}\n'
KEY = "sk-0123456789abcdef"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "in.jsonl"
    file.write_text(ROWS)
    return file


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command with its streams as a shell leaves them."""
    environment = {**os.environ, "QUINTET_CACHE": str(cwd / "cache")}
    line = line.replace("quintet", f"{shlex.quote(sys.executable)} -m quintet")
    run = subprocess.run(["sh", "-c", line], cwd=cwd, capture_output=True, text=True, env=environment, timeout=600)
    assert "Traceback" not in run.stderr, run.stderr
    assert "internal error" not in run.stderr, run.stderr
    return run


# F5


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " "])
def test_f05_a_key_with_a_line_end_is_used_without_it(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    from quintet.models.openai_client import Settings

    monkeypatch.setenv("QUINTET_OPENAI_KEY", KEY + end)
    assert Settings.from_environment().key == KEY


def test_f05_a_key_that_no_header_can_carry_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from quintet.models.openai_client import Settings

    monkeypatch.setenv("QUINTET_OPENAI_KEY", f"{KEY}\nX-More: yes")
    with pytest.raises(InputError) as told:
        Settings.from_environment()
    assert "QUINTET_OPENAI_KEY" in str(told.value)
    assert KEY not in str(told.value)


def test_f05_a_server_that_repeats_the_key_does_not_get_it_printed(rows: Path) -> None:
    class Echo(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": {"message": f"bad {self.headers['Authorization']} and {KEY}"}}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = f"openai:m@http://127.0.0.1:{server.server_port}/v1"
    run = quintet("score", rows, "--metric", f"g-eval:model={model}", cwd=rows.parent, env={"QUINTET_OPENAI_KEY": KEY})
    server.shutdown()
    assert "401" in run.stderr + run.stdout
    assert KEY not in run.stderr + run.stdout
    assert MASK in run.stderr + run.stdout


def test_f05_secrets_are_masked_in_every_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_OPENAI_KEY", KEY)
    keep_secret("a-token-from-a-file")
    for error in (InputError(f"a {KEY}", f"b {KEY}", f"c {KEY}"), ModelError(f"it says {KEY}"),
                  UnknownName("name", KEY, [KEY])):  # fmt: skip
        assert KEY not in str(error) + repr(error)
    assert KEY not in InputError(f"a {KEY}").what
    assert masked("use a-token-from-a-file") == f"use {MASK}"
    assert masked("Authorization: Bearer abc.def") == f"Authorization: Bearer {MASK}"
    assert masked("https://me:pass@host/v1") == f"https://{MASK}@host/v1"


# F15


def test_f15_closed_streams(rows: Path) -> None:
    run = shell("quintet score in.jsonl --metric response-length --no-cache --out o.jsonl >&-", rows.parent)
    assert (run.returncode, (rows.parent / "o.jsonl").read_text().count("\n")) == (0, 2)
    refused(shell("quintet score in.jsonl --metric response-length --no-cache >&-", rows.parent), "output is closed")
    refused(shell("quintet score - --metric response-length --no-cache <&-", rows.parent), "standard input: is closed")
    run = shell("quintet score in.jsonl --metric response-length --no-cache 2>&-", rows.parent)
    assert run.returncode == 0
    assert "2 rows" in run.stdout
    assert shell("quintet score in.jsonl --metric nothing >&- 2>&-", rows.parent).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", ["--version", "--help", "score in.jsonl --metric response-length --no-cache"])
def test_f15_a_full_disk_behind_standard_output(rows: Path, command: str) -> None:
    refused(shell(f"quintet {command} >/dev/full", rows.parent), "cannot be written", "No space left")


# F17


def test_f17_what_cannot_be_read_or_written_is_named(rows: Path) -> None:
    tmp = rows.parent
    (tmp / "folder").mkdir()
    refused(quintet("score", rows, "--task", "text", "--task-file", "folder", cwd=tmp), "folder: cannot be read")
    refused(quintet("score", rows, *METRIC, "--cache", "/", cwd=tmp), "/: the result store")
    refused(quintet("score", rows, *METRIC, "--cache", "folder", cwd=tmp), "folder: the result store")
    refused(quintet("score", rows, *METRIC, "--out", "folder", cwd=tmp), "folder: is a folder")
    refused(quintet("score", rows, *METRIC, "--out", "no/o.jsonl", cwd=tmp), "no/o.jsonl: its folder does not exist")
    refused(quintet("score", rows, *METRIC, "--calibration", "folder", cwd=tmp), "folder: cannot be read")


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/usr/bin/setpriv").exists(), reason="needs root and setpriv")
def test_f17_without_rights(rows: Path) -> None:
    tmp = rows.parent
    for name in ("shut", "cache"):
        (tmp / name).mkdir(mode=0o500)
    tasks = tmp / "tasks.toml"
    tasks.write_text("")
    tasks.chmod(0o000)
    # The tests' own folder may be root's alone, so it is not the user that changes but what root may do.
    bound = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search "
    for given, named in (
        ("--metric response-length --no-cache --out shut/o.jsonl", "shut/o.jsonl"),
        ("--metric response-length --no-cache --report shut/o.html", "shut/o.html"),
        ("--metric response-length", "results.sqlite"),
        ("--task-file tasks.toml --task text --no-cache", "tasks.toml"),
    ):
        refused(shell(f"{bound} quintet score in.jsonl {given}", tmp), named)


# F18


def test_f18_many_bad_rows_are_told_in_few_words(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"output": "a"}\n' + "".join(f'{{"output": {k} oops\n' for k in range(5_000)))
    run = quintet("score", file, *METRIC, "--skip-bad", "--no-cache", cwd=tmp_path)
    assert run.returncode == 0
    assert len(run.stdout) < 10_000
    said = " ".join(run.stdout.split())  # long paths wrap
    assert "skipped: 5000 rows: the first: " in said
    assert "in.jsonl, line 2: broken JSON" in said


def test_f18_reasons_are_counted_apart_up_to_a_bound() -> None:
    from quintet.runner.desk import KINDS, Tally

    tally = Tally()
    for k in range(1000):
        tally.skip(f"reason {'x' * k}", f"row {k}")
    assert len(tally.reasons) == KINDS + 1
    assert sum(count for count, _ in tally.reasons.values()) == 1000


# F19


def test_f19_names_cannot_drive_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "na\x1b[31mme.csv"
    file.write_text("id,\x1b[31mred\x1b]0;title\x07,output\n1,2,3\n")
    runs = [
        quintet("score", file, *METRIC, cwd=tmp_path),
        quintet("score", file, *METRIC, "--columns", "output=nothing", cwd=tmp_path),
        quintet("score", tmp_path / "na\x1b[31mm.csv", *METRIC, cwd=tmp_path),
    ]
    for run in runs:
        assert "\x1b" not in run.stdout + run.stderr
        assert "\x07" not in run.stdout + run.stderr


def test_f19_a_long_header_gives_a_short_message(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text(f"id,{'x' * 100_000},b\n1,2,3\n")
    refused(quintet("score", file, *METRIC, cwd=tmp_path))
    file.write_text(",".join(f"c{k}" for k in range(3000)) + ",output\n" + "1," * 3000 + "a\n")
    run = quintet("score", file, *METRIC, cwd=tmp_path)
    assert run.returncode == 0
    assert len(run.stderr) < 3000
