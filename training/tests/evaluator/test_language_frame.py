"""Packing against twins that split and mark one text at a time: the language model's frame, and the encoder's."""

from __future__ import annotations

import numpy as np
import pytest

from quintet_train import tiny
from quintet_train.evaluator import building
from quintet_train.evaluator.groups import HEADS, Group, Judged
from quintet_train.evaluator.language_frame import LanguageFrame, context_of, same_case, shown_beside
from quintet_train.evaluator.packing import UNKNOWN, Frame, Packed, pack

LONGEST = 64
START = "<|endoftext|>"


@pytest.fixture(scope="module")
def all_groups(tables, neighbours, times) -> list[Group]:
    return [one for name in building.BUILDERS for one in building.groups(name, tables, neighbours, times, 3)]


@pytest.fixture(scope="module")
def frame(tables) -> LanguageFrame:
    return LanguageFrame(tiny.tokenizer("gpt2", [*tables.turns, *tables.sentences]), START, LONGEST)


def split_form(head: str, grounds: str, beside: str) -> tuple[str, str]:
    """What may give way, and what stays before the output."""
    if beside:
        fact, turns = (beside, grounds) if head == "sel" else (grounds, beside)
        said = "".join(f"- {turn}\n" for turn in turns.split(" [SEP] ")) if turns else ""
        return f"{fact.strip()}\n\n{said}", "-"
    if head in ("sel", "abac", "abba"):
        return "".join(f"- {turn}\n" for turn in grounds.split(" [SEP] ")) if grounds else "", "-"
    grounds = grounds.strip()
    if head == "gro":
        return grounds, "\n\n-" if grounds else "-"
    if head == "d2t":
        return grounds, "\n=>" if grounds else "=>"
    return grounds, "\n\nTL;DR:" if grounds else "TL;DR:"


