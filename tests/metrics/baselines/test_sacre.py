"""BLEU, chrF and TER against sacrebleu's own functions, and against the example of the BLEU paper."""

import pytest
import sacrebleu

from quintet.core.example import Example
from quintet.metrics.baselines.sacre import Bleu, Chrf, Ter


def values(metric, examples):
    (dimension,) = metric.dimensions
    return [row[dimension.name].value for row in metric.score(examples)]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", ["exp", "floor", "none"])
def test_bleu_is_sacrebleu(pairs, order, smoothing):
    # A corpus of one sentence is the sentence, as long as every order has an n-gram.
    some = [e for e in pairs if len(e.output.split()) > 5][:40]
    corpus = sacrebleu.metrics.BLEU(max_ngram_order=order, smooth_method=smoothing, effective_order=True)
    expected = [corpus.corpus_score([e.output], [[r] for r in e.references]).score for e in some]
    assert values(Bleu(order=order, smoothing=smoothing), some) == pytest.approx(expected)


def test_bleu_of_the_paper():
    """Papineni et al. 2002, section 2.1: modified unigram precision 2/7."""
    example = Example("the the the the the the the", references=("The cat is on the mat", "There is a cat on the mat"))
    (row,) = Bleu(order=1, lowercase=True).score([example])
    assert row["bleu"].parts["precision-1"] == pytest.approx(100 * 2 / 7)


def test_chrf_and_ter_are_sacrebleu(pairs):
    some = pairs[:60]
    assert values(Chrf(), some) == pytest.approx([sacrebleu.sentence_chrf(e.output, e.references).score for e in some])
    expected = [sacrebleu.sentence_chrf(e.output, e.references, word_order=2).score for e in some]
    assert values(Chrf(word_order=2), some) == pytest.approx(expected)
    assert values(Ter(), some) == pytest.approx([sacrebleu.sentence_ter(e.output, e.references).score for e in some])


def test_ter_counts_a_shift_as_one_edit():
    """Snover et al. 2006: moving a phrase costs one edit however long it is."""
    example = Example("on the mat sat the cat", references=("the cat sat on the mat",))
    assert values(Ter(), [example])[0] == pytest.approx(100 * 2 / 6)
    assert values(Ter(), [Example("  ", references=("a b c",))]) == [100.0]
