"""Requests made up from the service's own OpenAPI document: never a 500, and answers keep to their schema."""

from __future__ import annotations

from typing import Any

import pytest
from service_process import ServiceProcess

schemathesis = pytest.importorskip("schemathesis", reason="fuzzing reads the OpenAPI document with schemathesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance, content_type_conformance]
ALLOWED = {200, 400, 413, 422, 429, 503}
"""503: a metric whose model is not installed."""


def _without_models(document: dict[str, Any]) -> dict[str, Any]:
    """Small texts, so that a run is short; the rest is as served."""
    for text in ("output", "source", "context"):
        document["components"]["schemas"]["Example"]["properties"][text]["maxLength"] = 60
    return document


@pytest.fixture(scope="module")
def schema(service: ServiceProcess) -> Any:
    return schemathesis.openapi.from_dict(_without_models(service.ask("GET", "/openapi.json")[1]))


def test_requests_from_the_schema(service: ServiceProcess, schema: Any) -> None:
    operation = schema["/v1/score"]["POST"]

    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        answer = case.call(base_url=service.url, timeout=120)
        assert answer.status_code in ALLOWED, answer.text
        if answer.status_code != 503:
            case.validate_response(answer, checks=CHECKS)

    run()


any_text = st.text(st.characters(codec=None), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "task": st.sampled_from(["text", "fact", ""]) | json_values,
            "metrics": st.just(["gruen-redundancy"]) | json_values,
            "dimensions": json_values,
            "model": json_values,
            "evidence": st.booleans() | json_values,
            "examples": st.lists(
                st.fixed_dictionaries({"output": any_text | json_values}, optional={"id": json_values})
            )
            | json_values,
        },
    )
)
def test_requests_from_nowhere(service: ServiceProcess, body: dict[str, Any]) -> None:
    status, answer, _ = service.score(body)
    assert status in ALLOWED
    assert ("rows" in answer) == (status == 200)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300))
def test_bytes_from_nowhere(service: ServiceProcess, body: bytes) -> None:
    assert service.score(body)[0] in {400, 422}
