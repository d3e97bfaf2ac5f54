"""Checkpoints of IM2 by their tensor names: `bert.*`, `mlp_hidden_0..2`, `mlp_out`, `next_sent`, `linear`."""

import numpy as np
import pytest
from tiny_models import NARROW, build, torch, transformers

from quintet.errors import ModelError
from quintet.models.convert import convert
from quintet.models.open import open_model
from quintet.models.roles import WHOLE

PAIR = ("so how are you ?", "the cat sat on the mat")


def checkpoint(tmp_path, layers, kind="bert", family="BertModel"):
    base = build(tmp_path / "base", kind, family)
    torch.manual_seed(1)
    plain = transformers.AutoModel.from_pretrained(base).state_dict()
    state = {f"{kind}.{name}": value for name, value in plain.items()}
    wide = NARROW["hidden_size"]
    for name, size in layers:
        state[f"{name}.weight"], state[f"{name}.bias"] = torch.randn(size, wide), torch.randn(size)
        wide = size
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "last.ckpt")
    return base, state


FIVE = [("mlp_hidden_0", 16), ("mlp_hidden_1", 8), ("mlp_hidden_2", 6), ("mlp_out", 5)]


@pytest.mark.parametrize("layers", [FIVE, [("next_sent", 2)], [("linear", 2)]])
def test_the_converted_folder_answers_as_the_tensors_say(tmp_path, layers):
    base, state = checkpoint(tmp_path, layers)
    done = convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
    assert done.architecture == "Bert with a pooled head"
    model = open_model(f"dir:{tmp_path / 'out'}", "pair-classifier")
    framed = model._framed(PAIR, WHOLE)
    encoder = transformers.AutoModel.from_pretrained(base).eval()
    given = {"input_ids": torch.tensor(framed.ids)[None]}
    if len(layers) == 1:  # the five classes see no segment numbers
        given["token_type_ids"] = torch.tensor(framed.types)[None]
    with torch.no_grad():
        vector = encoder(**given).last_hidden_state.max(dim=1).values[0]
        for name, _ in layers:
            vector = state[f"{name}.weight"] @ vector + state[f"{name}.bias"]
    (found,) = model.score([PAIR])
    assert found.values == pytest.approx(vector.numpy(), abs=1e-3)
    assert np.isfinite(found.values).all()


def test_the_vocabulary_layer_of_d_mlm_answers_as_its_tensors_say(tmp_path):
    """One linear layer upon BERT, without the transformation that transformers puts before it."""
    base, state = checkpoint(tmp_path, [("linear", 1)])
    words = len(state["bert.embeddings.word_embeddings.weight"])
    state["linear.weight"], state["linear.bias"] = torch.randn(words, NARROW["hidden_size"]), torch.randn(words)
    torch.save(state, tmp_path / "last.ckpt")
    done = convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
    assert done.architecture == "Bert with a plain vocabulary layer"
    assert not done.dropped
    (found,) = open_model(f"dir:{tmp_path / 'out'}", "masked-lm").log_probs([(None, PAIR[1])])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    encoder = transformers.AutoModel.from_pretrained(base).eval()
    ids = tokenizer(PAIR[1], return_tensors="pt")["input_ids"]
    expected = []
    for place in range(1, ids.shape[1] - 1):
        masked = ids.clone()
        masked[0, place] = tokenizer.mask_token_id
        with torch.no_grad():
            vector = encoder(input_ids=masked).last_hidden_state[0, place]
            logits = state["linear.weight"] @ vector + state["linear.bias"]
        expected.append(float(torch.log_softmax(logits, -1)[ids[0, place]]))
    assert found.log_probs == pytest.approx(expected, abs=1e-3)


def test_a_lack_of_tensors_is_named(tmp_path):
    base, state = checkpoint(tmp_path, [("linear", 140)])
    with pytest.raises(ModelError, match="does not fit the vocabulary"):
        convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
    del state["linear.weight"], state["linear.bias"]
    state["next_sent.weight"] = torch.zeros(2, NARROW["hidden_size"])
    torch.save(state, tmp_path / "last.ckpt")
    with pytest.raises(ModelError, match=r"lacks head\.bias"):
        convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
