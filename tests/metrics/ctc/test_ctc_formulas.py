"""Closed forms: what each aspect makes of two alignments, the ablations of Tables 1 to 3, modes and signatures."""

import pytest

from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics import metrics
from quintet.metrics.ctc.aspects import Preservation, Relevance

FAKE = {"model": "fake:embedder"}


@pytest.fixture
def parts(examples):
    score = Relevance(**FAKE).score(examples[:1])[0]["relevance"]
    return score.parts["output in source"], score.parts["references in output"]


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        ("product", lambda p, r: p * r),
        ("sum", lambda p, r: (p + r) / 2),
        ("output-in-source", lambda p, r: p),
        ("references-in-output", lambda p, r: r),
    ],
)
def test_table_1(examples, parts, combine, expected):
    assert Relevance(**FAKE, combine=combine).score(examples[:1])[0]["relevance"].value == expected(*parts)


def test_one_reference_or_all(examples):
    first = Relevance(**FAKE, references="first").score(examples[:1])[0]["relevance"]
    alone = Relevance(**FAKE).score([_with(examples[0], references=examples[0].references[:1])])[0]["relevance"]
    assert first == alone
    assert first.value != Relevance(**FAKE).score(examples[:1])[0]["relevance"].value


def _with(example: Example, **changes: object) -> Example:
    import dataclasses

    return dataclasses.replace(example, **changes)


def test_table_2_and_the_two_harmonic_means(examples):
    full = Preservation(**FAKE).score(examples[:1])[0]["preservation"]
    p, r = full.parts["output in input"], full.parts["input in output"]
    assert full.value == pytest.approx(2 * p * r / (p + r))
    for direction, expected in (("output-in-input", p), ("input-in-output", r)):
        assert Preservation(**FAKE, direction=direction).score(examples[:1])[0]["preservation"].value == expected
    printed = Preservation(**FAKE, harmonic="paper").score(examples[:1])[0]["preservation"].value
    assert printed == pytest.approx(full.value / 2)


def test_table_3_sum_is_mean_times_words(examples):
    e = Example("cat mat dog", context="cat", history=())
    total = metrics["ctc-engagingness"].build(**FAKE).score([e])[0]["engagingness"].value
    density = metrics["ctc-engagingness"].build(**FAKE, aggregate="mean").score([e])[0]["engagingness"].value
    assert total == pytest.approx(3 * density)


def test_table_f6_is_the_mean_for_four_aspects(examples):
    rows = metrics["ctc-dialogue"].build(**FAKE).score(examples)
    means = metrics["ctc-engagingness"].build(**FAKE, aggregate="mean").score(examples)
    for row, expected in zip(rows, means, strict=True):
        assert set(row) == {"understandability", "naturalness", "coherence", "overall"}
        assert {score.value for score in row.values()} == {expected["engagingness"].value}


def test_baselines_of_bert_score():
    assert Preservation(model="hf:roberta-large@x", layer=17, rescale=True)._rescaled(0.9) == pytest.approx(
        (0.9 - 0.83122575) / (1 - 0.83122575)
    )
    assert Preservation(model="hf:google/bert-base-uncased@x", layer=9, rescale=True)._baseline() == 0.35219112
    assert Preservation(model="dir:a/roberta-large-mnli/", layer=9, rescale=True)._baseline() == 0.76359564
    assert Preservation(**FAKE, baseline=0.5)._rescaled(0.75) == 0.5
    with pytest.raises(InputError, match="no baseline for embedder layer 12"):
        Preservation(**FAKE, rescale=True).prepare()


@pytest.mark.parametrize(
    ("mode", "stopwords", "facts"), [("package", "drop-listed", "plain"), ("paper", "drop-unstripped", "prefix")]
)
def test_faithful_modes_set_their_switches_and_say_so(mode, stopwords, facts):
    metric = metrics["ctc-engagingness"].build(**FAKE, mode=mode)
    own = (f"stopwords:{stopwords}", f"facts:{facts}", f"mode:{mode}")
    for part in ("center:no", "long:cut", "nofact:text", *own):
        assert f"|{part}|" in metric.signature
    halved = Preservation(**FAKE, mode=mode).harmonic == "paper"
    assert halved == (mode == "paper")


def test_signatures_leave_out_what_an_aligner_does_not_read():
    tagger = metrics["ctc-engagingness"].build(model="fake:token-tagger", aligner="D").signature
    assert "layer" not in tagger
    assert "center" not in tagger
    assert "|aggregate:sum|" in tagger
    regressor = metrics["ctc-engagingness"].build(model="fake:regressor", aligner="R").signature
    for name in ("layer", "center", "stopwords", "aggregate"):
        assert name not in regressor
    assert (
        regressor
        == metrics["ctc-engagingness"]
        .build(model="fake:regressor", aligner="R", aggregate="mean", stopwords="keep")
        .signature
    )


def test_a_second_encoder_is_refused():
    with pytest.raises(InputError, match="aligners D and R"):
        Relevance(**FAKE, reference_model="fake:embedder").prepare()


def test_an_empty_source_is_said(examples):
    empty = [_with(e, source="  ", context="", history=()) for e in examples]
    for name in ("ctc-consistency", "ctc-groundedness", "ctc-engagingness"):
        for aligner, role in (("E", "embedder"), ("D", "token-tagger"), ("R", "regressor")):
            metric = metrics[name].build(model=f"fake:{role}", aligner=aligner, **_plain(name))
            for row in metric.score(empty):
                score = next(iter(row.values()))
                assert score.value == 0.0, (name, aligner)
                assert score.flags == ("nothing to align with",)


def _plain(name: str) -> dict[str, str]:
    return {} if name == "ctc-consistency" else {"facts": "plain"}
