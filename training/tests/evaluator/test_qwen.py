"""Teachers of Qwen2's kind: transformers' numbers, GGUF files, and a vocabulary cut to the texts that are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from quintet.errors import InputError, ModelError
from quintet_train import tiny
from quintet_train.evaluator import fewer_words, starting
from quintet_train.evaluator import gguf as reader
from quintet_train.evaluator.language_network import LanguageModel, Shape
from quintet_train.evaluator.plain_decoding import Decoder
from quintet_train.evaluator.shipping import ship_language_model

TEXTS = ["the old tower and the garden", "the tower is old, and the garden is not", "a garden, a tower, an old man"]


def small_qwen() -> torch.nn.Module:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.Qwen2Config(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, rms_norm_eps=1e-6, tie_word_embeddings=True, max_position_embeddings=64,
    )  # fmt: skip
    model = transformers.Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                value.normal_(0, 0.3)  # they begin as nothing, and would hide that they are left out
    return model


def test_a_qwen_says_what_it_says_in_transformers(tmp_path: Path) -> None:
    model = small_qwen()
    stored = {name: value.clone() for name, value in model.state_dict().items() if name != "lm_head.weight"}
    save_file(stored, tmp_path / "model.safetensors")
    told = {"num_attention_heads": 4, "rope_theta": 10_000.0, "rms_norm_eps": 1e-6}
    (tmp_path / "config.json").write_text(json.dumps(told), encoding="utf-8")
    tiny.tokenizer("gpt2", ["a b c"]).save(str(tmp_path / "tokenizer.json"))
    network = starting.open_language_model(f"dir:{tmp_path}", ()).network.unrounded().eval()
    assert network.shape == Shape(60, 32, 2, 4, 2, 48, 10_000.0, 1e-6, True, True)
    ids = torch.randint(0, 60, (3, 11), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = model(ids).logits
        assert torch.allclose(network.logits(network(ids)), wanted, atol=1e-4)
        decoder = Decoder(network, torch.device("cpu"))
        begun = decoder.begun(ids[:, :7].tolist(), 4)
        state = begun.state
        for step in range(4):
            assert torch.allclose(decoder.logits(state), wanted[:, 6 + step], atol=1e-4)
            state = decoder.states(ids[:, 7 + step, None], (begun.lengths + step)[:, None], begun.read)[:, 0]


def test_a_network_with_biases_is_not_shipped(tmp_path: Path) -> None:
    start = starting.LanguageStart(LanguageModel(Shape(50, 32, 2, 4, 2, 64, biased=True)), None, "<s>")
    with pytest.raises(InputError, match="with biases, is not shipped"):
        ship_language_model(start, tmp_path, None)  # type: ignore[arg-type]


def test_a_qwen_in_gguf_keeps_its_rows_in_order_and_its_biases() -> None:
    """Unlike a Llama, whose rows of queries and keys lie as pairs."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((8, 8)).astype(np.float32)
    tensors = {"token_embd.weight": rows, "blk.0.attn_q.weight": rows, "blk.0.attn_q.bias": rows[0]}
    sizes = {"attention.head_count": 2, "attention.head_count_kv": 1, "attention.layer_norm_rms_epsilon": 1e-6}

    def found(kind: str) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        facts = {"general.architecture": kind, **{f"{kind}.{name}": value for name, value in sizes.items()}}
        facts[f"{kind}.rope.freq_base"] = 1e6
        return reader.language_weights(reader.Gguf(facts, tensors), Path("x.gguf"))

    weights, told = found("qwen2")
    assert told == {"num_attention_heads": 2.0, "rope_theta": 1e6, "rms_norm_eps": 1e-6}
    assert np.array_equal(weights["blocks.0.q.weight"], rows)
    assert np.array_equal(weights["blocks.0.q.bias"], rows[0])
    assert np.array_equal(found("llama")[0]["blocks.0.q.weight"], rows[[0, 2, 1, 3, 4, 6, 5, 7]])
    with pytest.raises(ModelError, match="llama, qwen2"):
        reader.language_weights(reader.Gguf({"general.architecture": "gemma"}, {}), Path("x.gguf"))


