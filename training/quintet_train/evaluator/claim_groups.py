"""Groups of the heads that compare two texts: entailment, support by a document, adequacy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from quintet.text.content_words import content_words
from quintet_train.evaluator import facts, noise
from quintet_train.evaluator.groups import (
    BETTER,
    ENTAILMENT,
    ENTAILMENT_LABELS,
    WORSE,
    Group,
    Judged,
    Material,
    part_of,
)
from quintet_train.evaluator.tables import Document, Entailment, Translation

_WINDOWS = (60, 120, 220, 330, 330)
"""Words of a document that a claim is shown with."""
_SHORT_TEXT = 70


def entailment(material: Material, part: int, parts: int) -> Iterator[Group]:
    """nli, and con with the premise hidden in a longer text: what was not supported stays so."""
    tables, rng = material.tables, material.rng
    rows = [row for row in tables.entailments if row.label in ENTAILMENT_LABELS]
    for number in part_of(len(rows), part, parts):
        row = rows[number]
        label = ENTAILMENT_LABELS[row.label]
        if len(row.premise.split()) >= _SHORT_TEXT:
            yield from _long_premise(material, row, label)
            continue
        yield Group(ENTAILMENT, [Judged(material.styled(row.hypothesis), row.premise, label)], False)
        if rng.random() < 0.4:
            styled = material.styled(row.hypothesis)
            grounds = material.hidden(row.premise, rng.choice([1, 2, 3, 5]))
            yield Group(ENTAILMENT, [Judged(styled, grounds, label)], False)
        if rng.random() < material.times.of("con.nli", row.source):
            grounds = _among_premises(material, rows, row.premise)
            yield Group("con", [Judged(material.styled(row.hypothesis), grounds, int(label == 0))], False)
        if rng.random() < 0.15:
            yield Group("con", [Judged(material.styled(row.hypothesis), row.premise, int(label == 0))], False)


def _long_premise(material: Material, row: Entailment, label: int) -> Iterator[Group]:
    """As it is, or a window around the evidence: nothing is hidden in what is long already."""
    for head, value in ((ENTAILMENT, label), ("con", int(label == 0))):
        grounds = window(material, row.premise, row.hypothesis, (220, 250, 250))
        yield Group(head, [Judged(material.styled(row.hypothesis), grounds, value)], False)


def _among_premises(material: Material, rows: Sequence[Entailment], premise: str) -> str:
    """Among sentences of one text, or among other premises."""
    rng, sentences = material.rng, material.tables.sentences
    count = rng.choice([2, 4, 8, 14])
    start = rng.randrange(max(1, len(sentences) - count))
    if rng.random() < 0.6:
        others = sentences[start : start + count]
    else:
        others = [rows[rng.randrange(len(rows))].premise for _ in range(count)]
    others.insert(rng.randrange(len(others) + 1), premise)
    return " ".join(others)


def paraphrases(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con: the claim says in other words what one sentence of the window says."""
    tables, rng = material.tables, material.rng
    for pair in tables.similarities[part::parts]:
        supported = _says_the_same(pair.source, pair.similarity)
        if supported is None or len(pair.text.split()) < 4:
            continue
        grounds = material.hidden(pair.other)
        if not supported:
            if pair.similarity > 0.25 or rng.random() < 0.4:
                yield Group("con", [Judged(material.styled(pair.text), grounds, 0)], False)
            continue
        styled = material.styled(pair.text)
        yield _claim_and_edit(material, styled, pair.text, grounds)
    for made in tables.translations[part::parts]:
        if len(made.corrected.split()) >= 5 and rng.random() >= 0.35:
            yield from _translated_claim(material, made)


def _says_the_same(source: str, similarity: float) -> bool | None:
    if source == "mrpc":
        # Its "no" only says that one of the two sentences holds more.
        return True if similarity > 0.8 else None
    return True if similarity >= 0.9 else False if similarity <= 0.5 else None


def _claim_and_edit(material: Material, styled: str, claim: str, grounds: str) -> Group:
    """The claim above an edited one, or above what another text says."""
    texts = [Judged(styled, grounds, 1, ())]
    if material.rng.random() < material.times.of("con.edits", "paraphrases"):
        edited = facts.falsify(claim, material.rng, material.donors(material.any_sentence()))
        if edited:
            texts.append(Judged(edited.text, grounds, 0, edited.wrong))
    else:
        texts.append(Judged(material.styled(material.any_sentence()), grounds, 0))
    return Group("con", texts)


