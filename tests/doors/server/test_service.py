"""What the service answers: scores as the library gives them, refusals with reasons, nothing of a user in the log."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from service_process import REPEATS, SMALL, ServiceProcess

import quintet

TOKEN = "a-token-of-some-length"


def test_scores_are_those_of_the_library(service: ServiceProcess) -> None:
    examples = [{"id": "a", "output": REPEATS}, {"output": "Short."}, {"id": "\ud800", "output": ""}]
    status, answer, _ = service.score({"metrics": ["gruen-redundancy"], "evidence": True, "examples": examples})
    assert status == 200
    want = quintet.score(examples, metrics=["gruen-redundancy"], cache=False)
    assert [row["scores"]["gruen-redundancy"]["value"] for row in answer["rows"]] == want["gruen-redundancy"]
    assert [row["id"] for row in answer["rows"]] == ["a", "2", "\ud800"]
    assert answer["columns"][0]["signature"] == want.signatures["gruen-redundancy"]
    first = answer["rows"][0]["scores"]["gruen-redundancy"]
    assert first["spans"][0]["other"][0] == "output"
    without = service.score({"metrics": ["gruen-redundancy"], "examples": examples})[1]
    assert "spans" not in without["rows"][0]["scores"]["gruen-redundancy"]


def test_a_task_says_what_it_left_out(service: ServiceProcess) -> None:
    status, answer, _ = service.score(
        {"task": "text", "dimensions": ["non-redundancy"], "examples": [{"output": "One. Two."}]}
    )
    assert status == 200
    assert [column["name"] for column in answer["columns"]] == ["non-redundancy"]


def test_a_head_can_be_named(service: ServiceProcess) -> None:
    (evaluator,) = (m for m in service.ask("GET", "/v1/models")[1]["models"] if m["name"] == "bundled:evaluator")
    assert {"coh", "con", "nli"} <= set(evaluator["heads"])
    row = {"output": "It opens in May.", "source": "The bridge opens in May."}
    for model in ("bundled:evaluator#con", "bundled:evaluator#doc_to_summ"):
        status, answer, _ = service.score({"metrics": ["unieval-fact"], "model": model, "examples": [row]})
        assert status == 200
        assert f"#{model.partition('#')[2]}" in answer["columns"][0]["signature"]


def test_a_row_without_a_needed_field_keeps_its_place(service: ServiceProcess) -> None:
    rows = [{"output": "a b", "references": ["a b"]}, {"output": "a b"}]
    status, answer, _ = service.score({"metrics": ["rouge-1"], "examples": rows})
    assert status == 200
    label = answer["columns"][0]["name"]
    first, second = (row["scores"][label] for row in answer["rows"])
    assert first["value"] == 1.0
    assert second["value"] is None
    assert "references" in second["flags"][0]


def test_inventories_health_and_description(service: ServiceProcess) -> None:
    assert service.ask("GET", "/healthz")[:2] == (200, {"status": "alive"})
    assert service.ask("GET", "/readyz")[0] == 200
    assert any(m["name"] == "gruen-redundancy" for m in service.ask("GET", "/v1/metrics")[1]["metrics"])
    assert service.ask("GET", "/v1/models")[1]["models"][0]["name"].startswith("bundled:")
    assert {t["name"] for t in service.ask("GET", "/v1/tasks")[1]["tasks"]} >= {"summarization", "text"}
    described = service.ask("GET", "/openapi.json")[1]
    assert set(described["paths"]) >= {"/v1/score", "/v1/metrics", "/v1/models", "/healthz", "/readyz", "/metrics", "/"}
    for reference in re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(described)):
        assert reference[1] in described["components"][reference[0]]


def test_prometheus_text_is_well_formed_and_counts(service: ServiceProcess) -> None:
    def rows() -> float:
        text = service.ask("GET", "/metrics")[1]
        return float(re.search(r"^quintet_rows_total ([\d.e+]+)$", text, re.M)[1])  # type: ignore[index]

    before = rows()
    service.score(SMALL)
    assert rows() == before + 1
    text, headers = service.ask("GET", "/metrics")[1:]
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [\d.e+-]+', line), line
    counts = [int(n) for n in re.findall(r"quintet_batch_rows_bucket\{.*\} (\d+)", text)]
    assert counts == sorted(counts)


BAD_BODIES: list[tuple[Any, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b"[" * 100_000, 400),
    (b'{"a": NaN}', 400),
    (b"1" * 5000, 400),
    (b"[]", 422),
    (b"null", 422),
    ({"task": "text", "examples": []}, 422),
    ({"task": "text", "examples": "x"}, 422),
    ({"task": "text", "examples": [1]}, 422),
    ({"task": "text", "examples": [{"source": "no output"}]}, 422),
    ({"task": "text", "examples": [{"output": 5}]}, 422),
    ({"task": "text", "examples": [{"output": "x", "references": "y"}]}, 422),
    ({"task": "text", "examples": [{"output": "x", "history": [None]}]}, 422),
    ({"task": "text", "examples": [{"output": "x", "file": "/etc/passwd"}]}, 422),
    ({"task": "no such", "examples": [{"output": "x"}]}, 422),
    ({"task": ["text"], "examples": [{"output": "x"}]}, 422),
    ({"task": "text", "dimensions": ["nope"], "examples": [{"output": "x"}]}, 422),
    ({"task": "text", "dimensions": [["x"]], "examples": [{"output": "x"}]}, 422),
    ({"task": "text", "metrics": ["gruen-redundancy"], "examples": [{"output": "x"}]}, 422),
    ({"examples": [{"output": "x"}]}, 422),
    ({**SMALL, "evidence": 1}, 422),
    ({**SMALL, "unknown": 1}, 422),
    ({**SMALL, "metrics": ["ctc-consistency:model=dir:/etc"]}, 422),
    ({**SMALL, "metrics": ["gruen-redundancy:penalty=5"]}, 422),
    ({**SMALL, "model": "dir:/etc"}, 422),
    ({**SMALL, "model": "hf:some/model@main"}, 422),
    ({**SMALL, "model": "bundled:../../../etc"}, 422),
    ({**SMALL, "model": "bundled:evaluator#no-such-head"}, 422),
    ({**SMALL, "metrics": ["unieval-fact"], "model": "bundled:gte-small"}, 422),
    ({**SMALL, "task_file": "/etc/passwd"}, 422),
    ({**SMALL, "examples": [{"output": "x"}] * 17}, 413),
    ({**SMALL, "examples": [{"output": "x" * 9001}]}, 413),
    ({**SMALL, "examples": [{"output": "x", "history": ["y" * 5000] * 2}]}, 413),
    ({**SMALL, "examples": [{"output": "x" * 9000} for _ in range(16)] * 2}, 413),
    (b" " * 200_001, 413),
]


@pytest.mark.parametrize(("body", "status"), BAD_BODIES)
def test_bad_bodies_get_a_reason(service: ServiceProcess, body: Any, status: int) -> None:
    found, answer, headers = service.score(body)
    assert found == status
    assert answer["error"]["message"]
    assert "/etc" not in answer["error"]["message"]
    assert headers["x-content-type-options"] == "nosniff"


def test_wrong_type_method_and_place(service: ServiceProcess) -> None:
    assert service.score(SMALL, headers={"Content-Type": "text/plain"})[0] == 415
    assert service.ask("GET", "/v1/score")[0] == 405
    assert service.ask("DELETE", "/v1/metrics")[0] == 405
    for path in (
        "/v1",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/try.js",
        "/v1/score/..%2f..",
        "//etc",
    ):
        assert service.ask("GET", path)[0] == 404, path


def test_a_page_elsewhere_cannot_reach_a_service_without_a_token(service: ServiceProcess) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "[::1].evil", "\xff"):
        assert service.ask("GET", "/v1/tasks", headers={"Host": host})[0] == 421
    for host in ("localhost", "127.0.0.1:1234", "[::1]:80"):
        assert service.ask("GET", "/v1/tasks", headers={"Host": host})[0] == 200
    answer = service.ask("OPTIONS", "/v1/score", headers={"Origin": "http://evil.example"})
    assert answer[0] == 405
    assert not any(name.startswith("access-control") for name in answer[2])


def test_the_log_has_no_text_of_a_user(service: ServiceProcess) -> None:
    secret = "xyzzy-plugh-secret"
    service.score({**SMALL, "examples": [{"output": secret, "id": secret, "system": secret}]})
    service.score({**SMALL, secret: secret})
    service.score(secret)
    service.ask("GET", f"/{secret}?q={secret}")
    service.ask("GET", "/v1/tasks", headers={"X-Request-Id": secret, "User-Agent": secret})
    assert sum(line["event"] == "request" for line in service.lines) >= 4
    assert secret not in "".join(service.raw)
    assert all(line.startswith("{") for line in service.raw)


def test_tokens() -> None:
    running = ServiceProcess(token=TOKEN)
    try:
        assert running.score(SMALL)[0] == 200
        for wrong in (
            "",
            "Bearer",
            "Bearer x",
            f"Bearer {TOKEN}x",
            f"Basic {TOKEN}",
            f"Bearer {TOKEN[:-1]}",
            "Bearer é",
        ):
            status, answer, headers = running.score(SMALL, headers={"Authorization": wrong})
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in json.dumps(answer)
        for path in ("/v1/metrics", "/v1/models", "/v1/tasks", "/metrics", "/nothing"):
            assert running.ask("GET", path, headers={"Authorization": ""})[0] == 401
        for path in ("/", "/healthz", "/readyz", "/openapi.json"):
            assert running.ask("GET", path, headers={"Authorization": ""})[0] == 200
        assert running.ask("GET", "/healthz", headers={"Host": "any.example"})[0] == 200
        assert TOKEN not in "".join(running.raw)
    finally:
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("options", "token", "told"),
    [
        (["--host", "0.0.0.0"], None, "a token is needed"),
        (["--host", "::"], None, "a token is needed"),
        (["--host", "0.0.0.0"], "short", "shorter than"),
        (["--warm", "no-such-task"], None, "unknown task"),
        (["--token-file", "/nowhere/at/all"], None, "cannot be read"),
        (["--host", "192.0.2.1"], TOKEN, "cannot listen"),
    ],
)
def test_refuses_to_start(options: list[str], token: str | None, told: str) -> None:
    import os
    import subprocess
    import sys

    environment = {**os.environ, "QUINTET_TOKEN": token} if token else dict(os.environ)
    command = [sys.executable, "-c", "from quintet.cli import main; main()", "serve", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_one_line_says_what_to_install() -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['uvicorn'] = None; from quintet.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert re.search(r"pip install '.+\[serve\]'", done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_the_command_is_cheap_to_look_at() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from quintet.cli import app\n"
        "print(sorted({'torch', 'onnxruntime', 'starlette', 'uvicorn', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_warm_means_that_the_models_have_been_used() -> None:
    running = ServiceProcess("--warm", "fact")
    try:
        assert re.search(r"quintet_batch_requests_count 1(\.0)?\s", running.ask("GET", "/metrics")[1])
    finally:
        assert running.stop() == 0
