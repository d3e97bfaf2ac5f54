"""Tokenised text comes out plain, plain text stays, and every character can be traced back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.text.content_words import content_words, plain_words
from quintet.text.detokenise import detokenise, detokenise_with_places

GOLDEN = {
    "the man , who is 34 , did n't say `` no '' .": 'the man, who is 34, didn\'t say "no".',
    "-LRB- CNN -RRB- it 's a $ 5 bill": "(CNN) it's a $5 bill",
    "i ca n't , she wo n't": "i can't, she won't",
    "they ' re here ; i ' m not !": "they're here; i'm not!",
    "“ Smart ” quotes — and ‘ single ’ ones": "\"Smart\" quotes - and ' single ' ones",
    "<p>Fish &amp; chips</p>": "Fish & chips",
    "one\u00a0 two\n\nthree  ": "one two three",
    'an " odd quote stays': 'an " odd quote stays',
    # A quotation that goes on opens each sentence and closes once; an opening at the end of a cut text stays one.
    "`` we ran . `` we won , '' he said . `` it": '"we ran. "we won," he said. "it',
    # Some write every quote with one form: then they alternate, and an odd number tells nothing.
    "the `` snub `` , and `` more ``": 'the "snub", and "more"',
    "a `` snub `` , and `` more": 'a " snub ", and " more',
    'the" real deal. " it is': 'the"real deal." it is',
    "'' No , `` he said .": '"No," he said.',
    "it was \" odd \", or `` odd ''.": 'it was "odd", or "odd".',
    'he said "yes" and " no " .': 'he said "yes" and "no".',
    '"Never ended. " So " it went': '"Never ended." So " it went',
    "a ``b''and ( `` c '' )": 'a "b"and ("c")',
    "moderate -ly priced hotel -s .": "moderately priced hotels.",
    "rows -side, 3 -s, a-s -ly-": "rows -side, 3 -s, a-s -ly-",
    "": "",
    " \n ": "",
}
PIECES = st.sampled_from(
    ["the", "Dog", " ", "  ", "\n", ",", ".", " n't", " 's", "``", "''", '"', ' "', '" ', "”", "'", "(", "-LRB-",
     "-RRB-", "&amp;", "<b>", " -s", "é", "🚀", "\u00a0", "\ud800", "5", "%", "ca n't", "’"]
)  # fmt: skip


SIGNS = "\u2605\u2605\u2606 \u2713 \u2022 \u20ac5, \u00bd \u2192 \u00a9 2020\u2122"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
PICTURES = {
    "Great game \U0001f389!": "Great game!",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 came, I \u2764\ufe0f it \U0001f44d\U0001f3fd": "came, I it",
    f"From \U0001f1e9\U0001f1ea and {ENGLAND}.": "From and.",
    "Press 1\ufe0f\u20e3 or #\ufe0f\u20e3.": "Press 1 or #.",
    SIGNS: SIGNS,
    "\U0001f642": "",
}
"""Text with emoji, and what is left without them; signs that are no emoji stay."""


@pytest.mark.parametrize("text", PICTURES)
def test_emoji_are_left_out_where_they_are_not_wanted(text: str) -> None:
    assert detokenise(text, marks=False) == PICTURES[text]
    traced = detokenise_with_places(text, marks=False)
    assert traced.text == PICTURES[text]
    for place, character in enumerate(traced.text):
        assert character == " " or character in text[slice(*traced.span(place, place + 1))]
    if text.startswith("\U0001f642"):
        assert detokenise(text) == text


@pytest.mark.parametrize("text", GOLDEN)
def test_the_form_it_comes_to(text: str) -> None:
    assert detokenise(text) == GOLDEN[text]


def test_plain_text_stays() -> None:
    text = "Mr. Smith (34) didn't say \"no\" - he said: 50% of $5, isn't it?"
    assert detokenise(text) == text
    # A quotation of two paragraphs opens twice and closes once, so that quotes do not pair off.
    text = '"It began so. "And it went on," he said. "Then ("really") it ended." He left.'
    assert detokenise(text) == text


@given(st.lists(PIECES, max_size=30).map("".join), st.booleans())
def test_both_ways_of_doing_it_agree_and_every_character_has_its_place(text: str, emoji: bool) -> None:
    traced = detokenise_with_places(text, emoji)
    assert traced.text == detokenise(text, emoji)
    assert len(traced.starts) == len(traced.ends) == len(traced.text)
    assert all(0 <= start < end <= len(text) for start, end in zip(traced.starts, traced.ends, strict=True))
    assert list(traced.starts) == sorted(traced.starts)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_letters_are_found_where_they_stood(text: str) -> None:
    traced = detokenise_with_places(text)
    for place, character in enumerate(traced.text):
        if character.isalpha():
            assert character in text[slice(*traced.span(place, place + 1))]


def test_a_word_put_together_stands_for_its_parts() -> None:
    text = "they do n't -LRB- really -RRB-"
    traced = detokenise_with_places(text)
    start = traced.text.index("don't")
    assert text[slice(*traced.span(start, start + 5))] == "do n't"
    start = traced.text.index("(")
    assert text[slice(*traced.span(start, start + 1))] == "-LRB-"


def test_words() -> None:
    assert plain_words("Don’t stop, U2's 3rd!") == ["don't", "stop", "u2's", "3rd"]
    assert content_words("I don't know the 3rd x of U2") == ["3rd", "u2"]
