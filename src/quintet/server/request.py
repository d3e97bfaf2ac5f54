"""A score request: JSON into Examples, everything checked before anything is computed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from starlette.responses import Response

from quintet._checked import KeyTwice, distinct
from quintet.core.example import FIELDS, Example
from quintet.core.plain import Cells
from quintet.core.task import find_task
from quintet.errors import UnknownName
from quintet.server.settings import NAME_CHARACTERS, Limits

# A refusal: what the service answers when it will not or cannot do what was asked.


class Refusal(Exception):
    """`message` is one line for people; it never repeats a text from the request."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})

    def response(self) -> Response:
        return json_response({"error": {"code": self.code, "message": self.message}}, self.status, self.headers)


def too_busy(message: str, seconds: int) -> Refusal:
    return Refusal(429, "too_busy", message, {"Retry-After": str(max(1, seconds))})


def json_response(plain: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain ASCII, so that lone surrogates in an id cannot break the answer."""
    body = json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")


KEYS = ("task", "dimensions", "metrics", "model", "fast", "evidence", "examples")
TEXTS = ("output", "source", "context")
LISTS = ("references", "history")
NAMES = ("id", "system", "group")


@dataclass(frozen=True, slots=True)
class Choice:
    """What to compute; requests that chose the same share batches."""

    task: str | None
    dimensions: tuple[str, ...] | None
    metrics: tuple[str, ...]
    model: str | None
    present: frozenset[str]
    fast: bool = False


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    choice: Choice
    examples: tuple[Example, ...]
    evidence: bool


def read_request(body: bytes, limits: Limits) -> ScoreRequest:
    plain = _parse(body)
    if not isinstance(plain, dict):
        _invalid("the body must be a JSON object")
    _known(plain, KEYS, "the request")
    evidence = plain.get("evidence", False)
    if not isinstance(evidence, bool):
        _invalid("evidence must be true or false")
    examples = _examples(plain.get("examples"), limits)
    if evidence and sum(len(e.output) for e in examples) > limits.evidence_characters:
        _too_large(f"with evidence, all outputs together may have {limits.evidence_characters} characters")
    present = frozenset(f for f in FIELDS for e in examples if e.has(f))
    return ScoreRequest(_choice(plain, present), examples, evidence)


def _parse(body: bytes) -> object:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=distinct)
    except KeyTwice as error:
        raise Refusal(400, "malformed", str(error)) from None
    except UnicodeDecodeError:
        raise Refusal(400, "malformed", "the body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Refusal(400, "malformed", "the body is not valid JSON") from None


def _no_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _choice(plain: Cells, present: frozenset[str]) -> Choice:
    task, metrics = plain.get("task"), _names(plain.get("metrics"), "metrics")
    dimensions = _names(plain.get("dimensions"), "dimensions")
    if (task is None) == (not metrics):
        _invalid("give either task or metrics, not both")
    if dimensions is not None and task is None:
        _invalid("dimensions need a task")
    if task is not None:
        _check_task(task, dimensions)
    for name in metrics or ():
        _check_metric(name)
    fast = plain.get("fast", False)
    if not isinstance(fast, bool):
        _invalid("fast must be true or false")
    return Choice(task, dimensions, metrics or (), _model(plain.get("model")), present, fast)


def _check_task(task: object, dimensions: Sequence[str] | None) -> None:
    if not isinstance(task, str):
        _invalid("task must be a string")
    try:
        found = find_task(task)
        for name in dimensions or ():
            if found[name].metric is None:
                _invalid(f"no metric answers the dimension {name} of {task}")
    except UnknownName:
        _invalid("unknown task or dimension; GET /v1/tasks lists them")


def _check_metric(name: str) -> None:
    """Bare names only: parameters could name files or models, and those are the operator's to choose."""
    from quintet.metrics import metrics as registry

    if name not in registry:
        _invalid("unknown metric (parameters after a colon are not taken); GET /v1/metrics lists them")


def _model(name: object) -> str | None:
    from quintet.server.openapi import model_names

    if name is None:
        return None
    if not isinstance(name, str) or name not in model_names():
        _invalid("model must be one of those that GET /v1/models lists, or one of its heads (NAME#HEAD)")
    return name


def _names(value: object, key: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value) or not value:
        _invalid(f"{key} must be a list of names, at least one")
    if len(set(value)) < len(value) or len(value) > 64:
        _invalid(f"{key} must be at most 64 different names")
    return tuple(value)


def _examples(value: object, limits: Limits) -> tuple[Example, ...]:
    if not isinstance(value, list) or not value:
        _invalid("examples must be a list with at least one example")
    if len(value) > limits.rows:
        _too_large(f"a request may have {limits.rows} examples, not {len(value)}")
    return tuple(_example(row, place, limits) for place, row in enumerate(value))


def _example(row: object, place: int, limits: Limits) -> Example:
    where = f"examples[{place}]"
    if not isinstance(row, dict):
        _invalid(f"{where} must be an object")
    _known(row, (*TEXTS, *LISTS, *NAMES), where)
    texts = {key: _text(row.get(key), f"{where}.{key}", limits.characters) for key in TEXTS}
    names = {key: _text(row.get(key), f"{where}.{key}", NAME_CHARACTERS) for key in NAMES}
    lists = {key: _list(row.get(key), f"{where}.{key}", limits) for key in LISTS}
    output = texts["output"]
    if output is None:
        _invalid(f"{where}.output is missing")
    return Example(
        output=output,
        source=texts["source"],
        context=texts["context"],
        references=lists["references"] or (),
        history=lists["history"],
        id=names["id"] if names["id"] is not None else str(place + 1),
        system=names["system"],
        group=names["group"],
    )


def _text(value: object, where: str, most: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        _invalid(f"{where} must be a string")
    if len(value) > most:
        _too_large(f"{where} may have {most} characters, not {len(value)}")
    return str(value)


def _list(value: object, where: str, limits: Limits) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        _invalid(f"{where} must be a list of strings")
    if len(value) > limits.turns:
        _too_large(f"{where} may have {limits.turns} entries, not {len(value)}")
    texts = [_text(text, f"{where}[{i}]", limits.characters) for i, text in enumerate(value)]
    if None in texts:
        _invalid(f"{where} must be a list of strings")
    whole = tuple(text for text in texts if text is not None)
    if sum(map(len, whole)) > limits.characters:
        _too_large(f"{where} may have {limits.characters} characters in all")
    return whole


def _known(plain: Cells, keys: Sequence[str], where: str) -> None:
    if any(key not in keys for key in plain):
        _invalid(f"{where} has a key that is not one of {', '.join(keys)}")


def _invalid(message: str) -> NoReturn:
    raise Refusal(422, "invalid", message)


def _too_large(message: str) -> NoReturn:
    raise Refusal(413, "too_large", message)
