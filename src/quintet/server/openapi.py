"""The service described as OpenAPI 3.1, written as data; limits stand in it as they are set."""

from __future__ import annotations

from functools import cache

from quintet._version import __version__
from quintet.core.plain import JsonObject
from quintet.core.task import read_tasks
from quintet.errors import ModelError
from quintet.models.catalog import Entry
from quintet.server.scoring import finite
from quintet.server.settings import NAME_CHARACTERS, Limits, Settings

# What the service offers, as data: metrics, models, tasks. Computed once; no path of this machine is in it.


@cache
def metrics() -> list[JsonObject]:
    from quintet.metrics import metrics as registry

    rows = []
    for entry in registry:
        metric = entry.build()
        rows.append(
            {
                "name": entry.name,
                "summary": entry.summary,
                "paper": metric.paper,
                "dimensions": [
                    {
                        "name": d.name,
                        "question": d.question,
                        "needs": list(d.needs),
                        "low": finite(d.low),
                        "high": finite(d.high),
                        "higher_is_better": d.higher_is_better,
                    }
                    for d in metric.dimensions
                ],
            }
        )
    return rows


@cache
def metric_names() -> list[str]:
    """Without building them: the description of the service must not load a model's library."""
    from quintet.metrics import metrics as registry

    return [entry.name for entry in registry]


@cache
def models() -> list[JsonObject]:
    from quintet.models.catalog import bundled

    return [
        {
            "name": f"bundled:{model.name}",
            "role": model.role,
            "heads": _heads(model),
            "bytes": model.size,
            "licence": model.licence,
            "sha256": model.sha256,
        }
        for model in bundled()
    ]


@cache
def model_names() -> list[str]:
    """As a request may write them: a model, or one of its heads."""
    return [name for model in models() for name in (model["name"], *(f"{model['name']}#{h}" for h in model["heads"]))]


def _heads(model: Entry) -> list[str]:
    from quintet.models.folder import describe

    try:
        return list(describe(model.folder).heads)
    except ModelError:  # not on this machine: asking it anything says so
        return []


@cache
def tasks() -> list[JsonObject]:
    return [
        {
            "name": task.name,
            "about": task.about,
            "dimensions": [
                {
                    "name": name,
                    "question": wanted.dimension.question,
                    "needs": list(wanted.dimension.needs),
                    "metric": wanted.metric,
                }
                for name, wanted in task.dimensions.items()
            ],
        }
        for task in read_tasks().values()
    ]


Schema = JsonObject

_NUMBER = {"type": ["number", "null"]}
_NAMED_NUMBERS = {"type": "object", "additionalProperties": _NUMBER}


def document(settings: Settings) -> Schema:
    secured: list[Schema] = [{"bearer": []}] if settings.token is not None else []
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "quintet",
            "version": __version__,
            "description": "Judges generated text on every dimension people care about, with evidence for each score.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": _paths(secured),
        "components": {
            "schemas": {**_request_schemas(settings.limits), **_answer_schemas(), **_inventory_schemas()},
            "responses": {"Error": _json("What went wrong", "Error")},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths(secured: list[Schema]) -> Schema:
    score = {
        "operationId": "score",
        "summary": "Score examples on the dimensions of a task, or by metrics named one by one",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ScoreRequest"}}},
        },
        "responses": {
            "200": _json("One row per example, in order", "ScoreAnswer"),
            **_errors(400, 401, 408, 413, 415, 421, 422, 500, 503, 504),
            "429": {
                **_json("Too busy; try again later", "Error"),
                "headers": {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}},
            },
        },
        "security": secured,
    }
    return {
        "/v1/score": {"post": score},
        "/v1/metrics": _get("metrics", "Every metric", "Metrics", secured),
        "/v1/models": _get("models", "Every bundled model", "Models", secured),
        "/v1/tasks": _get("tasks", "Tasks and their dimensions", "Tasks", secured),
        "/healthz": _get("health", "Is the process alive?", "Status", []),
        "/readyz": _get("ready", "Does it take requests?", "Status", [], {"503": _json("Not now", "Status")}),
        "/metrics": _plain_get("instruments", "Counters for Prometheus", "text/plain", secured),
        "/openapi.json": _plain_get("openapi", "This document", "application/json", [], {"type": "object"}),
        "/": _plain_get("page", "A page to try it", "text/html", []),
    }


def _get(name: str, summary: str, schema: str, secured: list[Schema], more: Schema | None = None) -> Schema:
    responses = {"200": _json(summary, schema), **_errors(*((401, 421) if secured else (421,))), **(more or {})}
    return {"get": {"operationId": name, "summary": summary, "responses": responses, "security": secured}}


def _plain_get(name: str, summary: str, kind: str, secured: list[Schema], schema: Schema | None = None) -> Schema:
    content = {kind: {"schema": schema or {"type": "string"}}}
    responses = {"200": {"description": summary, "content": content}, **_errors(*((401, 421) if secured else (421,)))}
    return {"get": {"operationId": name, "summary": summary, "responses": responses, "security": secured}}


def _json(about: str, schema: str) -> Schema:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": about, "content": content}


