"""The bundled encoder: numbers that do not depend on the company a text keeps, and text that stays text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.models.memo import Memo
from quintet.models.onnx_backend import OnnxEmbedder, threads
from quintet.models.open import identity, open_model
from quintet.models.roles import Embedder

TEXTS = [
    "Short.",
    "",
    "The quick brown fox jumps over the lazy dog, and then it does so again.",
    "Naïve café ﬁnance — 東京 is big; 😀 עברית מימין לשמאל.",
    " ".join(f"sentence number {i} speaks of trade and the weather." for i in range(30)),
    "yes " * 40,
]
ODD = [
    "",
    " \n\t ",
    "\x00",
    "a\x00b",
    "\ud800",
    "x \udfff y",
    "😀👩‍👩‍👧",
    "مرحبا بالعالم",
    "e\u0301" * 20,
    "\u202eabc",
    "\ufffd",
]


@pytest.fixture(scope="module")
def model() -> Memo:
    return open_model("bundled:gte-small")


def fresh(model, texts, layers=(9, 12), long="window"):
    """Straight from the encoder, past the memo."""
    return model.encoder.embed_layers(list(texts), layers, long)


def test_is_an_embedder_and_says_who_it_is(model):
    assert isinstance(model, Embedder)
    assert model.identity == identity("bundled:gte-small")
    assert (model.layers, model.width, model.max_tokens) == (12, 384, 512)


def test_golden_values_of_the_published_model(model):
    """Cosine of mean vectors at the last layer, from the fp32 model with HF transformers; quantised within 2e-3."""
    a, b, c = (
        v.vectors.mean(axis=0)
        for v in model.embed(["A cat sat on the mat.", "A kitten was on the rug.", "Shares fell."], 12)
    )

    def cosine(x, y):
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert cosine(a, b) == pytest.approx(0.88922, abs=2e-3)
    assert cosine(a, c) == pytest.approx(0.73834, abs=2e-3)


def test_a_text_alone_in_a_batch_and_in_another_order_is_the_same(model):
    together = fresh(model, TEXTS)
    backwards = fresh(model, TEXTS[::-1])[::-1]
    for text, one, other in zip(TEXTS, together, backwards, strict=True):
        (alone,) = fresh(model, [text])
        for layer in (9, 12):
            assert np.abs(alone[layer].vectors - one[layer].vectors).max() <= 1e-5
            assert np.abs(one[layer].vectors - other[layer].vectors).max() <= 1e-5


def test_a_layer_is_the_same_whichever_others_are_asked_for(model):
    (both,) = fresh(model, [TEXTS[2]], (3, 12))
    (one,) = fresh(model, [TEXTS[2]], (3,))
    assert np.array_equal(both[3].vectors, one[3].vectors)


def test_twice_gives_the_same_bits(model):
    for one, other in zip(fresh(model, TEXTS), fresh(model, TEXTS), strict=True):
        assert np.array_equal(one[9].vectors, other[9].vectors)


def test_thread_count_does_not_matter(model, monkeypatch):
    def build(count):
        monkeypatch.setenv("QUINTET_THREADS", str(count))
        from quintet.models import catalog, folder

        entry = catalog.entry("gte-small")
        return OnnxEmbedder(entry.folder, folder.describe(entry.folder), "x").embed_layers(TEXTS, (4,), "window")

    for one, two in zip(build(1), build(2), strict=True):
        assert np.abs(one[4].vectors - two[4].vectors).max() <= 1e-5


def test_special_tokens_in_a_text_stay_text(model):
    (found,) = model.embed(["a [SEP] b [CLS] [MASK] [PAD]"], 0)
    assert [found.token(i) for i in range(1, 5)] == ["a", "[", "SEP", "]"]
    separator = model.embed([""], 0)[0].vectors[1]
    word = model.embed(["x [SEP]"], 0)[0]
    # Layer 0 is word + position: compare with a true separator at the same place.
    true = model.embed(["x y z"], 0)[0].vectors[-1]
    assert all(np.abs(v - true).max() > 0.01 for v in word.vectors[1:-1])
    assert separator.shape == (384,)


@pytest.mark.parametrize("text", ODD)
def test_odd_text_works(model, text):
    (found,) = model.embed([text], 9)
    assert np.isfinite(found.vectors).all()
    assert found.text == text
    assert (found.starts <= found.ends).all()
    assert found.ends.max() <= len(text)


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(codec=None), max_size=40))
def test_offsets_point_into_the_original(model, text):
    (found,) = model.embed([text], 0)
    assert (np.diff(found.starts) >= 0).all()
    assert found.starts[0] == found.ends[0] == 0
    assert found.starts[-1] == found.ends[-1] == len(text)
    for i in range(1, len(found) - 1):
        assert found.token(i).strip() != ""


def test_offsets_around_characters_that_the_tokenizer_drops(model):
    (found,) = model.embed(["Ça\x00 va\ud800 bien 😀!"], 0)
    assert [found.token(i) for i in range(1, len(found) - 1)] == ["Ça", "va", "bien", "😀", "!"]


def test_long_text_windowed_loses_nothing(model):
    # One sub-word a word, in an order that does not repeat.
    words = [
        "the",
        "a",
        "dog",
        "cat",
        "house",
        "tree",
        "man",
        "woman",
        "child",
        "day",
        "night",
        "sun",
        "moon",
        "red",
        "blue",
        "green",
    ]
    text = " ".join(words[i * i * 7 % 31 % 16] for i in range(1200))
    (whole,) = model.embed([text], 2)
    assert whole.cut == 0
    assert len(whole) == 1202
    assert whole.ends[-2] == len(text)
    (cut,) = model.embed([text], 2, "cut")
    assert len(cut) == 512
    assert cut.cut == len(whole) - 512
    assert np.array_equal(cut.starts[:-1], whole.starts[:511])
    # The start of the text is seen in the same window either way.
    assert np.array_equal(cut.vectors[:300], whole.vectors[:300])
    # The middle of a later window equals that window embedded by hand.
    first, last = whole.starts[383 + 1], whole.ends[383 + 510]
    (window,) = model.embed([text[first:last]], 2)
    assert np.abs(window.vectors[200:300] - whole.vectors[383 + 200 : 383 + 300]).max() < 1e-5


def test_a_megabyte_is_embedded(model):
    text = "the same words " * 70_000
    (found,) = model.embed([text], 1)
    assert len(found) == 210_002
    assert np.isfinite(found.vectors[::1000]).all()
    model.forget()


def test_threads_must_be_a_number(monkeypatch):
    from quintet.errors import InputError

    monkeypatch.setenv("QUINTET_THREADS", "many")
    with pytest.raises(InputError, match="QUINTET_THREADS"):
        threads()
