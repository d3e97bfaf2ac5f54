"""The packed T5 against transformers: gated and plain, tied and untied, any mixture of lengths."""

import numpy as np
import pytest
from tiny_models import torch, transformers

from quintet.models.torch_t5 import FirstStep, fits

ANSWERS = [5, 17]


def tiny(gated: bool, seed: int = 0):
    torch.manual_seed(seed)
    config = transformers.T5Config(
        vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=not gated,
        relative_attention_max_distance=20, relative_attention_num_buckets=8,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "layer_norm" in name:  # all ones after initialisation, which would hide a scale folded wrongly
                parameter.uniform_(0.5, 1.5)
    return model


def plain(model, ids):
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(ids)[None], decoder_input_ids=torch.tensor([[0]])).logits
    return logits[0, 0, ANSWERS]


@pytest.mark.parametrize("gated", [True, False])
def test_equals_transformers_for_every_length(gated):
    model = tiny(gated)
    assert fits(model)
    chance = np.random.default_rng(0)
    inputs = [chance.integers(2, 60, size) for size in (1, 2, 70, 7, 70, 33)]
    expected = torch.stack([plain(model, ids) for ids in inputs])
    step = FirstStep(model, ANSWERS)
    torch.testing.assert_close(step.logits(inputs), expected, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(step.logits(inputs[:2]), expected[:2], atol=2e-5, rtol=1e-5)


def test_equals_transformers_without_fused_products(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    for gated in (True, False):
        model = tiny(gated)
        ids = np.arange(2, 40)
        torch.testing.assert_close(FirstStep(model, ANSWERS).logits([ids])[0], plain(model, ids), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_half_precision_stays_near(monkeypatch, fused):
    if not fused:
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    for gated in (True, False):
        model = tiny(gated)
        ids = [np.arange(2, 40), np.arange(10, 17)]
        expected = torch.stack([plain(model, one) for one in ids])
        found = FirstStep(model, ANSWERS, kind=torch.bfloat16).logits(ids)
        assert found.dtype == torch.float32
        assert 0 < (found - expected).abs().max() < 0.05 * expected.abs().max()


def test_released_weights_are_held_once():
    model = tiny(True)
    expected = plain(model, np.arange(2, 40))
    step = FirstStep(model, ANSWERS, release=True)
    assert sum(p.numel() for p in model.encoder.block[1].parameters()) == 0
    torch.testing.assert_close(step.logits([np.arange(2, 40)])[0], expected, atol=2e-5, rtol=1e-5)
    # Longer than any before: the table of distances is made anew.
    assert step.logits([np.arange(2, 60)]).isfinite().all()


def test_other_models_and_precisions_are_left_to_transformers():
    assert not fits(tiny(True).bfloat16())
