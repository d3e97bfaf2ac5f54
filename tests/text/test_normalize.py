import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quintet.text.normalize import detokenise, normalize, unify_quotes, unify_spaces

CASES = {
    "`` do n't stop , '' he said . it 's 5 % of $ 30 ( or so ) .": "\"don't stop,\" he said. it's 5% of $30 (or so).",
    'he said : " hello there " . i ca n\'t ! !': 'he said: "hello there". i can\'t!!',
    "i ' m fine , don ' t worry ... 10 @,@ 000 @-@ year -lrb- x -rrb-": "i'm fine, don't worry... 10,000-year (x)",
    "` ` hi ' ' there": '"hi" there',
    'the " big " and " small " one': 'the "big" and "small" one',
    "“Hi,” she’s\u00a0here…": '"Hi," she\'s here…',
    "I 'm gon na win , you 've got ta see ; they 'll lose !": "I'm gonna win, you've gotta see; they'll lose!",
    "The dogs ' bowl cost .5 dollars.": "The dogs ' bowl cost .5 dollars.",
    'Already fine: "yes", it\'s (really) 5% done.': 'Already fine: "yes", it\'s (really) 5% done.',
}


@pytest.mark.parametrize(("raw", "clean"), CASES.items())
def test_cases(raw, clean):
    assert normalize(raw) == clean


@pytest.mark.parametrize("function", [unify_quotes, unify_spaces, detokenise, normalize])
@given(text=st.text() | st.text(alphabet="a1 .,'\"`nt@-()s!?$%\n"))
@example(text="'' ' ' `` ` ` ''' ````")
@example(text='" " " . " , "')
def test_twice_is_once(function, text):
    once = function(text)
    assert function(once) == once
    assert len(once) <= len(text)


@given(st.text(alphabet="ab .,'\"()?!"))
def test_only_white_space_and_quotes_change(text):
    def bare(s):
        return "".join(c for c in s if not c.isspace() and c not in "'\"`")

    assert bare(normalize(text)) == bare(text)
