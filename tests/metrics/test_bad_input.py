"""What users really hand in: no fact, no history, texts longer than the model, the wrong checkpoint, a pickle."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quintet.cli.app import app
from quintet.core.example import Example
from quintet.core.metric import Metric
from quintet.errors import MissingField, ModelError
from quintet.metrics import metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

FAMILIES = ("ctc", "usr", "unieval", "gruen", "im2")
TURN = Example(
    "Yes, the bridge is closed, so we walk.",
    source="The bridge is closed until May.",
    context="The bridge is closed until May.",
    references=("The bridge is shut.",),
    history=("Hi!", "Is the bridge closed?"),
    id="row-7",
)


def on_fakes(name: str) -> Metric:
    default = metrics[name].build()
    roles = getattr(default, "model_roles", {})
    own = getattr(default, "model_role", "embedder")
    named = {k: f"fake:{roles.get(k, own)}" for k, v in default.parameters.items() if str(v).startswith("bundled:")}
    return dataclasses.replace(default, **named)


def looking_at(field: str) -> list[str]:
    names = [entry.name for entry in metrics if entry.name.partition("-")[0] in FAMILIES]
    return [name for name in names if field in on_fakes(name).fields]


@pytest.mark.parametrize("name", looking_at("context"))
@pytest.mark.parametrize("fact", ["_nofact", "nofact", "", " \n"])
def test_a_dialogue_without_a_fact_is_scored(name: str, fact: str) -> None:
    metric = on_fakes(name)
    told, plain = (metric.score([dataclasses.replace(TURN, context=text)])[0] for text in (fact, TURN.context))
    for dimension, score in told.items():
        assert math.isfinite(score.value)
        if not fact.strip() and "context" in next(d for d in metric.dimensions if d.name == dimension).needs:
            # An empty fact beside a history is still something to look at for CTC's engagingness.
            alone = "history" not in next(d for d in metric.dimensions if d.name == dimension).needs
            assert not alone or score.flags, f"{dimension} does not say that there is no fact"
    assert set(told) == set(plain)


@pytest.mark.parametrize("name", looking_at("history"))
def test_an_empty_history_is_scored_and_an_absent_one_is_named(name: str) -> None:
    metric = on_fakes(name)
    for score in metric.score([dataclasses.replace(TURN, history=())])[0].values():
        assert math.isfinite(score.value)
    absent = dataclasses.replace(TURN, history=None)
    if name == "unieval-dialogue":
        row = metric.score([absent])[0]
        assert {d for d, score in row.items() if score.missing} == {"coherence", "engagingness", "overall"}
        assert row["coherence"].flags == ("no history",)
    else:
        with pytest.raises(MissingField, match=r"row-7.*history"):
            metric.score([absent])


def test_references_missing_for_one_dimension_only() -> None:
    row = on_fakes("unieval-summarization").score([dataclasses.replace(TURN, references=())])[0]
    assert {d for d, score in row.items() if score.missing} == {"relevance", "overall"}
    assert row["relevance"].flags == ("no references",)


LONG = "The cat sat on the mat and the dog looked at it. " * 40


@pytest.mark.parametrize(
    ("name", "parameters", "kind", "family", "cut"),
    [
        ("ctc-consistency", {"aligner": "E", "layer": 2}, "bert", "BertModel", "source"),
        ("ctc-consistency", {"aligner": "D"}, "roberta", "RobertaForTokenClassification", "source"),
        ("ctc-consistency", {"aligner": "R"}, "bert", "BertForSequenceClassification", "source"),
        ("unieval-fact", {}, "t5", "T5ForConditionalGeneration", "source"),
    ],
)
def test_long_documents_are_read_whole_or_the_cut_is_told(
    name: str, parameters: dict[str, object], kind: str, family: str, cut: str, tmp_path: Path
) -> None:
    from tiny_models import build

    outputs = (
        {}
        if kind == "t5" or parameters.get("aligner") == "E"
        else {"num_labels": 1 if "R" in parameters.values() else 2}
    )
    folder = build(tmp_path / "model", kind, family, **outputs)
    example = Example("A dog barked.", source=LONG)
    whole = metrics[name].build(**parameters, model=f"dir:{folder}").score([example])[0]["consistency"]
    assert whole.cut == {}
    if kind == "t5":
        return  # relative positions: nothing is too long; the released cut at 1,024 is held by test_unieval_models
    short = metrics[name].build(**parameters, model=f"dir:{folder}", long="cut").score([example])[0]["consistency"]
    assert short.cut[cut] > 100
    assert math.isfinite(whole.value)


BERT = ("bert", "BertForSequenceClassification")
WRONG = [
    ("unieval-fact", *BERT, "is a bert encoder; questions need a T5 or a decoder"),
    ("ctc-consistency:aligner=D", *BERT, "classifies whole texts; it is not a token tagger"),
    ("ctc-consistency:aligner=R", "bert", "BertForMaskedLM", "lacks"),
    ("usr-mlm", *BERT, "lacks"),
    ("gruen-structure", "gpt2", "GPT2LMHeadModel", "not of the kind asked for"),
    ("im2-vup", "roberta", "RobertaForMaskedLM", "lacks"),
    ("usr-dr-context", "t5", "T5ForConditionalGeneration", "lacks"),
]


@pytest.mark.parametrize(("name", "kind", "family", "told"), WRONG)
def test_a_checkpoint_of_the_wrong_architecture_is_named(
    name: str, kind: str, family: str, told: str, tmp_path: Path
) -> None:
    from tiny_models import build

    from quintet.core.parameters import build as built

    folder = build(tmp_path / "model", kind, family)
    with pytest.raises(ModelError, match=told) as caught:
        built(metrics, name, model=f"dir:{folder}").prepare()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["ctc-consistency", "unieval-fact", "gruen-structure"])
def test_a_pickle_is_refused_with_the_command_that_converts_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02}q\x00.")
    rows = Path(__file__).parents[2] / "examples" / "summarization.jsonl"
    done = CliRunner().invoke(app, ["score", str(rows), "--metric", name, "--model", f"dir:{tmp_path}", "--no-cache"])
    assert done.exit_code != 0
    said = str(done.exception) + done.output
    assert f"quintet models convert {tmp_path}" in said.replace("\n", "")
