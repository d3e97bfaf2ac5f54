import pytest

from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics.baselines.rouge import Rouge


def score(metric, output, *references):
    return metric.score([Example(output, references=references)])[0]["rouge"]


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rouge3", "rougeL"])
@pytest.mark.parametrize("stem", [False, True])
def test_same_as_rouge_score(pairs, variant, stem):
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer([variant], use_stemmer=stem)
    for row, example in zip(Rouge(variant, stem=stem).score(pairs), pairs, strict=True):
        expected = scorer.score_multi(example.references, example.output)[variant]
        parts = row["rouge"].parts
        assert (parts["p"], parts["r"], parts["f"]) == pytest.approx(expected), example


def test_lin_2004():
    """Section 3: two candidates with the same ROUGE-2, told apart by ROUGE-L (3/4 and 2/4)."""
    reference = "police killed the gunman"
    for output, longest in (("police kill the gunman", 3 / 4), ("the gunman kill police", 2 / 4)):
        assert score(Rouge("rougeL"), output, reference).value == pytest.approx(longest)
        assert score(Rouge("rouge2"), output, reference).value == pytest.approx(1 / 3)


def test_part_is_that_of_the_best_reference():
    references = ("a b c d e f g h", "a x")
    whole = score(Rouge("rouge1"), "a b c d", *references)
    assert (whole.parts["p"], whole.parts["r"]) == (1.0, 0.5)
    assert score(Rouge("rouge1", part="p"), "a b c d", *references).value == 1.0
    assert score(Rouge("rouge1", part="r"), "a b c d", *references).value == 0.5


def test_evidence_points_at_both_places():
    example = Example("İ the İİ Cats sat", references=("xyz", "my cats sat down"))
    spans = Rouge("rouge1").score([example])[0]["rouge"].spans
    joined = example.text("references")
    found = [(example.output[s.start : s.end], joined[s.other[1] : s.other[2]]) for s in spans]
    assert found == [("Cats", "cats"), ("sat", "sat")]
    (pair,) = Rouge("rouge2").score([example])[0]["rouge"].spans
    assert (example.output[pair.start : pair.end], joined[pair.other[1] : pair.other[2]]) == ("Cats sat", "cats sat")


def test_other_scripts():
    assert score(Rouge(), "мама мыла раму", "мама мыла раму").value == 0.0
    assert score(Rouge(tokenizer="words"), "мама мыла раму", "Мама мыла окно").value == pytest.approx(2 / 3)


def test_unknown_variant_is_refused():
    with pytest.raises(InputError, match="rougeL"):
        Rouge("rouge-1")
