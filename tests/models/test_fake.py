import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import ModelError, UnknownName
from quintet.models.open import identity, open_model
from quintet.models.roles import Embedder


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_equal_words_match_and_others_do_not():
    model = open_model("fake:embedder")
    assert isinstance(model, Embedder)
    (a,) = model.embed(["The cat sat."], 9)
    (b,) = model.embed(["A CAT ran!"], 9)
    cat, other = a.vectors[2], b.vectors[2]
    assert a.token(2) == "cat"
    assert b.token(2) == "CAT"
    assert cosine(cat, other) > 0.9
    assert cosine(cat, b.vectors[3]) < 0.6


def test_neighbours_count_a_little_and_more_in_higher_layers():
    model = open_model("fake:embedder")
    by_layer = []
    for layer in (0, 6, 12):
        a, b = model.embed(["red cat sat", "big cat ran"], layer)
        by_layer.append(cosine(a.vectors[2], b.vectors[2]))
    assert by_layer[0] == pytest.approx(1)
    assert 1 > by_layer[1] > by_layer[2] > 0.9


@given(st.text(max_size=60))
def test_offsets_are_true(text):
    (found,) = open_model("fake:embedder").embed([text], 5)
    assert len(found.vectors) == len(found.starts) == len(found.ends)
    assert "".join(found.token(i) for i in range(len(found))) == "".join(text.split())


def test_the_numbers_never_change():
    (found,) = open_model("fake:embedder").embed(["cat"], 0)
    assert found.vectors[1][:3] == pytest.approx([0.09968722, -0.46263826, -0.73910123], abs=1e-6)


def test_identity_and_wrong_names():
    assert identity("fake:embedder") == open_model("fake:embedder").identity
    with pytest.raises(UnknownName, match="embedder"):
        open_model("fake:embeder")
    with pytest.raises(ModelError, match="fake:causal-lm"):
        open_model("fake:embedder", "causal-lm")
