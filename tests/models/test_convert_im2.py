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
    (found,) = model.logits([PAIR])
    assert found.values == pytest.approx(vector.numpy(), abs=1e-3)
    assert np.isfinite(found.values).all()


def test_a_vocabulary_head_and_a_lack_of_tensors_are_named(tmp_path):
    base, state = checkpoint(tmp_path, [("linear", 150)])
    with pytest.raises(ModelError, match="D-MLM's own vocabulary head"):
        convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
    del state["linear.weight"], state["linear.bias"]
    state["next_sent.weight"] = torch.zeros(2, NARROW["hidden_size"])
    torch.save(state, tmp_path / "last.ckpt")
    with pytest.raises(ModelError, match=r"lacks head\.bias"):
        convert(str(tmp_path / "last.ckpt"), tmp_path / "out", base)
