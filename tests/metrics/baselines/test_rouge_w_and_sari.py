"""SARI's published examples to the last digit; ROUGE-W by its equations."""

import pytest

from quintet import load
from quintet.core.example import Example
from quintet.metrics.baselines.rouge import weighted_subsequence

SOURCE = "About 95 species are currently accepted ."
REFERENCES = (
    "About 95 species are currently known .",
    "About 95 species are now accepted .",
    "95 species are now accepted .",
)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("About 95 you now get in .", 0.2682782411698074),
        ("About 95 species are now agreed .", 0.5889995423074248),
        ("About 95 species are currently agreed .", 0.5071608864657479),
    ],
)
def test_sari_of_the_authors_examples(output, value):
    """The three values in the comments of the authors' script (Xu et al. 2016)."""
    found = load("sari").score([Example(output, source=SOURCE, references=REFERENCES)])[0]["sari"]
    assert found.value == pytest.approx(value, abs=1e-12)


def test_words_in_a_row_weigh_more():
    """Lin 2004, section 4: X = A B C D E F G, Y1 = A B C D H I K, Y2 = A H B K C I D. ROUGE-L finds both equal."""
    x, y1, y2 = "ABCDEFG", "ABCDHIK", "AHBKCID"
    precision, recall = weighted_subsequence(y1, x)
    assert precision == recall == pytest.approx(4 / 7)
    scattered, _ = weighted_subsequence(y2, x)
    assert scattered == pytest.approx((4 / 7**1.2) ** (1 / 1.2))
    assert weighted_subsequence("", x) == (0.0, 0.0)
