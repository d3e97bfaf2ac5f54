"""Groups of the dialogue heads: the reply that follows, its order, its nearest rival, and the fact it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from quintet.text.content_words import content_words
from quintet.text.sentences import sentences
from quintet_train.evaluator import facts, noise
from quintet_train.evaluator.groups import TURN_MARK, Group, Judged, Material, part_of
from quintet_train.evaluator.tables import Answered, Dialogue, Document

DULL = (
    "i don't know.", "that's cool.", "oh, really?", "yeah, i think so.", "i'm not sure.",
    "wow, that's interesting.", "me too.", "i agree.", "that is true.", "what do you mean?", "ok.", "haha, yes.",
    "that sounds like fun.", "thank you.", "i see.", "i like it too.", "nice.", "sure.", "no, i don't.",
    "i have no idea.", "good for you.", "i don't think so.", "that's great.", "how about you?", "what do you do?",
    "i love it.", "that is a good point.", "i did not know that.", "really? that's amazing.", "sounds good to me.",
)  # fmt: skip
_OPENINGS = (
    "", "", "i heard that ", "did you know that ", "yes, ", "i read that ", "apparently ", "wow, ", "i think ",
    "that is interesting. ", "well, ", "oh really? ",
)  # fmt: skip
_CLOSINGS = (
    "", "", " what do you think?", " isn't that crazy?", " that's pretty cool.", " have you heard about that?",
    " i had no idea.",
)  # fmt: skip
_FACT_WORDS = 200
# Mostly foreign replies of the same register: too many on-topic negatives teach the head to punish staying on topic.
_WRONG_REPLIES = (
    ["random"] * 4 + ["source"] * 5 + ["same length"] * 3 + ["near", "dull", "corrupt", "repeat", "parrot", "parrot"]
)

_AWARE, _UNAWARE = 0.6, 0.1
"""What replies of a language model are worth that had read the turns before, or others: below a person's, so that how a
reply is said does not tell whether it follows."""


def selection(material: Material, part: int, parts: int) -> Iterator[Group]:
    """sel: the reply that was given, above three others."""
    tables, rng = material.tables, material.rng
    by_source: dict[str, list[Dialogue]] = {}
    for dialogue in tables.dialogues:
        by_source.setdefault(dialogue.source, []).append(dialogue)
    written: dict[tuple[int, int], list[Answered]] = {}
    for one in tables.answered:
        written.setdefault((one.dialogue, one.turn), []).append(one)
    for number in part_of(len(tables.dialogues), part, parts):
        dialogue = tables.dialogues[number]
        for turn in range(1, len(dialogue.turns)):
            count = material.times.drawn("sel", dialogue.source, rng)
            if (dialogue.human and not dialogue.human[turn]) or len(dialogue.turns[turn].split()) < 2:
                continue
            for _ in range(count):
                yield _selection_group(material, by_source, number, turn)
            if (number, turn) in written:
                yield _selection_group(material, by_source, number, turn, written[number, turn])
    for number in part_of(len(tables.choices), part, parts):
        choice = tables.choices[number]
        history = material.history(choice.history, rng.choice([3, 6, 10]))
        whole = TURN_MARK.join(choice.history[-10:])
        wrong = [reply for place, reply in enumerate(choice.replies) if place != choice.right]
        yield Group("sel", [Judged(choice.replies[choice.right], history, 1),
                            *(Judged(reply, whole, 0) for reply in wrong[:2])])  # fmt: skip


def _selection_group(
    material: Material, by_source: dict[str, list[Dialogue]], number: int, turn: int, written: Sequence[Answered] = ()
) -> Group:
    """`written`: what a language model said in place of the reply."""
    rng, dialogue = material.rng, material.tables.dialogues[number]
    right = dialogue.turns[turn]
    history = material.history(dialogue.turns[:turn])
    texts = [Judged(material.styled(right), history, 1)]
    texts += [Judged(material.styled(one.reply), history, _AWARE if one.aware else _UNAWARE) for one in written]
    for kind in rng.sample(_WRONG_REPLIES, 3 - min(2, len(written))):
        wrong = _wrong_reply(material, by_source, number, turn, kind) or material.any_turn()
        if wrong.strip().lower() != right.strip().lower():
            texts.append(Judged(material.styled(wrong), history, 0))
    fact = dialogue.facts[turn] if dialogue.facts else ""
    return Group("sel", texts, beside=" ".join(fact.split()[:_FACT_WORDS]))


def _wrong_reply(
    material: Material, by_source: dict[str, list[Dialogue]], number: int, turn: int, kind: str
) -> str | None:
    """None where this kind does not fit; any turn takes its place."""
    rng, dialogue = material.rng, material.tables.dialogues[number]
    right = dialogue.turns[turn]
    if kind == "near":
        return material.near_turn(number, turn)
    if kind == "repeat":
        said = dialogue.turns[max(0, turn - rng.choice([1, 1, 2, 2, 3]))]
        return noise.corrupt(said, rng, DULL, 1) if rng.random() < 0.4 else said
    if kind == "parrot":
        return _parroted(dialogue.turns[turn - 1], rng)
    if kind == "dull":
        dull = rng.choice(DULL)
        return None if len(right.split()) < 6 else dull
    if kind == "corrupt":
        return noise.corrupt(right, rng, [material.any_turn()], rng.choice([2, 3]))
    if kind == "source":
        other = rng.choice(by_source[dialogue.source])
        return rng.choice(other.turns) if other is not dialogue else None
    if kind == "same length":
        return min((material.any_turn() for _ in range(12)), key=lambda text: abs(len(text) - len(right)))
    return None


def _parroted(said: str, rng: Random) -> str:
    """The last turn given back: whole, its last sentence, or after a small word."""
    draw = rng.random()
    if draw < 0.5:
        return said
    if draw < 0.75:
        return said[sentences(said)[-1].start :] if sentences(said) else said
    return rng.choice(["yes, ", "well, ", "so ", "i think "]) + said


def order_of_turns(material: Material, part: int, parts: int) -> Iterator[Group]:
    """abac: the reply above the nearest ones of other dialogues. abba: turn and reply above the two swapped."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.dialogues), part, parts):
        dialogue = tables.dialogues[number]
        turns, share = dialogue.turns, material.times.of("abac", dialogue.source)
        for turn in range(1, len(turns)):
            reply, before = turns[turn], turns[turn - 1]
            if rng.random() < share and len(reply.split()) > 2:
                history = material.history(turns[:turn])
                right = Judged(material.styled(reply), history, 1)
                near = [Judged(material.styled(material.near_turn(number, turn)), history, 0) for _ in range(2)]
                yield Group("abac", [right, *near])
            if rng.random() < share and len(reply.split()) > 2 and len(before.split()) > 2:
                yield Group(
                    "abba", [Judged(material.styled(reply), before, 1), Judged(material.styled(before), reply, 0)]
                )