def twin(head: str, text: Judged, beside: str, tokenizer) -> tuple[list[int], list[int], int]:
    """Ids, marks, and size of the output with its line break; marks are looked up character by character."""
    before, form = split_form(head, text.grounds, beside)
    context = tokenizer.encode(before + form, add_special_tokens=False)
    early = [token for token, (at, _) in zip(context.ids, context.offsets, strict=True) if at < len(before)]
    late = context.ids[len(early) :]
    output = tokenizer.encode(" " + text.output.strip(), add_special_tokens=False)
    ids = output.ids[: LONGEST * 2 // 3 if early else LONGEST - 2 - len(late)]
    while early and 2 + len(early) + len(late) + len(ids) > LONGEST:
        early.pop(0 if beside or head in ("sel", "abac", "abba") else -1)
    lead = len(text.output) - len(text.output.lstrip())
    marks = []
    for start, end in output.offsets[: len(ids)]:
        places = set(range(start - 1 + lead, end - 1 + lead))
        if not text.output[max(0, min(places)) : max(places) + 1].strip():
            places.add(max(places) + 1)
        wrong = {place for first, last in text.wrong or () for place in range(first, last)}
        marks.append(UNKNOWN if text.wrong is None else int(not places & wrong))
    whole = [tokenizer.token_to_id(START), *early, *late, *ids, tokenizer.encode("a\n").ids[-1]]
    rest = [UNKNOWN] * (len(whole) - len(ids) - 1)
    return whole, [*rest, *marks, UNKNOWN], len(ids) + 1


def test_texts_are_packed_as_a_plain_twin_packs_them(all_groups, frame) -> None:
    packed = pack(all_groups, frame)
    place = row = 0
    cut = set()
    for number, group in enumerate(map(same_case, all_groups)):
        for text in group.texts:
            ids, marks, size = twin(group.head, text, shown_beside(group), frame.tokenizer)
            length = int(packed.lengths[row])
            assert packed.ids[place : place + length].tolist() == ids, text
            assert packed.marks[place : place + length].tolist() == marks, text
            told = (packed.outputs[row], HEADS[packed.heads[row]], packed.ranked[row], packed.groups[row])
            assert told == (size, group.head, group.ranked, number)
            assert packed.labels[row] == np.float32(text.label)
            cut |= {group.head} if length == LONGEST else set()
            place, row = place + length, row + 1
    assert (place, row) == (len(packed.ids), len(packed.labels))
    assert {"con", "sel", "gro"} <= cut, "long documents, dialogues and facts gave way"


@pytest.mark.parametrize(
    ("head", "grounds", "wanted"),
    [
        ("con", "A b c.", "A b c.\n\nTL;DR: he won\n"), ("nli", "A b c.", "A b c.\n\nTL;DR: he won\n"),
        ("sel", "hello [SEP] you?", "- hello\n- you?\n- he won\n"), ("gro", "A b c.", "A b c.\n\n- he won\n"),
        ("d2t", "inform(x)", "inform(x)\n=> he won\n"), ("coh", "", "TL;DR: he won\n"),
        ("ord", "A b c.", "A b c.\n\nTL;DR: he won\n"),
    ],
)  # fmt: skip
def test_each_head_has_its_form(head: str, grounds: str, wanted: str, frame) -> None:
    (found,) = frame.texts([Group(head, [Judged("he won ", grounds, 1)])])
    assert frame.tokenizer.decode(list(found.ids)[1:]).removeprefix(" ") == wanted
    assert frame.tokenizer.decode(list(found.ids)[-found.size :]) == " he won\n"


def test_documents_lose_their_end_and_dialogues_their_start(frame) -> None:
    told = " ".join(["first", *["middle"] * 90, "last"])
    document, dialogue = (next(frame.texts([Group(head, [Judged("yes", told, 1)])])).ids for head in ("con", "sel"))
    assert len(document) == len(dialogue) == LONGEST
    read = [frame.tokenizer.decode(list(ids)) for ids in (document, dialogue)]
    assert "first" in read[0]
    assert "last" not in read[0]
    assert read[0].endswith("\n\nTL;DR: yes\n")
    assert "first" not in read[1]
    assert read[1].endswith("last\n- yes\n")


def test_half_of_the_replies_stand_after_fact_and_turns() -> None:
    assert context_of("sel", "Hi. [SEP] Yes?", "A fact.").text == "A fact.\n\n- Hi.\n- Yes?\n-"
    assert context_of("gro", "A fact.", "Hi. [SEP] Yes?").text == "A fact.\n\n- Hi.\n- Yes?\n-"
    groups = [Group("sel", [Judged(f"Reply {n}.", "Hi.", 1)], beside="A fact.") for n in range(200)]
    shown = [shown_beside(group) for group in groups]
    assert set(shown) == {"", "A fact."}
    assert 70 < sum(map(bool, shown)) < 130
    assert shown == [shown_beside(group) for group in groups]


def test_case_tells_nothing_inside_a_group() -> None:
    """Builders write some single texts in lower case; spans stand where they stood."""
    wrong = [(3, 7)]
    made = same_case(Group("con", [Judged("he won.", "He won.", 1, ()), Judged("He Lost", "He won.", 0, wrong)]))
    assert [one.output for one in made.texts] == ["he won.", "he lost"]
    assert made.texts[1].wrong == wrong
    assert made.texts[0].grounds == "He won."
    upper = Group("con", [Judged("He won.", "", 1), Judged("42", "", 0)])
    assert same_case(upper) == upper
    longer = Group("con", [Judged("he won", "", 1), Judged("\u0130stanbul won", "", 0)])
    assert same_case(longer) == longer


def test_builders_say_which_heads_they_serve(tables, neighbours, times_of) -> None:
    for name, builder in building.BUILDERS.items():
        found = {group.head for group in building.groups(name, tables, neighbours, times_of(name), 3)}
        assert found == set(builder.heads), name


def test_chosen_heads_have_the_examples_that_they_have_among_all(tables, neighbours, times, frame, monkeypatch) -> None:
    some = building.build(tables, neighbours, times, frame, 3, 2, 1, ("con", "nli"))
    wanted = [
        group
        for name in building.BUILDERS
        for shard in range(2)
        for group in building.groups(name, tables, neighbours, times, 3, shard, 2)
        if group.head in ("con", "nli")
    ]
    same(some, pack(wanted, frame))
    ran: list[str] = []
    before = building.groups
    monkeypatch.setattr(building, "groups", lambda name, *rest: ran.append(name) or before(name, *rest))
    building.build(tables, neighbours, times, frame, 3, 1, 1, ("sel",))
    assert ran == ["selection"]


def same(one: Packed, two: Packed) -> None:
    for name, array in vars(one).items():
        other = getattr(two, name)
        assert array.dtype == other.dtype, name
        assert np.array_equal(array, other), name


@pytest.mark.parametrize("together", [frozenset[str](), frozenset({"sel", "adq"})])
def test_the_encoder_reads_what_it_always_read(all_groups, tables, together) -> None:
    """One text at a time, as it was written before frames of other kinds came; to the bit."""
    tokenizer = tiny.tokenizer("bert", [*tables.turns, *tables.sentences])
    first, last = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    columns: dict[str, list] = {name: [] for name in Packed.__dataclass_fields__}
    for number, group in enumerate(all_groups):
        for text in group.texts:
            found = tokenizer.encode(text.output, add_special_tokens=False)
            output = found.ids[: 40 * 2 // 3 if text.grounds else 38]
            ids = [first, *output, last]
            if text.grounds:
                own: list[int] = []
                for place, turn in enumerate(text.grounds.split(" [SEP] ")):
                    own += [last] * (place > 0) + tokenizer.encode(turn, add_special_tokens=False).ids
                ids += [first] * (group.head not in together) + own[: 36 - len(output)] + [last]
            marks = [UNKNOWN] * len(ids)
            if text.wrong is not None:
                for place, (start, end) in enumerate(found.offsets[: len(output)], 1):
                    marks[place] = int(not any(start < b and end > a for a, b in text.wrong))
            columns["ids"] += ids
            columns["marks"] += marks
            row = (len(ids), len(output), HEADS.index(group.head), text.label, group.ranked, number)
            for name, value in zip(("lengths", "outputs", "heads", "labels", "ranked", "groups"), row, strict=True):
                columns[name].append(value)
    kinds = zip(columns, ("u2", "u1", "i4", "i4", "i2", "f4", "?", "i8"), strict=True)
    wanted = Packed(**{name: np.array(columns[name], kind) for name, kind in kinds})
    same(pack(all_groups, Frame(tokenizer, 40, together)), wanted)
