"""Slices of long texts: everything is covered, each word is spoken for once, nothing is cut in the end."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quintet.metrics.long_texts import in_slices, slices

WORDS = st.lists(st.integers(1, 30), min_size=1, max_size=60).map(lambda sizes: " ".join("x" * n for n in sizes))


@given(WORDS, st.integers(1, 80), st.booleans())
def test_slices_cover_the_text_and_speak_once(text, size, overlap):
    found = slices(text, size, overlap)
    assert found[0].first == 0
    assert found[-1].last == len(text)
    for one, following in pairwise(found):
        assert one.last == following.first
        assert one.start < following.start
    for place, character in enumerate(text):
        if character != " ":
            (owner,) = [one for one in found if one.first <= place < one.last]
            assert owner.start <= place < owner.end
    assert all(one.end - one.start <= max(size, 1) for one in found)


@given(WORDS, WORDS, st.integers(50, 90))
def test_finer_until_nothing_is_lost(a, b, limit):
    def run(inputs):
        assert all(len(texts) == 2 for texts in inputs)
        return [max(0, sum(map(len, texts)) - limit) for texts in inputs]

    (read,) = in_slices([(a, b)], run, lambda lost: lost, limit // 4, (False, True))
    assert len(read.results) == len(read.slices[0]) * len(read.slices[1])
    assert not any(read.results)
    if len(a) + len(b) <= limit:
        assert len(read.results) == 1
