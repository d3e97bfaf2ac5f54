"""Rules that spoil texts: invariants for any words, goldens for the papers' numbers."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import InputError
from quintet_train.text import chunks, claims, corrupt

word = st.text(alphabet="abcdeXY'.,1é", min_size=1, max_size=6)
sentence = st.lists(word, min_size=1, max_size=20)
seeds = st.integers(0, 2**32)


@given(sentence, seeds, st.sampled_from([2.0, 3.0, 5.0]))
def test_span_noise_is_never_empty_and_never_the_input(words: list[str], seed: int, mean: float) -> None:
    noisy = corrupt.span_noise(words, Random(seed), mean)
    assert noisy
    assert noisy != words
    assert set(noisy) <= set(words)


def test_released_noise_may_leave_a_text_unchanged() -> None:
    words = ["a", "b", "c"]
    outcomes = [corrupt.span_noise(words, Random(seed), 0.5, "released") for seed in range(200)]
    assert words in outcomes, "a Poisson length of 0 changes nothing"
    assert any(outcome != words for outcome in outcomes)


def test_noise_of_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="at least one word"):
        corrupt.span_noise([], Random(0))


def test_poisson_has_its_mean_and_variance() -> None:
    rng = Random(1)
    draws = [corrupt.poisson(rng, 5) for _ in range(20_000)]
    mean = sum(draws) / len(draws)
    assert mean == pytest.approx(5, abs=0.06)
    assert sum((d - mean) ** 2 for d in draws) / len(draws) == pytest.approx(5, abs=0.2)


@given(sentence, seeds)
def test_vup_negatives_differ_and_are_not_empty(words: list[str], seed: int) -> None:
    bad = corrupt.invalid_utterance(words, Random(seed))
    if len(words) < 3:
        assert bad is None
    else:
        assert bad
        assert bad != words


@given(sentence, seeds, st.sampled_from(["paper", "released"]))
def test_vup_positives_are_never_empty(words: list[str], seed: int, mode: corrupt.Mode) -> None:
    assert corrupt.valid_utterance(words, Random(seed), mode)


@given(st.lists(word, min_size=2, max_size=20), seeds)
def test_dropping_drops_one_and_keeps_one(words: list[str], seed: int) -> None:
    kept = corrupt.drop_words(words, Random(seed))
    assert kept is not None
    assert 1 <= len(kept) < len(words)


@given(sentence, seeds)
def test_repetition_only_adds(words: list[str], seed: int) -> None:
    longer = corrupt.repeat_words(words, Random(seed))
    assert len(longer) > len(words)
    assert longer[0] == words[0]


def test_vup_shares_are_those_of_usl_h() -> None:
    words = [f"w{i}" for i in range(12)]
    kinds: Counter[str] = Counter()
    for seed in range(4000):
        bad = corrupt.invalid_utterance(words, Random(seed))
        assert bad is not None
        kinds["drop" if len(bad) < 12 else "repeat" if len(bad) > 12 else "shuffle"] += 1
    assert kinds["shuffle"] / 4000 == pytest.approx(0.3, abs=0.03)
    assert kinds["drop"] / 4000 == pytest.approx(0.3, abs=0.03)
    assert kinds["repeat"] / 4000 == pytest.approx(0.4, abs=0.03)


def test_the_slip_of_the_letters_is_kept_in_released_mode() -> None:
    words = ["good", "day", "."]
    released = {tuple(corrupt.valid_utterance(words, Random(s), "released")) for s in range(100)}
    paper = {tuple(corrupt.valid_utterance(words, Random(s), "paper")) for s in range(100)}
    assert tuple("goodday.") in released
    assert tuple("goodday.") not in paper
    assert ("good", "day") in paper


def test_small_words_go_in_a_tenth_of_positives() -> None:
    words = ["the", "dog", "ate", "a", "cake"]
    outcomes = Counter(" ".join(corrupt.valid_utterance(words, Random(s))) for s in range(3000))
    assert outcomes["the dog ate a cake"] / 3000 == pytest.approx(0.8, abs=0.04), "70 % as is, 10 % had no final mark"
    assert outcomes["dog ate cake"] > 0


@given(st.lists(word, min_size=1, max_size=6), st.lists(word, min_size=0, max_size=6), seeds, st.integers(1, 4))
def test_replaced_sentences_come_from_the_donor(own: list[str], donor: list[str], seed: int, count: int) -> None:
    out = corrupt.replace_sentences(own, donor, Random(seed), count)
    fresh = {text for text in donor if text not in own}
    if out is None:
        assert not fresh
    else:
        changed = [new for old, new in zip(own, out, strict=True) if old != new]
        assert 1 <= len(changed) <= count
        assert set(changed) <= fresh


def test_numbers_keep_their_form() -> None:
    for seed in range(50):
        out = claims.edit_number("In 1998 about 3,400 people paid 2.50 each to see three lions.", Random(seed))
        assert out is not None
        assert out.replace(" ", "") != "In1998about3,400peoplepaid2.50eachtoseethreelions."
        assert len(out.split()) == 12


def test_the_example_of_the_paper_is_negated() -> None:
    text = "The request was rejected by the court last year."
    outcomes = {claims.swap_antonym(text, Random(seed)) for seed in range(30)}
    assert "The request was not rejected by the court last year." in outcomes
    assert "The request was accepted by the court last year." in outcomes


def test_names_come_from_the_document() -> None:
    assert claims.names("Yesterday he met Anna Berg in Oslo. She left.") == ["Anna Berg", "Oslo"]
    out = claims.swap_name("He met Anna Berg.", ["Peter Falk", "Anna Berg"], Random(0))
    assert out == "He met Peter Falk."
    assert claims.swap_name("He met nobody.", ["Peter Falk"], Random(0)) is None


def test_pruning_takes_a_phrase_away() -> None:
    out = {claims.prune("The old bridge fell into the river in March.", Random(seed)) for seed in range(20)}
    assert "The old bridge fell into the river." in out
    assert None not in out


@given(st.text(max_size=60), st.text(max_size=60), seeds)
def test_a_false_claim_is_never_the_claim(claim: str, document: str, seed: int) -> None:
    edit = claims.falsify(claim, document, Random(seed))
    if edit is not None:
        assert edit.text.strip()
        assert edit.text.split() != claim.split()


def test_antonyms_from_a_file(tmp_path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("glad\tsorry\n", encoding="utf-8")
    assert claims.swap_antonym("Glad people.", Random(0), claims.read_antonyms(path)) == "Sorry people."
    path.write_text("glad sorry\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"pairs.tsv:1: expected two words"):
        claims.read_antonyms(path)


@given(sentence)
def test_the_tree_covers_every_word_once(words: list[str]) -> None:
    def leaves(node: chunks.Phrase) -> list[int]:
        if not node.children:
            return list(range(node.start, node.end))
        assert node.start == node.children[0].start
        assert node.end == node.children[-1].end
        return [place for child in node.children for place in leaves(child)]

    assert leaves(chunks.parse(words)) == list(range(len(words)))
