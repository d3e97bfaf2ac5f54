"""The torch embedder equals Hugging Face's own hidden states, and texts do not change one another."""

import numpy as np
import pytest
from tiny_models import POSITIONS, build, hugging_face, torch

from quintet.errors import ModelError
from quintet.models.open import identity, open_model
from quintet.models.roles import Embedder

TEXTS = ["The cat sat.", "", "A dog barked at the old house while the rain fell.", "unbelievable", "Yes yes yes yes"]
FAMILIES = {"bert": "BertModel", "roberta": "RobertaModel", "albert": "AlbertModel"}


@pytest.fixture(scope="module", params=list(FAMILIES))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def folder(kind, tmp_path_factory):
    return build(tmp_path_factory.mktemp(kind), kind, FAMILIES[kind])


def test_equals_hugging_face_one_text_at_a_time(kind, folder):
    ours = open_model(f"dir:{folder}")
    assert isinstance(ours, Embedder)
    assert ours.identity == identity(f"dir:{folder}")
    assert (ours.layers, ours.width, ours.max_tokens) == (3, 32, POSITIONS)
    model, tokenizer = hugging_face(folder, FAMILIES[kind])
    for text in TEXTS:
        # CTC-E and BERTScore give RoBERTa a space in front, so that a first word is the same sub-word as elsewhere.
        plain = f" {text}" if kind == "roberta" and text else text
        with torch.no_grad():
            states = model(**tokenizer(plain, return_tensors="pt"), output_hidden_states=True).hidden_states
        states = (
            model.get_input_embeddings()(tokenizer(plain, return_tensors="pt")["input_ids"]).detach(),
            *states[1:],
        )
        for layer in range(4):
            (found,) = ours.embed([text], layer)
            assert found.vectors.shape == states[layer][0].shape
            assert np.abs(found.vectors - states[layer][0].numpy()).max() < 1e-5


def test_batch_and_order_do_not_matter(folder):
    encoder = open_model(f"dir:{folder}").encoder
    together = encoder.embed_layers(TEXTS, (1, 3), "window")
    backwards = encoder.embed_layers(TEXTS[::-1], (1, 3), "window")[::-1]
    for text, one, two in zip(TEXTS, together, backwards, strict=True):
        (alone,) = encoder.embed_layers([text], (1, 3), "window")
        for layer in (1, 3):
            assert np.abs(one[layer].vectors - alone[layer].vectors).max() < 1e-5
            assert np.abs(two[layer].vectors - alone[layer].vectors).max() < 1e-5


def test_offsets_are_true(folder):
    text = "The cat sat  on\nthe mat."
    (found,) = open_model(f"dir:{folder}").embed([text], 0)
    seen = "".join(
        text[i] for i in sorted({i for a, b in zip(found.starts, found.ends, strict=True) for i in range(a, b)})
    )
    assert "".join(seen.split()) == "".join(text.split())
    assert found.starts[1] == 0
    assert text.startswith(found.token(1))
    assert found.ends[-2] == len(text)


def test_long_text(folder):
    model = open_model(f"dir:{folder}")
    text = "The cat sat on the mat and the dog looked. " * 8
    (whole,) = model.embed([text], 2)
    (cut,) = model.embed([text], 2, "cut")
    assert len(cut) == POSITIONS
    assert cut.cut == len(whole) - POSITIONS
    assert np.array_equal(cut.starts[:-1], whole.starts[: POSITIONS - 1])
    assert np.abs(cut.vectors[:20] - whole.vectors[:20]).max() < 1e-5
    assert np.isfinite(whole.vectors).all()


@pytest.mark.parametrize("text", ["a [SEP] b", "<s> x </s>", "[CLS][MASK]", "</s>", "<pad> <mask> <unk>"])
def test_special_tokens_in_a_text_stay_text(folder, text):
    subwords = open_model(f"dir:{folder}").encoder._loaded.subwords
    framed = {subwords.frame[0], subwords.frame[1]}
    pieces = subwords.split(text)
    assert not framed & set(pieces.ids.tolist())
    assert len(pieces) >= 3


def test_odd_text(folder):
    model = open_model(f"dir:{folder}")
    for text in ["\ud800", "a\x00b", "😀", "مرحبا", " ", "\n\n"]:
        (found,) = model.embed([text], 3)
        assert np.isfinite(found.vectors).all()
        assert found.ends.max() <= len(text)


def test_wrong_or_incomplete_checkpoints_are_named(folder, tmp_path):
    with pytest.raises(ModelError, match=r"lacks \S+ .*tensors missing"):
        open_model(f"dir:{folder}", "pair-classifier")
    (tmp_path / "config.json").write_text('{"model_type": "nonsense"}')
    (tmp_path / "model.safetensors").write_bytes(b"no")
    with pytest.raises(ModelError, match="cannot be opened"):
        open_model(f"dir:{tmp_path}")


def test_missing_tensor_is_named(tmp_path):
    from safetensors.torch import load_file, save_file

    build(tmp_path, "bert", "BertModel")
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["encoder.layer.1.attention.self.key.weight"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks encoder\.layer\.1\.attention\.self\.key\.weight"):
        open_model(f"dir:{tmp_path}")
