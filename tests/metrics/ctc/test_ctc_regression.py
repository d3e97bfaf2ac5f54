"""Aligner R against a plain twin on a random BERT: context first, references the other way round, long texts."""

import ctc_twin as twin
import pytest

from quintet.core.example import Example
from quintet.metrics import metrics


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return twin.tiny_model(
        tmp_path_factory.mktemp("r"), "bert", "BertForSequenceClassification", num_labels=1, max_position_embeddings=256
    )


def score(name, examples, spec, **parameters):
    return twin.scores(name, examples, spec, aligner="R", **parameters)


def test_slots_hold_the_context_first_but_for_references(tiny, examples):
    spec, model, tokenizer = tiny

    def value(first, second):
        return twin.regress(model, tokenizer, first, second)

    consistency, relevance = (score(f"ctc-{aspect}", examples, spec) for aspect in ("consistency", "relevance"))
    package = score("ctc-relevance", examples, spec, mode="package")
    preservation = score("ctc-preservation", examples, spec)
    for i, e in enumerate(examples):
        p, r = value(e.source, e.output), value(e.output, e.source)
        assert consistency[i].value == pytest.approx(p, abs=1e-5)
        trained = twin.mean([value(reference, e.output) for reference in e.references])
        released = twin.mean([value(e.output, reference) for reference in e.references])
        assert relevance[i].value == pytest.approx(p * trained, abs=1e-5)
        assert package[i].value == pytest.approx(p * released, abs=1e-5)
        # A random model may give p near -r, where the harmonic mean makes a rounding as large as its slope.
        slope = 2 * (p * p + r * r) / (p + r) ** 2
        assert preservation[i].value == pytest.approx(twin.harmonic(p, r), abs=1e-5 * (1 + slope))
    assert any(a.value != pytest.approx(b.value, abs=1e-4) for a, b in zip(relevance, package, strict=True))


def test_one_by_one_equals_all_at_once(tiny, examples):
    for name in ("ctc-relevance", "ctc-engagingness"):
        together = score(name, examples, tiny[0])
        apart = [score(name, [e], tiny[0])[0] for e in examples]
        assert [s.value for s in together] == pytest.approx([s.value for s in apart], abs=1e-5)
        assert all(not s.spans for s in together)


def test_the_best_window_of_a_long_source_counts():
    source = "nothing to see here " * 300 + "cat mat dog " + "nothing to see here " * 300
    e = Example("cat mat dog", source=source)
    whole, cut = (
        score("ctc-consistency", [e], "fake:regressor")[0],
        score("ctc-consistency", [e], "fake:regressor", long="cut")[0],
    )
    assert whole.value == 1.0
    assert whole.cut == {}
    assert cut.value == 0.0
    assert cut.cut["source"] > 1000


def test_slices_of_a_long_output_are_averaged_or_added():
    half = "cat " * 700
    e = Example(half + "zebra " * 700, source="cat", context="cat", history=())
    mean = score("ctc-consistency", [e], "fake:regressor")[0].value
    assert mean == pytest.approx(0.5, abs=0.2)
    total = score("ctc-groundedness", [e], "fake:regressor", facts="plain")[0].value
    assert total > 1


def test_ranges_are_open():
    (dimension,) = metrics["ctc-consistency"].build(aligner="R", model="fake:regressor").dimensions
    assert dimension.low == -float("inf")
    assert dimension.high is None
