import itertools

from hypothesis import given
from hypothesis import strategies as st

from quintet.text.content_words import ENGLISH, is_stopword
from quintet.text.ngrams import ngram_counts, ngrams
from quintet.text.tokens import whitespace_words, words


def texts(pieces):
    return [piece.text for piece in pieces]


def test_words_keep_contractions_hyphens_numbers_and_acronyms():
    text = "Don't pay $3.50 (the U.S. well-known price)... 10%!"
    assert texts(words(text)) == ["Don't", "pay", "3.50", "the", "U.S.", "well-known", "price", "10"]
    assert texts(words(text, punctuation=True)) == [
        "Don't", "pay", "$", "3.50", "(", "the", "U.S.", "well-known", "price", ")", "...", "10", "%", "!",
    ]  # fmt: skip


def test_words_of_other_scripts():
    assert texts(words("नमस्ते दुनिया।")) == ["नमस्ते", "दुनिया"]
    assert texts(words("مَرْحَبًا بكم")) == ["مَرْحَبًا", "بكم"]
    assert texts(words("你好 world")) == ["你", "好", "world"]
    assert texts(words("naïve cafe\u0301 Ωμέγα")) == ["naïve", "cafe\u0301", "Ωμέγα"]


@given(st.text())
def test_pieces_stand_where_they_say(text):
    for pieces in (words(text, punctuation=True), whitespace_words(text)):
        assert all(text[p.start : p.end] == p.text for p in pieces)
        assert all(a.end <= b.start for a, b in itertools.pairwise(pieces))
    assert texts(whitespace_words(text)) == text.split()


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"))))
def test_words_with_punctuation_lose_only_white_space(text):
    assert "".join(texts(words(text, punctuation=True))) == "".join(text.split())


def test_ngrams():
    assert ngrams("abcd", 2) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert ngrams("ab", 3) == []
    assert ngram_counts("abab", 2) == {("a", "b"): 2, ("b", "a"): 1}


def test_stopwords_are_the_frozen_list():
    assert len(ENGLISH) == 179
    assert all(map(is_stopword, [" The", "and", "don't", "ma", "WOULDN'T "]))
    # In newer NLTK lists, not in the frozen one.
    assert not any(map(is_stopword, ["he'd", "we're", "i'm", "they've", "cat", ""]))
