"""Downloads against a real server on this machine: cut connections, wrong bytes, no network."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from quintet.errors import InputError
from quintet.io.fetch import fetch, sha256_of

CONTENT = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Behaviour:
    content: bytes = CONTENT
    cut_after: list[int] = field(default_factory=list)
    """Bytes after which each of the next connections is cut."""
    ranges: bool = True
    failures: list[int] = field(default_factory=list)
    """Status codes of the next answers."""
    asked: list[str | None] = field(default_factory=list)
    """The Range header of every request."""


@pytest.fixture
def server(monkeypatch):
    for name in ("QUINTET_OFFLINE", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    behaviour = Behaviour()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range")
            behaviour.asked.append(asked)
            if behaviour.failures:
                self.send_error(behaviour.failures.pop(0))
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and behaviour.ranges else 0
            if start >= len(behaviour.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(behaviour.content)}")
                self.end_headers()
                return
            body = behaviour.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = behaviour.cut_after.pop(0) if behaviour.cut_after else len(body)
            self.wfile.write(body[:cut])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        behaviour.url = f"http://127.0.0.1:{httpd.server_port}/file.bin"
        yield behaviour
        httpd.shutdown()
        thread.join()


def test_a_file_arrives_whole(server, tmp_path):
    seen = []
    target = tmp_path / "deep" / "er" / "file.bin"
    assert fetch(server.url, target, DIGEST, progress=lambda had, whole: seen.append((had, whole))) == target
    assert target.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [p.name for p in target.parent.iterdir()] == ["file.bin"]
    fetch(server.url, target, DIGEST)
    assert len(server.asked) == 1


def test_cut_connections_are_resumed(server, tmp_path):
    server.cut_after = [100_000, 300_000]
    fetch(server.url, tmp_path / "f", DIGEST, pause=0.01)
    assert server.asked == [None, "bytes=100000-", "bytes=400000-"]
    assert sha256_of(tmp_path / "f") == DIGEST


def test_a_later_call_goes_on_where_the_last_one_stopped(server, tmp_path):
    server.cut_after = [100_000]
    with pytest.raises(InputError, match=r"cannot be downloaded .*run it again to go on"):
        fetch(server.url, tmp_path / "f", DIGEST, attempts=1)
    assert (tmp_path / "f.part").stat().st_size == 100_000
    assert not (tmp_path / "f").exists()
    fetch(server.url, tmp_path / "f", DIGEST)
    assert server.asked == [None, "bytes=100000-"]


def test_a_server_that_cannot_resume_starts_over(server, tmp_path):
    server.ranges = False
    server.cut_after = [100_000]
    fetch(server.url, tmp_path / "f", DIGEST, pause=0.01)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_foreign_start_does_not_spoil_the_file(server, tmp_path):
    (tmp_path / "f.part").write_bytes(b"start of something else")
    fetch(server.url, tmp_path / "f", DIGEST)
    assert server.asked == ["bytes=23-", None]
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("rest", [b"", b"and more than there is"])
def test_a_part_that_is_whole_or_too_long(server, tmp_path, rest):
    (tmp_path / "f.part").write_bytes(CONTENT + rest)
    fetch(server.url, tmp_path / "f", DIGEST)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_wrong_hash_is_refused_and_nothing_kept(server, tmp_path):
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(InputError, match=r"has sha256 [0-9a-f]{12}… but [0-9a-f]{12}… is expected; nothing was kept"):
        fetch(server.url, tmp_path / "f", DIGEST)
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_another_hash_is_not_overwritten(server, tmp_path):
    (tmp_path / "f").write_text("mine")
    with pytest.raises(InputError, match="another sha256; delete it"):
        fetch(server.url, tmp_path / "f", DIGEST)
    assert (tmp_path / "f").read_text() == "mine"
    assert server.asked == []


def test_passing_failures_are_tried_again_lasting_ones_are_not(server, tmp_path):
    server.failures = [503, 429]
    fetch(server.url, tmp_path / "f", DIGEST, pause=0.01)
    server.failures = [404]
    server.asked.clear()
    with pytest.raises(InputError, match="the server answers 404"):
        fetch(server.url, tmp_path / "g", DIGEST)
    assert len(server.asked) == 1
    with pytest.raises(InputError, match="cannot be downloaded"):
        fetch("http://127.0.0.1:9/none", tmp_path / "g", DIGEST, attempts=1)


@pytest.mark.parametrize("variable", ["QUINTET_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_means_offline(server, tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(InputError, match=f"{variable} is set; unset {variable}") as caught:
        fetch(server.url, tmp_path / "f", DIGEST)
    assert "\n" not in str(caught.value)
    assert server.asked == []
    (tmp_path / "f").write_bytes(CONTENT)
    assert fetch(server.url, tmp_path / "f", DIGEST) == tmp_path / "f"
    monkeypatch.setenv(variable, "0")
    fetch(server.url, tmp_path / "g", DIGEST)


def test_only_web_addresses(server, tmp_path):
    with pytest.raises(InputError, match="not an http"):
        fetch("file:///etc/passwd", tmp_path / "f", DIGEST)
    (tmp_path / "blocked").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        fetch(server.url, tmp_path / "blocked" / "f", DIGEST)
