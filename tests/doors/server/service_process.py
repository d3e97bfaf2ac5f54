"""A real `quintet serve` on loopback, started and stopped by the tests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

REPEATS = "The old bridge is closed for repair today. The old bridge is closed for long repair today."
SMALL = {"metrics": ["gruen-redundancy"], "examples": [{"output": REPEATS}]}


class ServiceProcess:
    def __init__(self, *options: str, token: str | None = None) -> None:
        command = [sys.executable, "-c", "from quintet.cli import main; main()", "serve", "--port", "0", *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("QUINTET_TOKEN", None)
        if token is not None:
            environment["QUINTET_TOKEN"] = token
        self.token = token
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.lines: list[dict[str, Any]] = []
        self.raw: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        listening = self._wait_for_event("listening")
        self.url = listening["url"]
        self.port = int(self.url.rsplit(":", 1)[1])
        self._wait_until_ready()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.raw.append(line)
            if line.startswith("{"):
                self.lines.append(json.loads(line))

    def _wait_for_event(self, event: str, seconds: float = 120.0) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for line in list(self.lines):
                if line["event"] == event:
                    return line
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no event {event}: {self.raw}")

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + 120  # models are opened in it where --warm is given
        while time.monotonic() < until:
            if self.ask("GET", "/readyz")[0] == 200:
                return
            time.sleep(0.05)
        raise AssertionError("not ready")

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, seconds: float = 120.0
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, decoded body and headers; bytes and strings are sent as they are."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        given = {"Content-Type": "application/json", **(headers or {})}
        if self.token is not None:
            given.setdefault("Authorization", f"Bearer {self.token}")
        data = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
        try:
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            raw = answer.read()
            named = {name.lower(): value for name, value in answer.getheaders()}
            plain = json.loads(raw) if named.get("content-type") == "application/json" else raw.decode()
            return answer.status, plain, named
        finally:
            connection.close()

    def score(self, body: Any, **more: Any) -> tuple[int, Any, Mapping[str, str]]:
        return self.ask("POST", "/v1/score", body, **more)

    def wait_until_in_flight(self, requests: int) -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if f"quintet_in_flight {requests}\n" in self.ask("GET", "/metrics")[1]:
                return
            time.sleep(0.05)
        raise AssertionError(f"never {requests} at once")

    def resident_megabytes(self) -> float:
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self, seconds: float = 120.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code
