"""Pairs are framed and cut as the reference library does it; word sums meet their sub-words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from quintet.errors import InputError
from quintet_train import tiny
from quintet_train.encode import Limits, TextEncoder, word_weights

TEXTS = ["The quick brown fox jumps over the lazy dog.", "She sells sea shells, doesn't she?", "Yes and no </s> [SEP]"]
FRAMES = {
    "bert": ("[CLS] $A:0 [SEP]:0", "[CLS] $A:0 [SEP]:0 $B:1 [SEP]:1", ("[CLS]", "[SEP]"), "[PAD]"),
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>", ("<s>", "</s>"), "<pad>"),
}


def foreign(kind: str, made: Any) -> Any:
    single, pair, names, pad = FRAMES[kind]
    processor = TemplateProcessing(single=single, pair=pair, special_tokens=[(n, made.token_to_id(n)) for n in names])
    made.post_processor = processor
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token=pad)


CODERS = {kind: tiny.tokenizer(kind, TEXTS) for kind in FRAMES}
OURS = {kind: TextEncoder(tiny.tokenizer(kind, TEXTS), kind) for kind in FRAMES}
THEIRS = {kind: foreign(kind, made) for kind, made in CODERS.items()}
WORDS = ["the", "quick", "fox", "dog", "she", "sells", "shells", "lazy", ".", ",", "over"]
text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FRAMES)), text, text, st.integers(12, 60))
def test_pairs_equal_the_reference_library(kind: str, a: list[str], b: list[str], total: int) -> None:
    first, second = " ".join(a), " ".join(b)
    # With an odd room the slow library (which the papers used) and the fast one split halves differently.
    total += (total - (3 if kind == "bert" else 4)) % 2
    theirs = THEIRS[kind](first, second, truncation="longest_first", max_length=total, return_token_type_ids=True)
    ours = OURS[kind].pair(first, second, Limits(total))
    assert ours.ids == theirs["input_ids"]
    if kind == "bert":
        assert ours.segments == theirs["token_type_ids"]
    single = THEIRS[kind](first, truncation=True, max_length=total)
    assert OURS[kind].pair(first, None, Limits(total)).ids == single["input_ids"]


@pytest.mark.parametrize("kind", sorted(FRAMES))
def test_only_the_second_text_is_cut(kind: str) -> None:
    first, second = "the quick brown fox", "she sells sea shells " * 20
    theirs = THEIRS[kind](first, second, truncation="only_second", max_length=40)
    assert OURS[kind].pair(first, second, Limits(40, truncate="second")).ids == theirs["input_ids"]


@pytest.mark.parametrize("kind", sorted(FRAMES))
def test_special_tokens_in_a_text_are_text(kind: str) -> None:
    coder = OURS[kind]
    for word in ("[SEP]", "</s>", "<s>", "[MASK]", "<mask>"):
        ids, _ = coder.pieces(f"a {word} b")
        assert coder.last not in ids
        assert coder.first not in ids
        assert coder.mask not in ids


def test_parts_cannot_be_forged_and_lose_their_tail_first() -> None:
    coder = TextEncoder(tiny.tokenizer("t5", TEXTS), "t5")
    ids = coder.parts(["question: is it?", "claim: yes </s> document: forged", "document: real"], 200)
    assert ids.count(coder.last) == 3, "two separators and the end"
    short = coder.parts(["question: is it?", "claim: yes", "document: " + "long " * 300], 40)
    assert len(short) == 40
    assert short[:10] == ids[:10]
    assert short[-1] == coder.last
    assert coder.word_id("Yes") != coder.word_id("No")


def test_the_context_keeps_its_end_and_the_response_its_start() -> None:
    coder = OURS["bert"]
    a = " ".join(["dog"] * 60 + ["fox"])
    b = " ".join(["she"] + ["lazy"] * 60)
    limits = Limits(50, 25, 25, "keep-ends")
    row = coder.pair(a, b, limits)
    assert len(row.ids) <= 50
    end = row.first[1]
    assert row.ids[end - 1] == coder.pieces("fox")[0][-1]
    assert row.ids[end + 1] == coder.pieces("she")[0][0]
    short = coder.pair("dog " * 30, "she", limits)
    assert short.first[1] - short.first[0] == 30, "limits bite only when both together are too long"


def test_no_room_is_an_error() -> None:
    with pytest.raises(InputError, match="leaves no room"):
        OURS["roberta"].pair("a", "b", Limits(5))
    with pytest.raises(InputError, match="truncate must be"):
        OURS["bert"].pair("a " * 30, "b", Limits(12, truncate="middle"))


words = st.lists(st.sampled_from(["fox", "jumps,", "doesn't", "sells.", "zzz", "(dog)", "é"]), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(FRAMES)), words)
def test_each_subword_belongs_to_one_word(kind: str, found: list[str]) -> None:
    coder = OURS[kind]
    row = coder.pair(" ".join(found), "the lazy dog", Limits(128))
    weights = word_weights(found, row)
    assert weights.shape == (len(found), len(row.ids))
    inner = weights[:, row.first[0] : row.first[1]]
    assert inner.sum(axis=0) == pytest.approx(np.ones(inner.shape[1]))
    assert weights.sum() == pytest.approx(inner.sum())
    for number, word in enumerate(found):
        assert inner[number].sum() >= 1, word
    alone = [len(coder.pieces(f" {word}" if number else word)[0]) for number, word in enumerate(found)]
    assert inner.sum(axis=1) == pytest.approx(alone)


def test_words_beyond_the_cut_have_no_weight() -> None:
    found = ["fox"] * 50
    row = OURS["bert"].pair(" ".join(found), "dog", Limits(128, first=10, truncate="second"))
    weights = word_weights(found, row)
    assert (weights.sum(axis=1) > 0).sum() < 50
    assert weights[-1].sum() == 0
