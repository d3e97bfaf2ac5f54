import pytest

from quintet.core.example import Example
from quintet.metrics.baselines.meteor import Meteor
from quintet.text.tokens import words


class NoWordNet:
    """Switches NLTK's synonym stage off."""

    def synsets(self, word):
        return []


def tokens(text):
    return [piece.text for piece in words(text, punctuation=True)]


def test_same_as_nltk_without_synonyms(pairs):
    nltk = pytest.importorskip("nltk.translate.meteor_score")
    for row, example in zip(Meteor().score(pairs), pairs, strict=True):
        expected = nltk.meteor_score(
            [tokens(reference) for reference in example.references], tokens(example.output), wordnet=NoWordNet()
        )
        assert row["meteor"].value == pytest.approx(expected)


def test_by_hand():
    """Five of six words match in three runs (the cat, sat on, mat): P 5/6, R 5/7, penalty 0.5 (3/5)^3."""
    example = Example("the cat sat on a mat", references=("the cat quietly sat on one mat",))
    (row,) = Meteor().score([example])
    score = row["meteor"]
    precision, recall = 5 / 6, 5 / 7
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    penalty = 0.5 * (3 / 5) ** 3
    assert score.parts == pytest.approx({"p": precision, "r": recall, "penalty": penalty})
    assert score.value == pytest.approx(mean * (1 - penalty))


def test_stems():
    example = Example("cats running", references=("cat runs",))
    assert Meteor().score([example])[0]["meteor"].value > 0.9
    assert Meteor(stem=False).score([example])[0]["meteor"].value == 0.0
