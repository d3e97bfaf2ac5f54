import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.text.sentences import sentences

# A bar marks where a sentence ends. The texts are ours.
CASES = [
    "It rained. | We left early. | Nobody minded!",
    "Mr. Brown met Dr. A. B. Clark and Gov. Jerry Hill at St. Mary's on Jan. 5. | They spoke.",
    "Prices rose 3.5 percent to $4.50 a share. | Analysts had expected 2.1.",
    "She moved to the U.S. in 1990. | He stayed in the U.K. | They never met again.",
    "The U.S. Navy said so. | The firm, Acme Inc. of Ohio, agreed.",
    "She works for Acme Inc. | The firm is large.",
    "They met at 5 p.m. Monday. | She left at 6 p.m. | Police came later.",
    '"Why?" he asked. | "Because I said so." | She left.',
    "“Stop!” she cried, and ran. | “Never.” | He followed.",
    'He said "no." | Then he left (or so I think). | (Nobody saw it.) | Fine.',
    "Well... I do not know. | Wait... what? | Really?! | Yes.",
    "Well ... | You never know. | so it goes ... on and on .",
    "i like it . | it 's good , he said . | what about you ? | i do n't know !",
    "`` i am here , '' he said . | `` so am i . '' | she nodded .",
    'he said " hello . " | then he left . | " fine , " she said .',
    "u.s. officials met mr. smith . | he was late .",
    "1. Wash the rice. | 2. Boil it. | 3. Eat.",
    "In 1999. | That was long ago. | She was No. 1 in 2001. | The answer is no. | She left.",
    "Use fruit, e.g. Apples or pears, i.e. Sweet things, etc. | Then mix. | See Smith et al. 2010.",
    "See www.example.com. | Write to a.b@example.org today. | Version 2.0.1 is out.",
    "So do I. | We all need vitamin C. | It helps. | George W. Bush agreed. | J. K. Rowling did not.",
    'Is it true?" | He did not know. | "Yes."',
    "Wait for it… | Now. | hm. | ok. | i see.",
    "He weighs 12 st. and runs 5 km. each day. | Good.",
    "这是第一句。|这是第二句！|好吗？",
    "She said: 'Never again.' | Then she laughed. | The end.",
    "One sentence without an end",
]


@pytest.mark.parametrize("case", CASES)
def test_cases(case):
    expected = [piece.strip() for piece in case.split("|")]
    text = case.replace(" | ", " ").replace("|", "")
    assert [s.text for s in sentences(text)] == expected


def test_newlines():
    text = "A title\nthat goes on\n\nFirst. Second\nline"
    assert [s.text for s in sentences(text)] == ["A title\nthat goes on", "First.", "Second\nline"]
    assert [s.text for s in sentences(text, "line")] == ["A title", "that goes on", "First.", "Second", "line"]
    assert [s.text for s in sentences(text, "space")] == ["A title\nthat goes on\n\nFirst.", "Second\nline"]


@given(st.text() | st.text(alphabet="aB1 .!?…\"'”)(\n,。 "), st.sampled_from(["space", "paragraph", "line"]))
def test_nothing_visible_is_lost(text, newlines):
    found = sentences(text, newlines)
    assert all(text[s.start : s.end] == s.text == s.text.strip() != "" for s in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert "".join("".join(s.text.split()) for s in found) == "".join(text.split())


@pytest.mark.parametrize(
    "unit",
    [
        "The cat sat on the mat. ",
        "a. ",
        ". ",
        ".",
        "A.B.",
        '. " ',
        'e.g. " ',
        "!) ",
        "x ",
        "''.",
        "\n\n. ",
        "I. ",
        "1. ",
    ],
)
def test_time_is_linear_on_a_megabyte(unit):
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    sentences(text)
    assert time.process_time() - began < 20


def test_same_in_pieces():
    """A full stop before a capitalised starter parts sentences whatever stands around it."""
    pieces = ["The cat sat down.", "It slept well.", "We saw it in May 2001.", "They laughed!"]
    random.Random(0).shuffle(pieces)
    assert [s.text for s in sentences(" ".join(pieces))] == pieces
