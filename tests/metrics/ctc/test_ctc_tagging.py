"""Aligner D against a plain twin on a random RoBERTa: sums of sub-words, class 0, pair order, limits, slices."""

import dataclasses

import ctc_twin as twin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import build

from quintet.core.example import Example
from quintet.metrics import metrics
from quintet.metrics.ctc import aligners as tagging
from quintet.metrics.ctc.aligners import clean
from quintet.models.open import open_model
from quintet.text.content_words import ENGLISH
from quintet_train.pseudo.ctc import clean as clean_for_training

LONG = "The dog looked at the old house while rain fell and the cat sat on the mat. " * 40


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return twin.tiny_model(
        tmp_path_factory.mktemp("d"),
        "roberta",
        "RobertaForTokenClassification",
        num_labels=2,
        max_position_embeddings=514,
    )


def score(name, examples, spec, **parameters):
    return twin.scores(name, examples, spec, aligner="D", **parameters)


def test_every_aspect_equals_the_twin(tiny, examples):
    spec, model, tokenizer = tiny

    def align(a, b):
        return twin.align_tags(model, tokenizer, a, b)

    table = {name: score(name, examples, spec) for name in ("ctc-consistency", "ctc-relevance", "ctc-preservation")}
    sums = score("ctc-groundedness", examples, spec, facts="plain", stopwords="drop-listed")
    for i, e in enumerate(examples):
        p, r = twin.mean(align(e.output, e.source)), twin.mean(align(e.source, e.output))
        covered = twin.mean([twin.mean(align(reference, e.output)) for reference in e.references])
        assert table["ctc-consistency"][i].value == pytest.approx(p, abs=1e-5)
        assert table["ctc-relevance"][i].value == pytest.approx(p * covered, abs=1e-5)
        assert table["ctc-preservation"][i].value == pytest.approx(twin.harmonic(p, r), abs=1e-5)
        words = twin.straight(e.output).split()
        kept = [v for w, v in zip(words, align(e.output, e.context), strict=True) if w not in ENGLISH]
        assert sums[i].value == pytest.approx(sum(kept), abs=1e-5)


def test_evidence_is_the_word_as_it_was_written(tiny, examples):
    spec, model, tokenizer = tiny
    found = score("ctc-consistency", examples[:1], spec)[0]
    output = examples[0].output
    assert [output[s.start : s.end] for s in found.spans] == output.split()
    expected = twin.align_tags(model, tokenizer, output, examples[0].source)
    assert [s.value for s in found.spans] == pytest.approx(expected, abs=1e-4)


def test_one_by_one_equals_all_at_once(tiny, examples):
    spec = tiny[0]
    longer = [*examples, dataclasses.replace(examples[0], source=LONG), dataclasses.replace(examples[0], output=LONG)]
    together = score("ctc-consistency", longer, spec)
    apart = [score("ctc-consistency", [e], spec)[0] for e in longer]
    assert [s.value for s in together] == pytest.approx([s.value for s in apart], abs=1e-5)


@pytest.mark.parametrize(("mode", "closed"), [("package", True), ("paper", False)])
def test_the_cut_of_package_and_paper(tiny, mode, closed):
    spec, model, tokenizer = tiny
    e = Example(LONG, source=LONG)
    found = score("ctc-consistency", [e], spec, mode=mode)[0]
    expected = twin.align_tags(model, tokenizer, e.output, e.source, closed=closed)
    assert found.value == pytest.approx(twin.mean(expected), abs=1e-5)
    ids = len(tokenizer(LONG.strip().lower(), add_special_tokens=False)["input_ids"])
    # 255 sub-words of the candidate, then frame (4, or 3 without the last separator) and the rest up to 512.
    assert found.cut == {"output": ids - 255, "source": ids - (512 - 255 - (4 if closed else 3))}


def test_slices_lose_nothing_and_take_the_best_window(tiny):
    spec, model, tokenizer = tiny
    middle = "unbelievable misunderstandings"
    e = Example("Unbelievable misunderstandings of cats", source=LONG + middle + LONG)
    found = score("ctc-consistency", [e], spec)[0]
    assert found.cut == {}
    assert len(found.spans) == 4
    whole = tagging.align_tags(open_model(spec, "token-tagger"), [(e.output, LONG[:600])])[0]
    assert whole.values.tolist() == pytest.approx(
        twin.align_tags(model, tokenizer, e.output, LONG[:600].strip()), abs=1e-5
    )


def test_a_long_output_keeps_every_word_once(tiny):
    found = score("ctc-consistency", [Example(LONG, source="The cat sat.")], tiny[0])[0]
    assert [LONG[s.start : s.end] for s in found.spans] == LONG.split()
    assert found.cut == {}


def test_what_the_package_refuses_is_flagged_and_scored():
    e = Example("The cat\nsat.", source="A cat sat.")
    for mode, flags in (("quintet", ()), ("package", (tagging.RELEASED_GIVES_NONE,))):
        found = score("ctc-consistency", [e], "fake:token-tagger", mode=mode)[0]
        assert found.flags == flags
        assert 0 < found.value <= 1


def test_marks_do_not_hide_stop_words_by_default():
    e = Example("Is it? It is, cat!", context="cat")
    for how, count in (("drop", 1), ("drop-listed", 3), ("keep", 5)):
        found = score("ctc-groundedness", [e], "fake:token-tagger", stopwords=how)[0]
        assert len(found.spans) == count, how


def test_one_model_for_each_relation(tmp_path):
    for relation in ("doc_to_summ", "summ_to_ref"):
        build(tmp_path / relation, "roberta", "RobertaForTokenClassification", num_labels=2)
    metric = metrics["ctc-relevance"].build(model=f"dir:{tmp_path}/{{relation}}", aligner="D")
    metric.prepare()
    assert "doc_to_summ@" in metric.signature
    assert "summ_to_ref@" in metric.signature
    mixed = dataclasses.replace(metric, reference_model="fake:token-tagger")
    assert "fake-token-tagger" in mixed.signature


@given(st.text(alphabet=st.sampled_from("aB ß İ’“\n\t\u00a0.x"), max_size=40))
def test_cleaning_is_that_of_training_and_leads_back(text):
    cleaned = clean(text)
    assert cleaned.text == clean_for_training(text)
    assert len(cleaned.places) == len(cleaned.text)
    assert list(cleaned.places) == sorted(cleaned.places)
    for i, place in enumerate(cleaned.places):
        assert cleaned.text[i] in clean_for_training(text[place]) or text[place].isspace()
