import random

import pytest

from quintet.text.porter import stem


def test_by_hand():
    known = {
        "caresses": "caress", "ponies": "poni", "dies": "die", "agreed": "agre", "plastered": "plaster",
        "motoring": "motor", "sing": "sing", "hopping": "hop", "falling": "fall", "filing": "file", "happy": "happi",
        "enjoy": "enjoy", "relational": "relat", "generalizations": "gener", "theology": "theolog", "adoption": "adopt",
        "controlling": "control", "rate": "rate", "skies": "sky", "news": "news", "Running": "run", "is": "is", "": "",
    }  # fmt: skip
    assert {word: stem(word) for word in known} == known


def test_same_as_nltk():
    """On 40,000 made-up words that pile up the suffixes the rules look for."""
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    rng = random.Random(0)
    listed = (
        "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti "
        "iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent "
        "ion ou ism ate iti ous ive ize e ll s es ies sses ed ied eed ing y at bl iz tt"
    )
    for _ in range(40_000):
        root = "".join(rng.choice("aeiouylstxwbz7") for _ in range(rng.randint(0, 5)))
        word = root + "".join(rng.choice(listed.split()) for _ in range(rng.randint(0, 2)))
        assert stem(word) == porter.stem(word), word