def _errors(*statuses: int) -> Schema:
    return {str(status): {"$ref": "#/components/responses/Error"} for status in statuses}


def _request_schemas(limits: Limits) -> Schema:
    text = {"type": ["string", "null"], "maxLength": limits.characters}
    texts = {
        "type": ["array", "null"],
        "maxItems": limits.turns,
        "items": {"type": "string", "maxLength": limits.characters},
    }
    name = {"type": ["string", "null"], "maxLength": NAME_CHARACTERS}
    example = {
        "type": "object",
        "additionalProperties": False,
        "required": ["output"],
        "properties": {
            "output": {"type": "string", "maxLength": limits.characters, "description": "The text to judge"},
            "source": {**text, "description": "What it was made from"},
            "context": {**text, "description": "Knowledge it may use"},
            "references": {**texts, "description": "Texts people wrote for the same input"},
            "history": {**texts, "description": "Turns of a dialogue before it, oldest first"},
            "id": name,
            "system": name,
            "group": name,
        },
    }
    names = {"type": "array", "minItems": 1, "maxItems": 64, "uniqueItems": True}
    common = {
        "model": {"enum": [None, *model_names()]},
        "fast": {"type": "boolean", "default": False, "description": "Leave the language model out."},
        "evidence": {"type": "boolean", "default": False},
        "examples": {
            "type": "array",
            "minItems": 1,
            "maxItems": limits.rows,
            "items": {"$ref": "#/components/schemas/Example"},
        },
    }
    by_task = [_by_task(task, names, common) for task in tasks()]
    by_metric = {
        "type": "object",
        "title": "By metrics",
        "additionalProperties": False,
        "required": ["metrics", "examples"],
        "properties": {"metrics": {**names, "items": {"enum": metric_names()}}, **common},
    }
    return {"Example": example, "ScoreRequest": {"anyOf": [*by_task, by_metric]}}


def _by_task(task: Schema, names: Schema, common: Schema) -> Schema:
    able = [d["name"] for d in task["dimensions"] if d["metric"] is not None]
    dimensions = {"dimensions": {**names, "items": {"enum": able}}} if able else {}
    return {
        "type": "object",
        "title": f"By task: {task['name']}",
        "additionalProperties": False,
        "required": ["task", "examples"],
        "properties": {"task": {"const": task["name"]}, **dimensions, **common},
    }


def _answer_schemas() -> Schema:
    span = {
        "type": "object",
        "required": ["start", "end", "value", "kind"],
        "properties": {
            "start": {"type": "integer", "minimum": 0, "description": "First character, counted in code points"},
            "end": {"type": "integer", "minimum": 0},
            "value": _NUMBER,
            "kind": {"enum": ["word", "sentence", "pair"]},
            "field": {"type": "string", "default": "output"},
            "note": {"type": "string"},
            "other": {
                "type": "array",
                "description": "Where the counterpart stands: field, start, end",
                "prefixItems": [{"type": "string"}, {"type": "integer"}, {"type": "integer"}],
                "minItems": 3,
                "maxItems": 3,
            },
        },
    }
    score = {
        "type": "object",
        "required": ["value"],
        "properties": {
            "value": _NUMBER,
            "spans": {"type": "array", "items": {"$ref": "#/components/schemas/Span"}},
            "parts": {**_NAMED_NUMBERS, "description": "Sub-scores the value was made of"},
            "flags": {"type": "array", "items": {"type": "string"}},
            "cut": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    return {"Span": span, "Score": score, **_row_schemas()}


def _row_schemas() -> Schema:
    row = {
        "type": "object",
        "required": ["id", "scores"],
        "properties": {
            "id": {"type": "string"},
            "scores": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Score"}},
        },
    }
    answer = {
        "type": "object",
        "required": ["columns", "left_out", "rows"],
        "properties": {
            "columns": {"type": "array", "items": {"$ref": "#/components/schemas/Column"}},
            "left_out": {"type": "object", "additionalProperties": {"type": "string"}},
            "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
        },
    }
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            }
        },
    }
    column = {
        **_object("name", "question", "signature", low=_NUMBER, high=_NUMBER, higher_is_better={"type": "boolean"})
    }
    return {"Row": row, "Column": column, "ScoreAnswer": answer, "Error": error}


def _inventory_schemas() -> Schema:
    needs = {"type": "array", "items": {"type": "string"}}
    dimension = _object("name", "question", needs=needs)
    metric = _object("name", "summary", "paper", dimensions={"type": "array", "items": dimension})
    model = _object("name", "role", "licence", "sha256", bytes={"type": "integer"}, heads=needs)
    task = _object("name", "about", dimensions={"type": "array", "items": dimension})
    lists = {"Metrics": ("metrics", metric), "Models": ("models", model), "Tasks": ("tasks", task)}
    found = {name: _object(**{key: {"type": "array", "items": item}}) for name, (key, item) in lists.items()}
    return {**found, "Status": _object("status")}


def _object(*strings: str, **others: Schema) -> Schema:
    properties: Schema = {**{name: {"type": "string"} for name in strings}, **others}
    return {"type": "object", "required": list(properties), "properties": properties}
