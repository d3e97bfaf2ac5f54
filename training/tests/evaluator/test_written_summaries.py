"""Whole summaries beside whole documents: true ones stay true, false sentences are marked, the encoder gets none."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from quintet_train.evaluator import building, facts, summary_groups
from quintet_train.evaluator.groups import BETTER, WORSE, Group, Material, Neighbours, Times
from quintet_train.evaluator.tables import Continued, Document, Tables, fill
from quintet_train.evaluator.written_groups import only_ranked, ranked_claims

READ = tuple(
    f"{name} opened {count} {what} in {place} on {day}, and the town was glad about it."
    for name, count, what, place, day in [
        ("Helen Brand", "two", "schools", "Otterton", "Monday"),
        ("Tom Archer", "three", "bakeries", "Quarley", "Tuesday"),
        ("Mary Stone", "four", "libraries", "Nethercote", "Friday"),
        ("Paul Weaver", "nine", "stables", "Hamblewick", "Sunday"),
        ("Anna Field", "six", "gardens", "Lower Marsh", "Thursday"),
    ]
)
SUMMARY = ("Helen Brand opened schools in Otterton.", "Mary Stone opened libraries.", "A zebra was elected in Paris.")
MADE_UP = " a bridge with 4,417 guests from Quixville"
DOCUMENTS = [Document("cnndm", READ, SUMMARY), Document("gigaword", READ[:1], SUMMARY[:1])]
CONTINUED = [Continued(0, SUMMARY[1], "Mary Stone opened", MADE_UP)]
TIMES = {"con.whole": {"cnndm": 60, "other": 0}, "nli.whole": {"all": 0.5}, "con.ranked": {"other": 0}}


def made(neighbours, edits: float, **options) -> list[Group]:
    tables = replace(fill(DOCUMENTS), continued=CONTINUED)
    times = Times({**TIMES, "con.edits": {"other": edits}, **options})
    return [
        group for seed in range(4) for group in building.groups("written summaries", tables, neighbours, times, seed)
    ]


def plain(text: str) -> str:
    return text.lower().rstrip(".")


def test_a_true_summary_stands_above_the_same_with_made_up_sentences(neighbours) -> None:
    found = made(neighbours, 0.0)
    assert {group.head for group in found} == {"con", "nli"}
    counts = set()
    for group in found:
        true, *false = group.texts
        assert false
        assert [text.label for text in group.texts] == ([1] if group.head == "con" else [0]) + [
            0 if group.head == "con" else 3
        ] * len(false)
        assert group.ranked == (group.head == "con")
        assert all(text.grounds == " ".join(READ) for text in group.texts), "the whole document"
        assert "zebra" not in true.output.lower(), "what the document does not support is not true"
        assert true.wrong in ((), None)
        own = plain(true.output).count(" opened ")
        counts.add(own)
        for text in false:
            assert "Quixville" in text.output
            if text.wrong is None:  # an emoji was added
                continue
            words = [text.output[start:end] for start, end in text.wrong]
            assert "bridge with 4,417 guests from Quixville" in words
            if len(words) == 1:  # else one more was edited, as no other claim was made up
                kept = plain(text.output[: text.output.index("Mary Stone opened a bridge")])
                assert plain(true.output).startswith(kept.strip())
    assert counts >= {1, 2, 3, 4, 5}


def test_a_made_up_claim_mostly_stands_where_its_own_claim_stood(neighbours) -> None:
    groups = [group for group in made(neighbours, 0.0) if plain(SUMMARY[1]) in plain(group.texts[0].output)]
    replaced = [plain(SUMMARY[1]) not in plain(group.texts[1].output) for group in groups]
    assert len(replaced) > 30
    assert sum(replaced) > 0.6 * len(replaced)


def test_edits_by_rule_are_marked_where_they_are(neighbours) -> None:
    """All that is not marked stands in the true summary as well."""
    seen = 0
    for group in made(neighbours, 1.0):
        true, *false = group.texts
        for text in false:
            if not text.wrong:
                continue
            seen += 1
            assert "Quixville" not in text.output
            assert text.output.lower() != true.output.lower()
            place, known = 0, facts.Known(true.output)
            for start, end in sorted(text.wrong):
                assert not facts.strange_words(text.output[place:start], known).telling
                place = end
            assert not facts.strange_words(text.output[place:], known).telling
    assert seen > 50


def test_no_evidence_is_cut_off() -> None:
    long = [f"Sentence number {n} is one of very many of its kind." for n in range(200)]
    shown = summary_groups._beginning(long, summary_groups._SHOWN_WORDS)
    words = len(" ".join(shown).split())
    assert summary_groups._SHOWN_WORDS - 11 < words <= summary_groups._SHOWN_WORDS


def test_the_encoder_has_no_such_examples(tables: Tables, neighbours, times) -> None:
    """Its other groups depend on nothing but their own builder and shard."""
    for shard in range(3):
        assert not list(building.groups("written summaries", tables, neighbours, times, 7, shard, 3))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_groups_of_a_head_is_kept(tables, neighbours, times, share: float) -> None:
    found = [group for seed in range(8) for group in building.groups("acceptability", tables, neighbours, times, seed)]
    found += list(building.groups("coverage", tables, neighbours, times, 0))
    kept = list(building.kept(found, Times({"kept": {"acc": share}}), Random(1)))
    assert [group for group in kept if group.head == "cov"] == [group for group in found if group.head == "cov"]
    count = sum(group.head == "acc" for group in found)
    assert count > 300
    assert sum(group.head == "acc" for group in kept) == pytest.approx(share * count, abs=0.06 * count * (share < 1))
    rng = Random(1)
    list(building.kept(found, Times({}), rng))
    assert rng.random() == Random(1).random(), "nothing is drawn where all are kept"


def test_a_summary_in_its_own_words_is_only_ranked(neighbours) -> None:
    """Beside a copied sentence that stands for it, it would teach that what is copied is true."""
    loose = Continued(0, SUMMARY[2], "A zebra was", MADE_UP)
    tables = replace(fill(DOCUMENTS), continued=[loose, *CONTINUED])
    for builder, grounds in (("written summaries", " ".join(READ)), ("written claims", None)):
        times = Times({**TIMES, "con.edits": {"other": 0.0}, "con.ranked": {"other": 1}})
        found = list(building.groups(builder, tables, neighbours, times, 1))
        ranked = [group for group in found if group.texts[0].label == BETTER]
        assert len(ranked) == 1
        (group,) = ranked
        assert (group.head, group.ranked) == ("con", True)
        assert [plain(text.output) for text in group.texts] == [plain(SUMMARY[2]), plain(f"A zebra was{MADE_UP}")]
        assert group.texts[1].label == WORSE
        assert all(text.wrong is None for text in group.texts), "nobody knows what of them is true"
        assert grounds is None or group.texts[0].grounds == grounds
        assert all("zebra" not in text.output.lower() for other in found if other is not group for text in other.texts)


def test_an_end_that_may_be_true_is_not_ranked() -> None:
    none = np.zeros((0, 1), np.int32)
    material = Material(fill(DOCUMENTS), Neighbours(none, none, {}), Times({}), Random(1))
    same = Continued(0, SUMMARY[2], "A zebra was", " elected in Paris on Monday.")
    assert not list(ranked_claims(material, same, facts.Known(" ".join(READ)), "grounds"))


def test_a_recipe_that_ranks_none_draws_nothing() -> None:
    none = np.zeros((0, 1), np.int32)
    for share, drawn in ((0.0, False), (1.0, True)):
        times = Times({"con.ranked": {"other": share}})
        material = Material(fill(DOCUMENTS), Neighbours(none, none, {}), times, Random(1))
        assert only_ranked(material, "xsum") == drawn
        assert (material.rng.random() == Random(1).random()) != drawn
