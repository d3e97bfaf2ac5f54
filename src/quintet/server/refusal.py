"""A refusal: what the service answers when it will not or cannot do what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response


class Refusal(Exception):
    """`message` is one line for people; it never repeats a text from the request."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})

    def response(self) -> Response:
        return json_response({"error": {"code": self.code, "message": self.message}}, self.status, self.headers)


def too_busy(message: str, seconds: int) -> Refusal:
    return Refusal(429, "too_busy", message, {"Retry-After": str(max(1, seconds))})


def json_response(plain: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain ASCII, so that lone surrogates in an id cannot break the answer."""
    body = json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")
