"""A real HTTP server that speaks OpenAI's chat interface; its model counts words."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], Any]
Behaviour = Callable[[dict[str, Any], int], Reply]


def texts_of(request: dict[str, Any]) -> list[str]:
    """What the model is given to judge: the JSON messages between the rules and the question."""
    return [json.loads(m["content"])["text"] for m in request["messages"][1:-1] if m["role"] == "user"]


def support(request: dict[str, Any]) -> float:
    """The share of the first text's words that the others have: this model's P(Yes)."""
    output, *beside = texts_of(request)
    words = output.lower().split()
    known = set(" ".join(beside).lower().split())
    return sum(word in known for word in words) / len(words) if words else 0.0


def message(content: str, first: list[tuple[str, float]] | None = None) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": content}}
    if first is not None:
        top = [{"token": token, "logprob": math.log(p) if p else -9999.0} for token, p in first]
        choice["logprobs"] = {"content": [{"token": content, "logprob": top[0]["logprob"], "top_logprobs": top}]}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}


def with_logprobs(request: dict[str, Any], count: int) -> Reply:
    yes = support(request)
    spread = [("Yes", 0.6 * yes), (" yes", 0.3 * yes), ("No", 0.9 * (1 - yes)), ("Maybe", 0.1)]
    return 200, {}, message("Yes" if yes > 0.5 else "No", spread)


def words_only(request: dict[str, Any], count: int) -> Reply:
    return 200, {}, message("Yes." if support(request) > 0.5 else "No.")


def graded(request: dict[str, Any], count: int) -> Reply:
    """A grader from 1 to 5 by the same rule, torn between the two grades nearest to it."""
    place = 1 + 4 * support(request)
    low = min(4, int(place))
    spread = [(str(low), low + 1 - place), (f" {low + 1}", place - low), ("The", 0.0)]
    return 200, {}, message(str(round(place)), spread)


def graded_words_only(request: dict[str, Any], count: int) -> Reply:
    status, headers, body = graded(request, count)
    del body["choices"][0]["logprobs"]
    return status, headers, body


class ChatServer:
    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour, self.requests, self.headers = behaviour, [], []  # type: ignore[var-annotated]
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    outer.requests.append(request)
                    outer.headers.append((self.path, dict(self.headers)))
                    count = len(outer.requests)
                status, headers, body = outer.behaviour(request, count)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[ChatServer]:
    with ChatServer(behaviour) as server:
        yield server
