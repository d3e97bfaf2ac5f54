"""Word vectors as vectors: a row of a table, wherever the word stands and whatever stands beside it."""

import numpy as np
import pytest

from quintet import load
from quintet.core.example import Example
from quintet.errors import ModelError
from quintet.metrics.gruen.focus import _cloud, distance
from quintet.models.open import identity, open_model
from quintet.text.content_words import SPACY

ROWS = {"cat": [1, 0, 0], "dog": [0.8, 0.6, 0], "Rain": [0, 0, 2], "falls": [0, 1, 0]}


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "table.txt"
    lines = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in ROWS.items())
    path.write_text(f"{len(ROWS)} 3\n" + lines, encoding="utf-8")
    return path


def test_layer_0_is_the_row_of_the_table_wherever_a_word_stands():
    model = open_model("bundled:gte-small")
    early, late = model.embed(["the cat sat", "on the mat the cat slept"], 0)
    assert np.array_equal(early.vectors[2], late.vectors[5])
    assert not np.array_equal(*(found.vectors[2] for found in model.embed(["the cat sat", "a cat sat"], 1)))


def test_the_same_content_words_are_no_distance_apart():
    """They lay 4.28 apart while positions were in the vectors."""
    one, other = open_model("bundled:gte-small").embed(["A dog saw the cat.", "The cat: a dog was what it saw."], 0)
    assert distance(_cloud(one), _cloud(other)) == pytest.approx(0.0, abs=1e-6)
    swapped = Example("dog cat", references=("cat dog",))
    assert load("wmd").score([swapped])[0]["distance"].value == pytest.approx(0.0, abs=1e-6)
    assert load("greedy-matching").score([swapped])[0]["similarity"].value == pytest.approx(1.0, abs=1e-6)


def test_a_file_of_vectors_is_an_embedder_with_one_layer(vectors):
    model = open_model(f"vectors:{vectors}")
    (found,) = model.embed(["Cat, rain and Rain"], 0)
    assert [found.token(i) for i in range(1, len(found) - 1)] == ["Cat", "Rain"], (
        "others take no part; case may give way"
    )
    assert found.vectors[1].tolist() == [1, 0, 0]
    assert identity(f"vectors:{vectors}").startswith("table.txt@")
    with pytest.raises(ModelError, match="has layers 0 to 0, not 9"):
        model.embed(["cat"], 9)
    with pytest.raises(ModelError, match="cannot be a masked-lm"):
        open_model(f"vectors:{vectors}", "masked-lm")


def test_the_papers_baselines_on_it(vectors):
    example = Example("cat falls", references=("the dog falls",))
    spec = f"model=vectors:{vectors}"
    average = load(f"embedding-average:{spec}").score([example])[0]["similarity"].value
    a, b = np.array([0.5, 0.5, 0]), np.array([0.4, 0.8, 0])
    assert average == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    greedy = load(f"greedy-matching:{spec}").score([example])[0]["similarity"].value
    assert greedy == pytest.approx(0.9)
    assert load(f"wmd:{spec}").score([example])[0]["distance"].value == pytest.approx(np.sqrt(2 - 2 * 0.8) / 2)


def test_a_glove_file_has_no_first_line_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("cat 1 0\ndog 0\n", encoding="utf-8")
    model = open_model(f"vectors:{path}")
    assert model.embed(["cat"], 0)[0].vectors[1].tolist() == [1, 0]
    with pytest.raises(ModelError, match="the line of 'dog' has not 2 numbers"):
        model.embed(["dog"], 0)


def test_the_released_focus_leaves_out_spacys_stop_words(tmp_path):
    """ "well" and "twelve" are among spaCy's and not among NLTK's; a word that both leave out changes neither."""
    text = Example("The cat sat well. The cat slept twelve times. Its rain fell down.")
    same = Example("The cat sat. The cat slept times. Its rain fell down.")
    table = tmp_path / "table.txt"
    known = ("cat", "sat", "well", "slept", "twelve", "times", "rain", "fell")
    table.write_text("".join(f"{word} {n} {n * n % 7} 1\n" for n, word in enumerate(known)), encoding="utf-8")
    for mode, equal in (("code2020", True), ("paper", False)):
        metric = load(f"gruen-focus:model=vectors:{table},unrelated=60,mode={mode}")
        found = [row["focus"].parts["least similarity"] for row in metric.score([text, same])]
        assert (found[0] == found[1]) == equal, mode
    assert len(SPACY) == 305


def test_focus_with_stop_words_of_ones_own(tmp_path):
    words = tmp_path / "stop.txt"
    words.write_text("cat\n", encoding="utf-8")
    text = Example("The cat sat here. The cat slept there. Its rain fell down.")
    own = load(f"gruen-focus:model=fake:embedder,unrelated=60,stopwords={words}").score([text])[0]["focus"]
    plain = load("gruen-focus:model=fake:embedder,unrelated=60").score([text])[0]["focus"]
    assert own.parts["least similarity"] != plain.parts["least similarity"]
