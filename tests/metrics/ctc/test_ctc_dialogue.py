"""How facts and histories are written, and where evidence leads."""

import dataclasses

import pytest

from quintet.core.example import Example
from quintet.metrics import metrics
from quintet.metrics.ctc.dialogue import Engagingness, Groundedness

TURN = Example("cats purr", context=" cats purr loudly\n\ndogs bark ", history=("do cats purr?", "they do"), id="turn")


def grounds(metric, example=TURN):
    return metric._grounds(example)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("plain", "cats purr loudly\n\ndogs bark"),
        ("lines", "fact: cats purr loudly\nfact: dogs bark"),
        ("persona", "your persona: cats purr loudly\nyour persona: dogs bark"),
        ("prefix", "fact: cats purr loudly\n\ndogs bark"),
    ],
)
def test_forms_of_facts(form, text):
    assert grounds(Groundedness(facts=form)).text == text
    joined = grounds(Engagingness(facts=form))
    assert joined.text == f"{text}\n\n\ndo cats purr?\nthey do"
    for word in ("loudly", "bark", "they"):
        start = joined.text.index(word)
        field, first, last = joined.origin(start, start + len(word))
        assert TURN.text(field)[first:last] == word
    prefix = joined.text.find("fact:")
    assert prefix != 0 or joined.origin(0, 4) is None


def test_history_first_is_a_switch():
    assert grounds(Engagingness(order="history-first")).text.startswith("do cats purr?\nthey do\n\n\ncats")


def test_trained_means_plain_for_e_and_lines_for_d_and_r():
    assert Groundedness().facts == "plain"
    assert Groundedness(aligner="D").facts == "lines"
    assert Groundedness(aligner="R", mode="package").facts == "plain"


def test_a_persona_that_carries_its_prefix_is_left_alone():
    example = dataclasses.replace(TURN, context="your persona: i like cats.")
    assert grounds(Groundedness(facts="persona"), example).text == "your persona: i like cats."


@pytest.mark.parametrize("fact", ["_nofact", " _nofact\n", "nofact"])
def test_nofact_is_text_unless_told_that_it_is_none(fact):
    example = dataclasses.replace(TURN, context=fact)
    score = Groundedness(model="fake:embedder", nofact="absent").score([example])[0]["groundedness"]
    assert score.value == 0.0
    assert score.flags == ("no fact", "nothing to align with")
    assert grounds(Groundedness(facts="lines", nofact="absent"), example).text == "nofact"
    assert grounds(Groundedness(), example).text == fact.strip()
    assert grounds(Groundedness(mode="paper", facts="prefix"), example).text == f"fact: {fact.strip()}"
    engaged = Engagingness(model="fake:embedder", nofact="absent").score([example])[0]["engagingness"]
    assert engaged.flags == ("no fact",)
    assert engaged.value > 0


def test_an_empty_history_leaves_the_fact():
    example = dataclasses.replace(TURN, history=())
    assert grounds(Engagingness(), example).text == "cats purr loudly\n\ndogs bark"
    assert grounds(Engagingness(), example).flags == ("no history",)


@pytest.mark.parametrize("fact", ["", " \n"])
def test_an_empty_fact_is_said(fact):
    example = dataclasses.replace(TURN, context=fact)
    assert grounds(Engagingness(), example).flags == ("no fact",)
    assert grounds(Groundedness(facts="lines"), example).flags == ("no fact",)
    assert grounds(Groundedness(), example).flags == ()


def test_evidence_of_both_fields():
    row = (
        metrics["ctc-engagingness"]
        .build(model="fake:embedder", layer=0)
        .score([dataclasses.replace(TURN, output="purr they bark", context="dogs bark")])[0]
    )
    found = [span.other for span in row["engagingness"].spans]
    assert found == [("history", 8, 12), ("context", 5, 9)]


def test_facts_and_relations_are_those_of_training():
    """Training may not import metrics, so both name the relations and write the facts; they must not drift apart."""
    from quintet.metrics.ctc.alignment import TRAINED_ON
    from quintet_train.pseudo import ctc

    assert {name: how for name, (_, how) in ctc.RELATIONS.items()} == TRAINED_ON
    for fact in ("cats purr\n\ndogs bark", "one line", "", "_nofact"):
        expected = ctc._fact_lines("" if fact == "_nofact" else fact).strip()
        assert (
            grounds(Groundedness(facts="lines", nofact="absent"), dataclasses.replace(TURN, context=fact)).text
            == expected
        )