def grounding(material: Material, part: int, parts: int) -> Iterator[Group]:
    """gro: a reply that uses its fact above replies that do not."""
    tables = material.tables
    for number in part_of(len(tables.documents), part, parts):
        document = tables.documents[number]
        if len(document.read) >= 5:
            for _ in range(material.times.whole("gro", document.source)):
                yield _talk_about(material, document, number)
    for number in part_of(len(tables.dialogues), part, parts):
        if tables.dialogues[number].facts:
            yield from _used_facts(material, number)


def _talk_about(material: Material, document: Document, number: int) -> Group:
    """A sentence of the document said as in conversation."""
    rng, read = material.rng, document.read
    start = rng.randrange(len(read) - 3)
    fact = read[start : start + rng.choice([1, 2, 3])]
    sentence = rng.choice(fact)
    grounds = " ".join(fact)
    said = rng.choice(_OPENINGS) + facts.shorten(sentence, rng) + rng.choice(_CLOSINGS)
    if len(sentence.split()) > 8 and rng.random() < 0.5:
        words = sentence.split()
        end = rng.randrange(3, len(words))
        said = rng.choice(_OPENINGS) + " ".join(words[max(0, end - 8) : end + 4]) + rng.choice(_CLOSINGS)
    texts = [Judged(said.lower() if rng.random() < 0.5 else said, grounds, 1)]
    if material.tables.body[number].size:
        near = material.near_sentence(material.tables.body[number])
        said = rng.choice(_OPENINGS) + facts.shorten(near, rng) + rng.choice(_CLOSINGS)
        texts.append(Judged(said, grounds, 0))
    texts.append(Judged(material.styled(material.any_turn()), grounds, 0))
    return Group("gro", texts)


def _used_facts(material: Material, number: int) -> Iterator[Group]:
    """Turns that share content words with what their speaker could read."""
    rng, dialogue = material.rng, material.tables.dialogues[number]
    # Sections of several paragraphs: the one sentence that a turn uses is the better fact.
    sections = material.times.of("sections", dialogue.source)
    for turn in range(1, len(dialogue.turns)):
        fact, reply = dialogue.facts[turn], dialogue.turns[turn]
        if not fact:
            continue
        own = set(content_words(reply))
        scored = [(len(set(content_words(piece.text)) & own), piece.text) for piece in sentences(fact, "line")]
        shared, best = max(scored, key=lambda pair: pair[0]) if scored else (0, "")
        grounds = best if sections and rng.random() < sections else " ".join(fact.split()[:_FACT_WORDS])
        if shared < (3 if sections else 2):
            continue
        other = dialogue.turns[rng.randrange(len(dialogue.turns))]
        texts = [Judged(material.styled(reply), grounds, 1)]
        if len(set(content_words(fact)) & set(content_words(other))) < 2:
            texts.append(Judged(material.styled(other), grounds, 0))
        texts.append(Judged(material.styled(material.near_turn(number, turn)), grounds, 0))
        yield Group("gro", texts, beside=TURN_MARK.join(dialogue.turns[max(0, turn - 3) : turn]))
