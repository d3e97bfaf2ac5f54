"""Examples of every head: labels in range, a right text first, no wrong text that is the right one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet_train import recipe
from quintet_train.evaluator import facts, noise
from quintet_train.evaluator.building import BUILDERS, groups
from quintet_train.evaluator.groups import BETTER, HEADS, QUESTIONS, UNTOLD, WORSE, styled
from quintet_train.evaluator.tables import READ_SENTENCES, Document, fill

SENTENCE = "The mayor of Otterton, Helen Brand, opened two new schools on Monday and said they were not cheap."
WORDS = st.lists(
    st.sampled_from(["the", "old", "man", "was", "not", "in", "Paris", "3", "May", "she", "has"]), min_size=2
)


@pytest.mark.parametrize("name", BUILDERS)
def test_groups_keep_their_promises(name, tables, neighbours, times_of) -> None:
    times = times_of(name)
    made = [group for seed in range(3) for group in groups(name, tables, neighbours, times, seed)]
    assert made
    for group in made:
        assert group.head in HEADS
        labels = [text.label for text in group.texts]
        if group.head == "nli":
            assert set(labels) <= {0, 1, 2, 3}
        else:
            assert all(0 <= label <= 1 or label in (BETTER, WORSE, UNTOLD) for label in labels)
        for text in group.texts:
            assert text.output.strip()
            for start, end in text.wrong or ():
                assert 0 <= start < end <= len(text.output)
        if group.ranked and len(labels) > 1:
            assert labels[0] >= max(labels[1:]) or group.head == "adq" or name == "taught claims"
            right = (group.texts[0].output.lower(), group.texts[0].grounds)
            assert all((t.output.lower(), t.grounds) != right for t in group.texts if t.label < labels[0])


def test_every_head_has_examples_and_every_group_follows_from_the_seed(tables, neighbours, times) -> None:
    first = [list(groups(name, tables, neighbours, times, 5)) for name in BUILDERS]
    assert first == [list(groups(name, tables, neighbours, times, 5)) for name in BUILDERS]
    assert first != [list(groups(name, tables, neighbours, times, 6)) for name in BUILDERS]
    assert {group.head for made in first for group in made} == set(HEADS) == {*QUESTIONS, "nli"}


def test_shards_share_the_texts_between_them(tables, neighbours, times) -> None:
    """Nothing random decides which turns are swapped: every shard has its own dialogues."""
    whole = list(groups("entailment", tables, neighbours, times, 0))
    parts = [list(groups("entailment", tables, neighbours, times, 0, shard, 3)) for shard in range(3)]
    premises = [{t.grounds for g in part if g.head == "nli" for t in g.texts} & {e.premise for e in tables.entailments}
                for part in parts]  # fmt: skip
    assert set().union(*premises) == {e.premise for e in tables.entailments}
    assert len(whole) > 0


def test_times_say_how_often(tables, neighbours, times) -> None:
    """Every document of the smoke rows is called cnndm; the recipe has its number."""
    told = recipe.load("evaluator").data.options["times"]
    made = list(groups("relevance", tables, neighbours, times, 0))
    assert len(made) == told["rel"]["cnndm"] * len(tables.documents)
    assert times.of("con", "gigaword") == told["con"]["gigaword"]
    assert times.of("gro", "never heard of") == told["gro"]["other"] == 0
    assert times.of("rel", "never heard of") == 1


@given(WORDS, st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_a_corrupted_text_is_another_text(words: list[str], seed: int) -> None:
    text = " ".join(words)
    out = noise.corrupt(text, Random(seed), ["somebody else said this yesterday"])
    assert out.strip()
    assert out.lower() != text.lower() or [w.lower() for w in words] == [w.lower() for w in reversed(words)]
    assert noise.corrupt_sentences([text, "It rained."], Random(seed), ["They were late again."], 3).strip()


def test_every_mistake_changes_a_usual_sentence() -> None:
    words = SENTENCE.split()
    for mistake in noise.MISTAKES:
        made = [mistake(list(words), Random(seed), ["They were late again."]) for seed in range(20)]
        assert any(one != words for one in made), mistake.__name__
        assert all(made)


@given(st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_an_edited_fact_differs_only_in_its_spans(seed: int) -> None:
    donors = facts.Donors(["Tom Archer"], ["47"], ["with the queen of Spain"], {"opened": ["closed"]})
    made = facts.falsify(SENTENCE, Random(seed), donors)
    assert made is not None
    assert made.text != SENTENCE
    for start, end in made.wrong:
        assert 0 <= start < end <= len(made.text)
    # What stands before the first and after the last span is as it was.
    assert SENTENCE.startswith(made.text[: made.wrong[0][0]].rstrip())
    assert SENTENCE.endswith(made.text[made.wrong[-1][1] :])


def test_edits_by_kind() -> None:
    none = facts.Donors()
    assert facts._opposite("Prices rose.", Random(0), none) == ("Prices fell.", ((7, 11),))
    assert facts._negate("It was cold.", Random(0), none) == ("It was not cold.", ((3, 10),))
    assert facts._swap_names("Anna beat Tom.", Random(0), none) == ("Tom beat Anna.", ((0, 3), (9, 13)))
    added = facts._add_phrase("He left.", Random(0), facts.Donors(phrases=["with his dog"]))
    assert added == ("He left with his dog.", ((8, 20),))
    assert [found.text for found in facts.names("On Friday the Bank of England met with Mervyn King.")] == [
        "Bank of England",
        "Mervyn King",
    ]
    assert facts.falsify("so it goes", Random(0), none) is None


def test_style_is_only_surface() -> None:
    for seed in range(50):
        out = styled("He said It.", Random(seed))
        assert out.lower().rstrip(".") == "he said it"


def test_flat_lists_point_at_their_texts() -> None:
    long = tuple(f"Sentence number {n} has six words." for n in range(READ_SENTENCES + 9))
    made = fill([Document("a", long, ("A short summary of it.",)), Document("b", ("Too short.",), ("Also so.",))])
    assert made.body == [(0, READ_SENTENCES), (READ_SENTENCES + 1, 0)]
    assert made.summary == [(READ_SENTENCES, 1), (READ_SENTENCES + 1, 0)]
    assert made.sentences[READ_SENTENCES] == "A short summary of it."
    assert made.documents[0].text.endswith("48 has six words.")