def large_start(words: Tokenizer, tied: bool) -> starting.LanguageStart:
    torch.manual_seed(0)
    network = LanguageModel(Shape(words.get_vocab_size(), 16, 1, 2, 1, 24, tied=tied)).unrounded()
    return starting.LanguageStart(network, words, "<|endoftext|>")


@pytest.mark.parametrize("tied", [True, False])
def test_a_smaller_vocabulary_cuts_its_texts_as_before(tied: bool) -> None:
    """So the network says the same of them; of other texts the bytes are left."""
    words = tiny.tokenizer("gpt2", [*TEXTS, *["Zebras graze quietly near quiet Quixville quarries"] * 5])
    start = large_start(words, tied)
    before = [words.encode(f" {text}", add_special_tokens=False) for text in TEXTS]
    with torch.no_grad():
        said = [start.network.logits(start.network(torch.tensor([one.ids]))) for one in before]
    most = words.get_vocab_size() - 1
    cut = fewer_words.with_fewer_words(start, TEXTS, most)
    size = cut.network.shape.vocabulary
    assert size == cut.tokenizer.get_vocab_size() == len(cut.network.emb.weight) <= most
    assert cut.tokenizer.token_to_id("<|endoftext|>") is not None
    for text, one, wanted in zip(TEXTS, before, said, strict=True):
        again = cut.tokenizer.encode(f" {text}", add_special_tokens=False)
        assert again.tokens == one.tokens
        kept = [words.token_to_id(cut.tokenizer.id_to_token(number)) for number in range(size)]
        with torch.no_grad():
            found = cut.network.logits(cut.network(torch.tensor([again.ids])))
        assert torch.allclose(found, wanted[..., kept], atol=1e-6)
    strange = "Quixville zebras"
    pieces = cut.tokenizer.encode(strange, add_special_tokens=False).ids
    assert len(pieces) > len(words.encode(strange, add_special_tokens=False).ids)
    assert cut.tokenizer.decode(pieces).strip() == strange


def test_what_is_wanted_most_is_kept_with_what_it_is_made_of() -> None:
    words = tiny.tokenizer("gpt2", TEXTS)
    told = json.loads(words.to_str())
    single = sum(len(name) == 1 for name in told["model"]["vocab"])
    garden = words.token_to_id("\u0120garden")
    kept = fewer_words._kept(told, [garden], single + 20)
    names = {words.id_to_token(number) for number in kept}
    parts = {left + right: (left, right) for left, right in fewer_words._merges(told)}
    assert "\u0120garden" in names
    assert all(piece in names for name in names for piece in parts.get(name, ()))
    assert "\u0120garden" not in {words.id_to_token(n) for n in fewer_words._kept(told, [garden], single + 2)}


def test_a_small_vocabulary_stays_and_another_kind_is_refused() -> None:
    start = large_start(tiny.tokenizer("gpt2", TEXTS), True)
    assert fewer_words.with_fewer_words(start, TEXTS) is start
    other = Tokenizer(models.WordLevel({"a": 0, "<|endoftext|>": 1}, unk_token="a"))
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    large = replace(start, tokenizer=other, network=SimpleNamespace(shape=SimpleNamespace(vocabulary=10)))
    with pytest.raises(ModelError, match="only if it is BPE's"):
        fewer_words.with_fewer_words(large, TEXTS, 5)


def test_a_judge_keeps_the_first_layers() -> None:
    torch.manual_seed(0)
    network = LanguageModel(Shape(50, 32, 3, 4, 2, 48)).unrounded().eval()
    ids, seen = torch.randint(0, 50, (2, 9)), []
    network.blocks[1].register_forward_hook(lambda _, __, out: seen.append(out))
    with torch.no_grad():
        network(ids)
        network.shorten(2)
        assert torch.equal(network(ids), network.norm(seen[0]))
    assert network.shape.layers == len(network.blocks) == 2
    for layers in (0, 3):
        with pytest.raises(InputError, match=f"layers is {layers}, but the start has 2"):
            network.shorten(layers)
