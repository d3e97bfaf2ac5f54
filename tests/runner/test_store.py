"""The store under blows: killed, full, read-only, shared, cut short. What was written stays, what is wrong is said."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from killing import command, kill_and_resume, stored, write_rows

from quintet.core.score import Score
from quintet.errors import InputError
from quintet.runner.store import DiskStore, key_of

ROW = {"d": Score(0.25, parts={"p": 0.5})}


def key(number: int) -> bytes:
    return key_of("metric", str(number).encode())


def fill(path: Path, rows: int) -> None:
    store = DiskStore(path)
    for number in range(rows):
        store.put(key(number), ROW)
    store.commit()
    store.close()


@pytest.mark.parametrize(("workers", "kills", "rows"), [(1, 5, 1200), (2, 2, 600)])
def test_kills_at_random_points_change_nothing(tmp_path: Path, workers: int, kills: int, rows: int) -> None:
    outcome = kill_and_resume(tmp_path, kills, rows, more=("--workers", str(workers)))
    assert (outcome.kills, outcome.wrong) == (kills, 0)


def test_a_full_disk_is_said_in_one_line_and_loses_nothing(tmp_path: Path) -> None:
    rows, store = write_rows(tmp_path / "in.jsonl", 1500), tmp_path / "s.sqlite"

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    run = subprocess.run(command(rows, store, Path("-")), capture_output=True, text=True, preexec_fn=full)
    assert run.returncode == 2
    columns, message = run.stderr.splitlines()
    assert columns.startswith("columns: ")
    assert message.startswith("quintet: ")
    assert "s.sqlite: the result store cannot be used" in message
    assert "what was written before is safe" in message
    kept = stored(store)
    assert 0 < kept < 3000
    assert kept % 512 == 0  # whole chunks of two metrics
    again = subprocess.run(command(rows, store, tmp_path / "out.jsonl"), capture_output=True, text=True)
    assert f"{3000 - kept} scores computed, {kept} from the cache" in again.stdout
    subprocess.run([*command(rows, store, tmp_path / "clean.jsonl"), "--no-cache"], check=True, capture_output=True)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "clean.jsonl").read_bytes()


@contextmanager
def nobody() -> Iterator[None]:
    """Root may write anywhere; so it becomes someone who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("fresh", [True, False], ids=["no file yet", "a store"])
def test_a_read_only_store_is_said_in_one_line_and_kept(fresh: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "s.sqlite"
        if not fresh:
            fill(path, 10)
            path.chmod(0o444)
        before = path.read_bytes() if path.exists() else b""
        folder.chmod(0o555)
        with nobody(), pytest.raises(InputError, match=r"cannot be used .it may not be written.; what") as caught:
            fill(path, 20)
        assert "\n" not in str(caught.value)
        folder.chmod(0o755)
        assert (path.read_bytes() if path.exists() else b"") == before
    finally:
        shutil.rmtree(folder)


def test_two_runs_at_once_share_a_store(tmp_path: Path) -> None:
    rows, store = write_rows(tmp_path / "in.jsonl", 600), tmp_path / "s.sqlite"
    outs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    runs = [subprocess.Popen(command(rows, store, out), stdout=-3, stderr=-3) for out in outs]
    assert [run.wait(timeout=300) for run in runs] == [0, 0]
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert stored(store) == 1200


class Busy(sqlite3.Connection):
    """Another run changes the journal at the same moment: SQLite says so at once, whatever the timeout."""

    refusals = 3

    def execute(self, sql, *more):  # type: ignore[no-untyped-def]
        if "journal_mode" in sql and self.refusals:
            self.refusals -= 1
            raise sqlite3.OperationalError("database is locked")
        return super().execute(sql, *more)


def test_a_store_that_another_run_is_making_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=Busy))
    store = DiskStore(tmp_path / "s.sqlite")
    store.put(b"key", {})
    store.commit()
    assert set(store.get([b"key"])) == {b"key"}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_file_is_reported_and_not_made_worse(tmp_path: Path, share: float) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, 5000)
    whole = path.read_bytes()
    part = whole[: int(len(whole) * share)]
    path.write_bytes(part)
    with pytest.raises(InputError, match="damaged or no store: move it away"):
        DiskStore(path).get([key(number) for number in range(5000)])
    assert path.read_bytes() == part


def test_a_value_that_is_not_ours_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE results SET value = ?", (b"rubbish",))
    with pytest.raises(InputError, match="damaged or no store"):
        DiskStore(path).get([key(0)])


def test_ctrl_c_with_workers_is_one_line_and_keeps_what_was_scored(tmp_path: Path) -> None:
    """A terminal sends it to parent and workers alike."""
    rows, store, out = write_rows(tmp_path / "in.jsonl", 20_000), tmp_path / "s.sqlite", tmp_path / "out.jsonl"
    run = subprocess.Popen(
        command(rows, store, out, "--workers", "2"), stdout=-3, stderr=-1, text=True, start_new_session=True
    )
    while not stored(store) and run.poll() is None:
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=300)
    assert run.returncode == 130
    columns, message = said.splitlines()
    assert columns.startswith("columns: ")
    assert message.startswith("quintet: ")
    assert "what was scored is kept" in message
    assert 0 < stored(store) < 40_000
    assert not out.exists()
