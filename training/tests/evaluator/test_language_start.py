"""The bundled language model as a start: the numbers that it is shipped with come back, and say the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from quintet.errors import ModelError, QuintetError
from quintet.models import catalog, packed_weights
from quintet.models.open import open_model
from quintet_train.evaluator import language_graph, language_grid, starting
from quintet_train.evaluator.starting import LanguageStart
from quintet_train.export_judge_lm import together
from quintet_train.export_rounded import Packed

BUNDLED = "bundled:judge-lm"
CONTEXT = "The council of Otterton has opened a school. Its mayor, Helen Brand, said that it was needed.\n\nTL;DR:"
TEXT = " A new school has been opened in Otterton."


@pytest.fixture(scope="module")
def start() -> LanguageStart:
    return starting.open_language_model(BUNDLED, ())


@pytest.mark.parametrize("name", ["judge-lm", "judge-lm-heads"])
def test_an_exported_folder_gives_its_weights_back(trained, name: str) -> None:
    folder = trained(name).folder
    wanted = language_grid.expanded(load_file(folder.parent / starting.WEIGHTS))
    found, told = language_graph.weights_of(folder)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[key], value) for key, value in wanted.items())
    assert told == pytest.approx({"num_attention_heads": 2, "rope_theta": 1e5, "rms_norm_eps": 1e-5})


def test_the_bundled_model_has_the_same_codes_again(start: LanguageStart) -> None:
    """Of the first layer and the last, and of the word table: byte for byte."""
    shape, weights = start.network.shape, start.network.state_dict()
    chosen = ("emb.", "blocks.0.", f"blocks.{shape.layers - 1}.")
    stored = language_grid.compressed({name: value for name, value in weights.items() if name.startswith(chosen)})
    grid = together({name: value.numpy() for name, value in stored.items()})
    kept = load_file(catalog.entry("judge-lm").folder / packed_weights.FILE)
    seen = 0
    for name in kept:
        whole, _, part = name.rpartition(".")
        if not whole.startswith(chosen):
            continue
        if part == "rows":
            assert torch.equal(kept[name], stored[f"{whole}|q"])
        else:
            parts = [grid[whole.replace("qkv", one)] for one in ("qkv" if "qkv" in whole else ("",))]
            assert all(isinstance(one, Packed) for one in parts)
            if part == "codes":
                steps = np.concatenate([one.steps() for one in parts]).astype(np.uint8).transpose(1, 2, 0)
                assert np.array_equal(kept[name].numpy(), steps[:, :16] | (steps[:, 16:] << 4))
            else:
                ends = np.concatenate([getattr(one, part) for one in parts])
                assert np.array_equal(kept[name].numpy(), ends.T[:, None])
        seen += 1
    assert seen == 1 + 2 * 5 * 3


def test_the_bundled_model_says_what_the_product_says(start: LanguageStart) -> None:
    before, own = (one.ids for one in start.tokenizer.encode_batch([CONTEXT, TEXT], add_special_tokens=False))
    ids = torch.tensor([[start.tokenizer.token_to_id(start.first), *before, *own]])
    with torch.no_grad():
        logp = torch.log_softmax(start.network.logits(start.network(ids))[0], -1)
    found = np.array([float(logp[len(before) + place, token]) for place, token in enumerate(own)])
    wanted = open_model(BUNDLED, "causal-lm").log_probs([(CONTEXT, TEXT)])[0].log_probs
    # As between two kinds of processor: a last bit can flip a rounding, and thirty layers make it larger.
    assert found.mean() == pytest.approx(float(wanted.mean()), abs=0.12)
    assert np.abs(found - wanted).max() < 0.6
    assert start.heads == {} or "heads.weight" in start.heads


def test_what_is_no_language_model_is_refused(trained, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no language model"):
        starting.open_language_model("bundled:gte-small", ())
    with pytest.raises(QuintetError):
        starting.open_language_model("bundled:judge-ml", ())
    folder = shutil.copytree(trained("judge-lm").folder, tmp_path / "other")
    shutil.copy(catalog.entry("judge-lm").folder / "model.onnx", folder / "model.onnx")
    with pytest.raises(ModelError, match="do not fit"):
        language_graph.weights_of(folder)