def _translated_claim(material: Material, made: Translation) -> Iterator[Group]:
    rng = material.rng
    if made.rating >= 82 or (made.edits is not None and made.edits < 0.12):
        claim, other = (made.machine, made.corrected) if rng.random() < 0.8 else (made.corrected, made.machine)
        grounds = material.hidden(other)
        styled = material.styled(claim)
        yield _claim_and_edit(material, styled, claim, grounds)
    elif made.rating < 45:
        styled = material.styled(made.machine)
        yield Group("con", [Judged(styled, material.hidden(made.corrected), 0)], False)


def support(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con: summaries and shortened sentences above edited ones, neighbours' sentences and foreign tails."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document = tables.documents[number]
        times = material.times.whole("con", document.source)
        if not times or not document.sentences:
            continue
        names = list(dict.fromkeys(found.text for text in document.read for found in facts.names(text)))
        numbers = list(dict.fromkeys(found for text in document.read for found in facts.numbers(text)))
        for _ in range(times):
            other = tables.documents[rng.randrange(len(tables.documents))]
            foreign = [found.text for text in other.read[:8] for found in facts.names(text)]
            phrases = [*telling_phrases(other.read[:12]), *long_phrases(document.read)[:3]]
            claim = _claim(material, document)
            if claim is not None:
                yield _support_group(material, number, claim, names, foreign, facts.Donors((), numbers, phrases))


def telling_phrases(sentences: Sequence[str]) -> list[str]:
    """Phrases with a name, a number or three words: others would often stay true."""
    return [
        phrase
        for text in sentences
        for phrase in facts.phrases(text)
        if len(phrase.split()) > 2 or any(letter.isupper() or letter.isdigit() for letter in phrase)
    ]


def long_phrases(sentences: Sequence[str]) -> list[str]:
    return [phrase for text in sentences for phrase in facts.phrases(text) if len(phrase.split()) > 2]


def _claim(material: Material, document: Document) -> str | None:
    """What the document says, in its own words or its summary's."""
    rng, read, summary = material.rng, document.read, document.summary
    draw = rng.random()
    summarised = summary and material.times.of("con.summary", document.source)
    if (draw < 0.6 or len(read) < 4) and summarised:
        text = rng.choice(summary)
        if len(summary) > 1 and rng.random() < 0.25:
            text = " ".join(summary)
        # XSum's summaries often say more than the text does.
        loose = material.times.of("con.loose", document.source)
        if not loose or facts.supported(text, facts.Known(document.text)):
            return text
    if not read:
        return None
    place = rng.randrange(min(len(read), 30))
    text = facts.shorten(read[place], rng)
    if draw > 0.8 and place + 1 < len(read):
        joint = rng.choice([" and ", ", while ", ". "])
        text = text.rstrip(".") + joint + facts.shorten(read[place + 1], rng)
    return text if len(text.split()) >= 4 else None


def _support_group(
    material: Material, number: int, claim: str, names: list[str], foreign: list[str], lent: facts.Donors
) -> Group:
    rng, document = material.rng, material.tables.documents[number]
    grounds = _grounds(material, number, claim)
    texts = [Judged(material.styled(claim), grounds, 1, ())]
    if rng.random() < material.times.of("con.edits", document.source):
        pool = names if rng.random() < 0.5 else names + foreign * 3
        edited = facts.falsify(claim, rng, facts.Donors(pool, lent.numbers, lent.phrases))
        if edited:
            texts.append(Judged(edited.text, grounds, 0, edited.wrong))
    rows = material.tables.body[number]
    near = material.near_sentence(rows) if rows.size else ""
    # Agencies sell one sentence to many papers: what stands in this text as well is no false claim.
    if near in (*document.sentences, *document.summary):
        near = ""
    if near and rng.random() < 0.5:
        texts.append(Judged(material.styled(facts.shorten(near, rng)), grounds, 0))
    if rng.random() < 0.3 or len(texts) < 2:
        joined = _other_end(claim, near if rng.random() < 0.5 else rng.choice(document.read), rng)
        if joined:
            texts.append(Judged(joined.text, grounds, 0, joined.wrong))
    return Group("con", texts)


def _other_end(claim: str, other: str, rng: Random) -> facts.Edited | None:
    """The beginning of a claim with the end of another sentence: a near text's, or one of the same text."""
    words, tail = claim.split(), other.split()
    if len(words) <= 8 or len(tail) <= 6 or other in claim or claim in other:
        return None
    head = " ".join(words[: len(words) * rng.choice([1, 2]) // 3])
    end = " ".join(tail[len(tail) // 2 :])
    # Two sentences that begin alike may go on with what is true.
    if set(content_words(end)) <= set(content_words(claim)):
        return None
    return facts.Edited(f"{head} {end}", ((len(head) + 1, len(head) + 1 + len(end)),))


def _grounds(material: Material, number: int, claim: str) -> str:
    """A window of the document; a text of one sentence is mostly hidden among sentences of near texts."""
    rng, text, rows = material.rng, material.tables.documents[number].text, material.tables.body[number]
    if len(text.split()) >= _SHORT_TEXT or rng.random() >= 0.6:
        return window(material, text, claim)
    if rng.random() < 0.5 or not rows.size:
        return material.hidden(text)
    near = material.neighbours.sentences[rows.first + rng.randrange(rows.size)]
    others = [material.tables.sentences[row] for row in rng.sample(list(near), rng.choice([2, 4, 7]))]
    others.insert(rng.randrange(len(others) + 1), text)
    return " ".join(others)


def window(material: Material, document: str, claim: str, sizes: Sequence[int] = _WINDOWS) -> str:
    """Words of the document around the claim's evidence: where most of its content words stand."""
    rng, words = material.rng, document.split()
    size = rng.choice(sizes)
    if len(words) <= size:
        return document
    wanted = set(content_words(claim))
    hits = np.cumsum([0, *(word.strip(".,'\"!?").lower() in wanted for word in words)])
    starts = range(0, len(words) - size + 1, max(1, size // 8))
    best = max(starts, key=lambda start: int(hits[start + size] - hits[start]))
    start = max(0, min(len(words) - size, best + rng.randrange(-size // 8, size // 8 + 1)))
    return " ".join(words[start : start + size])


def adequacy(material: Material, part: int, parts: int) -> Iterator[Group]:
    """adq: rated pairs, translations with their marked words, preferences, two texts of one meaning."""
    tables, rng = material.tables, material.rng
    for pair in tables.similarities[part::parts]:
        # Ratings of `grammar` belong to one side.
        kept = rng.random() < 0.5 or pair.grammar is not None
        text, other = (pair.text, pair.other) if kept else (pair.other, pair.text)
        yield Group("adq", [Judged(material.styled(text), other, pair.similarity)], False)
    for made in tables.translations[part::parts]:
        yield _rated_translation(material, made)
    for preference in tables.preferences[part::parts]:
        if rng.random() < 0.5:
            better = Judged(preference.better, preference.reference, BETTER)
            yield Group("adq", [better, Judged(preference.worse, preference.reference, WORSE)])
    for described in tables.described[part::parts]:
        if len(described.texts) > 1:
            first, second = described.texts[:2]
            bad = noise.corrupt(first, rng, described.texts, 3)
            yield Group("adq", [Judged(first, second, 0.9), Judged(bad, second, 0.45)])


def _rated_translation(material: Material, made: Translation) -> Group:
    wrong = _marked(made)
    text = " ".join(made.words.split()) if wrong is not None else made.machine
    rated = Judged(text, made.corrected, round(made.rating / 100, 3), wrong)
    same = Judged(made.corrected, made.corrected, 1.0)
    if material.rng.random() < 0.1:
        return Group("adq", [rated, same])
    translations = material.tables.translations
    other = translations[material.rng.randrange(len(translations))].corrected
    return Group("adq", [rated, same if other == made.corrected else Judged(made.machine, other, 0.0)])


def _marked(made: Translation) -> list[tuple[int, int]] | None:
    words = made.words.split()
    if not made.marks or len(made.marks) != 2 * len(words) + 1:
        return None
    wrong, start = [], 0
    for place, word in enumerate(words):
        if made.marks[2 * place + 1] == "0":
            wrong.append((start, start + len(word)))
        start += len(word) + 1
    return wrong
