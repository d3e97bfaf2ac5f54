"""`--model` reaches the metric it is meant for, or is refused in one line that says what to write instead."""

from __future__ import annotations

import pytest

from quintet import _api as api
from quintet.core.metric import Metric
from quintet.core.options import Options
from quintet.errors import InputError


def metric_of(name: str, model: str | None) -> Metric:
    return api.make_plan(Options(metrics=[name], model=model)).columns[0].metric


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("usr", "model_mlm=MODEL,model_context=MODEL,model_fact=MODEL"),
        ("gruen", "model_lm=MODEL,model_acceptability=MODEL,model_words=MODEL,model_order=MODEL"),
        ("gruen-grammaticality", "model_lm=MODEL,model_acceptability=MODEL"),
        ("im2-nuf", "model_valid=MODEL,model_order=MODEL,model_nuf=MODEL"),
        ("im2-cr", "model_coherence=MODEL,model_response=MODEL,model_order=MODEL"),
        ("im2-ies", "model_lm=MODEL,model_ies=MODEL"),
        ("im2:mode=released", "model_coherence=MODEL"),
        ("im2-competition", "model_valid=MODEL"),
    ],
)
def test_a_metric_of_several_models_names_their_parameters(name: str, parameters: str) -> None:
    with pytest.raises(InputError, match="model names one model") as caught:
        metric_of(name, "dir:somewhere")
    assert parameters in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_metric_of_one_model_takes_it() -> None:
    assert metric_of("usr-mlm", "dir:somewhere").parameters["model"] == "dir:somewhere"
    assert metric_of("usr-mlm:model=dir:own", "dir:somewhere").parameters["model"] == "dir:own"
    assert metric_of("usr:model_mlm=dir:a,model_fact=dir:b", None).parameters["model_fact"] == "dir:b"


def test_a_model_that_nothing_looks_at_is_refused() -> None:
    with pytest.raises(InputError, match="model dir:x changes nothing: no model is looked at by rouge-1 and im2-dist"):
        api.make_plan(Options(metrics=["rouge-1", "im2-dist"], model="dir:x"))
    mixed = api.make_plan(Options(metrics=["rouge-1", "ctc-consistency"], model="dir:x"))
    assert mixed.columns[1].metric.parameters["model"] == "dir:x"
