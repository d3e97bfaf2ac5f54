"""CTC's label construction, with the golden case of the facts: equal fillings are 0, others 1 on every word."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import InputError
from quintet_train.infill import ngram_infiller
from quintet_train.pseudo import ctc
from quintet_train.text import chunks, masks
from quintet_train.text.masks import Labelled, Template

GOLDEN = Template(("The", "<mask>", "sat", "on", "<mask>", "."), ("cat", "the mat"))


def test_labels_from_template_answers_and_fillings() -> None:
    made = masks.label_words(GOLDEN, ["Cat ", "a big red chair"])
    assert made.words == ("The", "Cat", "sat", "on", "a", "big", "red", "chair", ".")
    assert made.labels == (0, 0, 0, 0, 1, 1, 1, 1, 0)


def test_a_wrong_number_of_fillings_is_an_error() -> None:
    with pytest.raises(InputError, match="2 masks but 1 fillings"):
        masks.label_words(GOLDEN, ["cat"])


def test_fillings_are_read_back_without_regard_to_case() -> None:
    assert masks.read_fillings(GOLDEN, "the dog SAT on a chair .") == ("dog", "a chair")
    assert masks.read_fillings(GOLDEN, "the dog stood on a chair .") is None
    assert masks.read_fillings(GOLDEN, "the (dog) sat on [x] .") == ("(dog)", "[x]")


def test_targets_of_r() -> None:
    made = Labelled(("The", "cat", "sat", "twice"), (0, 0, 1, 1))
    assert masks.supported_share(made) == 0.5
    assert masks.supported_share(made, "sum", drop_stopwords=True) == 1.0, "the stop word does not count"
    assert masks.supported_share(Labelled(("the",), (0,)), "mean", drop_stopwords=True) is None


def test_marks_go_back_to_their_words() -> None:
    made = Labelled(("He", "said", '"', "Go", '"', "(", "now", ")", "."), (0, 0, 0, 1, 0, 0, 1, 0, 0))
    assert masks.attach_marks(made) == Labelled(("He", "said", '"Go"', "(now)."), (0, 0, 1, 1))


WORDS = ["the", "a", "cat", "dogs", "runs", "walked", "to", "in", "big", ",", ".", "of", "12"]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=15)


@given(words, st.integers(0, 10_000))
def test_masked_sentences_keep_the_rules_of_the_release(sentence: list[str], seed: int) -> None:
    template = masks.mask_phrases(sentence, Random(seed))
    if template is None:
        return
    assert masks.MASK in template.words
    assert len(template.words) > 1
    assert "<mask> <mask>" not in template.text
    assert template.words.count(masks.MASK) == len(template.answers)
    restored = masks.label_words(template, template.answers)
    assert list(restored.words) == sentence
    assert set(restored.labels) <= {0}


@given(words, st.integers(0, 10_000))
def test_constructed_labels_are_aligned_with_words(sentence: list[str], seed: int) -> None:
    fill = ngram_infiller([["a", "bird", "flew", "over", "seven", "houses", "."], sentence])
    made = ctc.construct(" ".join(sentence), fill, Random(seed))
    if made is not None:
        assert len(made.words) == len(made.labels) > 0
        assert all(made.words)
        closed = masks.attach_marks(made)
        assert len(closed.words) == len(closed.labels)
        assert "".join(closed.words) == "".join(made.words)


def test_a_plugged_in_parser_is_used() -> None:
    def whole_halves(tokens: list[str]) -> chunks.Phrase:
        half = len(tokens) // 2
        parts = (chunks.Phrase(0, half), chunks.Phrase(half, len(tokens)))
        return chunks.Phrase(0, len(tokens), parts, "S")

    found = {masks.mask_phrases(["one", "two", "three", "four"], Random(s), whole_halves) for s in range(40)}
    answers = {template.answers for template in found if template}
    assert answers <= {("one two",), ("three four",)}
    assert answers


def test_equal_seeds_give_equal_fillings() -> None:
    corpus = [chunks.split_words(text) for text in ("The cat sat on the mat.", "A dog ran in the park.")]
    runs = [ngram_infiller(corpus)(GOLDEN, Random(7)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert masks.read_fillings(GOLDEN, runs[0] or "") is not None
