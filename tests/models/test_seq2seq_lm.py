"""Likelihood under a sequence-to-sequence model equals the plain way: one pair at a time, labels with their frame."""

import os

import numpy as np
import pytest
from tiny_models import byte_pairs, torch, transformers

from quintet import load
from quintet.core.example import Example
from quintet.models.open import open_model
from quintet.models.roles import TokenLM

PAIRS = [("The cat sat on the mat.", "A cat sat."), ("Rain fell all day long.", "rain"), ("No", "A dog barked at it.")]


@pytest.fixture(scope="module")
def bart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bart")
    words = byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    narrow = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 60}
    torch.manual_seed(3)
    model = transformers.BartForConditionalGeneration(
        transformers.BartConfig(vocab_size=words.get_vocab_size(), **narrow, **heads)
    )
    model.save_pretrained(folder)
    words.save(str(folder / "tokenizer.json"))
    return folder


def test_equals_one_pair_at_a_time(bart):
    model = transformers.BartForConditionalGeneration.from_pretrained(bart).eval()
    words = transformers.PreTrainedTokenizerFast(tokenizer_file=str(bart / "tokenizer.json"))
    ours = open_model(f"dir:{bart}", "seq2seq-lm")
    assert isinstance(ours, TokenLM)
    for (source, target), found in zip(PAIRS, ours.log_probs(PAIRS), strict=True):
        with torch.no_grad():
            inputs, labels = (words(text, return_tensors="pt")["input_ids"] for text in (source, target))
            loss = model(input_ids=inputs, labels=labels).loss
        assert len(found) == labels.shape[1], "the special tokens are scored, too"
        assert -found.log_probs.mean() == pytest.approx(float(loss), abs=1e-4)
        assert next(target[a:b] for a, b in zip(found.starts, found.ends, strict=True)) == ""


def test_bartscore_is_the_mean_over_all_of_them(bart):
    example = Example(PAIRS[0][1], source=PAIRS[0][0])
    (row,) = load(f"bartscore:model=dir:{bart}").score([example])
    (found,) = open_model(f"dir:{bart}", "seq2seq-lm").log_probs(PAIRS[:1])
    assert row["likelihood"].value == pytest.approx(float(np.mean(found.log_probs)))


def test_the_golden_value_of_the_authors():
    """`This is interesting.` to `This is fun.` under bart-large-cnn: -2.510652780532837 in the README of BARTScore."""
    folder = os.environ.get("QUINTET_BART_LARGE_CNN")
    if not folder:
        pytest.skip("set QUINTET_BART_LARGE_CNN to the folder of facebook/bart-large-cnn")
    example = Example("This is fun.", source="This is interesting.")
    (row,) = load(f"bartscore:model=dir:{folder}").score([example])
    assert row["likelihood"].value == pytest.approx(-2.510652780532837, abs=1e-4)
