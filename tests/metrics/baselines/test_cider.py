import json
import math

import numpy as np
import pytest

from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics.baselines.cider import Cider, cider_units
from quintet.metrics.baselines.frequencies import count_documents
from quintet.text.tokens import words


def plain_cider(example, robust, idf, sigma=6.0):
    """Equations 1 to 4 of the paper, with vectors over the whole vocabulary; and its section 6 for CIDEr-D."""

    def split(text):
        return [piece.text.lower() for piece in words(text)]

    texts = [split(example.output), *map(split, example.references)]
    total = 0.0
    for n in range(1, 5):
        grams = [[" ".join(t[i : i + n]) for i in range(len(t) - n + 1)] for t in texts]
        vocabulary = sorted({g for listed in grams for g in listed})
        vectors = np.array([[listed.count(g) * idf(g) for g in vocabulary] for listed in grams]).reshape(len(texts), -1)
        for k in range(1, len(texts)):
            length = np.linalg.norm(vectors[0]) * np.linalg.norm(vectors[k])
            mine = np.minimum(vectors[0], vectors[k]) if robust else vectors[0]
            gap = math.exp(-((len(texts[0]) - len(texts[k])) ** 2) / (2 * sigma**2)) if robust else 1.0
            total += 10 * gap * (mine @ vectors[k]) / length / 4 / (len(texts) - 1) if length else 0.0
    return total


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_plain_twin(pairs, robust, weighted, tmp_path):
    frequencies = count_documents(cider_units(e.references) for e in pairs[50:])
    frequencies.write(tmp_path / "df.json")
    metric = Cider(robust=robust, df=str(tmp_path / "df.json") if weighted else None)
    idf = frequencies.cider_idf if weighted else lambda gram: 1.0
    for row, example in zip(metric.score(pairs), pairs, strict=True):
        assert row["cider"].value == pytest.approx(plain_cider(example, robust, idf), abs=1e-12)


def test_a_perfect_copy_gets_ten():
    example = Example("a cat sat on the mat", references=("A cat sat on the mat.",))
    assert Cider().score([example])[0]["cider"].value == pytest.approx(10.0)
    assert Cider(robust=True).score([example])[0]["cider"].value == pytest.approx(10.0)


def test_cider_d_punishes_repetition():
    fair = Example("a cat sat on the mat", references=("a cat sat on the mat today",))
    padded = Example("a cat a cat a cat sat on the mat mat mat", references=fair.references)
    plain, robust = Cider().score([fair, padded]), Cider(robust=True).score([fair, padded])
    drop = [rows[1]["cider"].value / rows[0]["cider"].value for rows in (plain, robust)]
    assert drop[1] < drop[0] < 1


def test_signature_follows_the_content_of_the_file(tmp_path):
    path = tmp_path / "df.json"
    path.write_text(json.dumps({"documents": 3, "counts": {"cat": 1}}))
    before = Cider(df=str(path)).signature
    path.write_text(json.dumps({"documents": 30, "counts": {"cat": 1}}))
    assert Cider(df=str(path)).signature != before != Cider().signature


@pytest.mark.parametrize(
    "content", ["", "[]", '{"documents": 0, "counts": {}}', '{"documents": 2, "counts": {"a": 3}}']
)
def test_bad_files_are_named(tmp_path, content):
    path = tmp_path / "df.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"df\.json"):
        Cider(df=str(path)).prepare()
    with pytest.raises(InputError, match=r"nowhere\.json"):
        Cider(df="nowhere.json").prepare()
