"""Groups of the heads that look at whole texts: order, coherence, relevance, coverage, fluency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from quintet.text.content_words import content_words
from quintet_train.evaluator import facts, noise
from quintet_train.evaluator.groups import Group, Judged, Material, part_of
from quintet_train.evaluator.tables import Acceptable, Document, MinimalPair, Span


class Passage(NamedTuple):
    """Sentences that belong together, their rows in the flat list, the document they are of."""

    sentences: Sequence[str]
    rows: Span
    document: int
    beside: bool = False
    """Whether the document is shown as well."""


def order(material: Material, part: int, parts: int) -> Iterator[Group]:
    """ord: two neighbouring blocks of sentences, in order and swapped."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document = tables.documents[number]
        read = document.read
        if len(read) >= 4:
            for _ in range(material.times.whole("ord", document.source)):
                start = rng.randrange(max(1, len(read) - 6))
                yield _two_blocks(read[start : start + 6], rng)
        if len(document.summary) > 1:
            yield _two_blocks(document.summary, rng)
    for story in tables.stories[part::parts]:
        if rng.random() < 0.5:
            yield _two_blocks(story.sentences, rng)


def _two_blocks(sentences: Sequence[str], rng: Random) -> Group:
    cut = rng.randrange(1, len(sentences))
    first = " ".join(sentences[max(0, cut - rng.choice([1, 1, 2, 3])) : cut])
    second = " ".join(sentences[cut : cut + rng.choice([1, 1, 2, 3])])
    return Group("ord", [Judged(first, second, 1), Judged(second, first, 0)])


def _passages(material: Material, part: int, parts: int) -> Iterator[Passage]:
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document, rows = tables.documents[number], tables.summary[number]
        if len(document.summary) >= 2 and rows.size:
            for _ in range(material.times.whole("coh.summary", document.source)):
                yield Passage(document.summary, rows, number)
        rows = tables.body[number]
        if rows.size < 5:
            continue
        for _ in range(material.times.whole("coh.body", document.source)):
            length = rng.choice([3, 3, 4, 5])
            start = 0 if rng.random() < 0.4 else rng.randrange(max(1, rows.size - length))
            own = Span(rows.first + start, min(length, rows.size - start))
            yield Passage(tables.sentences[own.first : own.first + own.size], own, number)


def coherence(material: Material, part: int, parts: int) -> Iterator[Group]:
    """coh: a passage above broken ones; stories above shuffled ones; endings that fit."""
    tables, rng = material.tables, material.rng
    for passage in _passages(material, part, parts):
        told = " ".join(material.styled(text) if rng.random() < 0.1 else text for text in passage.sentences)
        yield Group("coh", [Judged(told, "", 1), *_broken_texts(material, passage, "")])
    for story in tables.stories[part::parts]:
        place, told_badly = rng.randrange(len(story.sentences)), list(story.sentences)
        if rng.random() < 0.5:
            rng.shuffle(told_badly)
        else:
            told_badly[place] = rng.choice(rng.choice(tables.stories).sentences)
        if told_badly != list(story.sentences):
            yield Group("coh", [Judged(" ".join(story.sentences), "", 1), Judged(" ".join(told_badly), "", 0)])
    for ending in tables.endings[part::parts]:
        yield Group("coh", [Judged(" ".join(ending.sentences), "", int(ending.coherent))], False)


def document_coherence(material: Material, part: int, parts: int) -> Iterator[Group]:
    """cohd: the same beside the document."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document = tables.documents[number]
        if len(document.read) < 6:
            continue
        grounds, summary, body = " ".join(document.read), tables.summary[number], tables.body[number]
        for _ in range(material.times.whole("cohd", document.source)):
            if len(document.summary) >= 2 and summary.size and rng.random() < 0.7:
                passage = Passage(document.summary, summary, number, True)
            else:
                rows = Span(body.first, min(body.size, rng.choice([2, 3, 3, 4])))
                if rows.size < 2:
                    continue
                passage = Passage(tables.sentences[rows.first : rows.first + rows.size], rows, number, True)
            good = Judged(" ".join(passage.sentences), grounds, 1)
            yield Group("cohd", [good, *_broken_texts(material, passage, grounds)])


def _broken_texts(material: Material, passage: Passage, grounds: str) -> list[Judged]:
    made = [broken(material, passage) for _ in range(2)]
    return [Judged(" ".join(one), grounds, 0) for one in made if one != list(passage.sentences)]


_BREAKS = (
    "shuffle", "swap", "foreign", "foreign", "two foreign", "again", "again", "jump", "cut", "fragment", "backwards",
    "far", "garble", "contradict", "break off", "deny", "deny",
)  # fmt: skip


def broken(material: Material, passage: Passage) -> list[str]:
    """One way of losing coherence; may leave the passage as it is."""
    rng, out = material.rng, list(passage.sentences)
    kind = rng.choice(_BREAKS)
    if kind == "shuffle":
        rng.shuffle(out)
    elif kind == "swap" and len(out) > 2:
        place = rng.randrange(len(out) - 1)
        out[place], out[place + 1] = out[place + 1], out[place]
    elif kind == "backwards":
        out.reverse()
    elif kind in ("foreign", "two foreign"):
        for _ in range(1 if kind == "foreign" else 2):
            near = material.near_sentence(passage.rows)
            out[rng.randrange(len(out))] = near
    elif kind == "far":
        out = [material.any_sentence() if rng.random() < 0.6 else text for text in out]
    elif kind == "garble":
        place = rng.randrange(len(out))
        out[place] = noise.corrupt(out[place], rng, [rng.choice(out)], 2)
    elif kind in _SENTENCE_BREAKS:
        _SENTENCE_BREAKS[kind](material, passage, out)
    return out


def _say_again(material: Material, passage: Passage, out: list[str]) -> None:
    rng = material.rng
    said = rng.choice(out)
    again = facts.shorten(said, rng) if rng.random() < 0.5 else said
    out.insert(rng.randrange(len(out) + 1), again)


def _jump(material: Material, passage: Passage, out: list[str]) -> None:
    """Sentences from elsewhere in the same document."""
    rng, body = material.rng, material.tables.body[passage.document]
    if body.size > 6:
        for _ in range(rng.choice([1, 2])):
            # The value is drawn before the place, as an assignment does.
            other = material.tables.sentences[body.first + rng.randrange(body.size)]
            out[rng.randrange(len(out))] = other


def _cut(material: Material, passage: Passage, out: list[str]) -> None:
    rng = material.rng
    place = rng.randrange(len(out))
    words = out[place].split()
    out[place] = " ".join(words[: max(2, len(words) * 2 // 3)]) + rng.choice(["", "."])
    if rng.random() < 0.5:
        place = rng.randrange(len(out))
        words = out[place].split()
        out[place] = " ".join(words[len(words) // 3 :])


def _insert_fragment(material: Material, passage: Passage, out: list[str]) -> None:
    rng = material.rng
    words = rng.choice(out).split()
    start = rng.randrange(max(1, len(words) - 3))
    place = rng.randrange(len(out) + 1)
    out.insert(place, " ".join(words[start : start + rng.choice([2, 3, 5])]) + ".")


def _contradict(material: Material, passage: Passage, out: list[str]) -> None:
    """The same thing said again, but differently."""
    rng = material.rng
    said = rng.choice(out)
    named = [found.text for text in out for found in facts.names(text)]
    lent = facts.Donors(named, similar=material.neighbours.words)
    edited = facts.falsify(said, rng, lent)
    out.insert(rng.randrange(len(out) + 1), edited.text if edited else said)


def _deny(material: Material, passage: Passage, out: list[str]) -> None:
    """Beside its document a denied sentence does not fit; alone it mostly could, so there it is also said twice."""
    place = material.rng.randrange(len(out))
    denied = facts.deny(out[place], material.rng)
    if denied is None:
        return
    if passage.beside:
        out[place] = denied
    else:
        out.insert(place + 1, denied)


def _break_off(material: Material, passage: Passage, out: list[str]) -> None:
    words = out[-1].split()
    least = len(words) // 3
    kept = max(2, material.rng.randrange(least, max(least + 1, len(words) - 1)))
    out[-1] = " ".join(words[:kept]).rstrip(".,")


_SENTENCE_BREAKS: dict[str, Callable[[Material, Passage, list[str]], None]] = {
    "again": _say_again,
    "jump": _jump,
    "cut": _cut,
    "fragment": _insert_fragment,
    "contradict": _contradict,
    "break off": _break_off,
    "deny": _deny,
}


_SELECTIONS = ("lead", "rest", "rest", "near summary", "part", "part", "mixed", "first half")


def relevance(material: Material, part: int, parts: int) -> Iterator[Group]:
    """rel: the summary above parts of it, leads, other sentences and summaries of near documents."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document = tables.documents[number]
        if len(document.read) < 6 or not document.summary:
            continue
        grounds, whole = " ".join(document.read), " ".join(document.summary)
        for _ in range(material.times.whole("rel", document.source)):
            texts = [Judged(whole, grounds, 1)]
            for kind in rng.sample(_SELECTIONS, 3):
                chosen = _other_selection(material, document, number, kind)
                if chosen is not None:
                    texts.append(Judged(" ".join(chosen[0]), grounds, chosen[1]))
            yield Group("rel", texts)


def _other_selection(
    material: Material, document: Document, number: int, kind: str
) -> tuple[Sequence[str], float] | None:
    """Sentences and how good a summary they are; None where this kind does not fit."""
    tables, rng = material.tables, material.rng
    read, summary = document.read, document.summary
    size, half = len(summary), len(read) // 2
    if kind == "lead":
        return read[:size], 0.75
    if kind == "first half":
        return rng.sample(read[:half], min(size, half)), 0.4
    if kind == "rest":
        return rng.sample(read[half:], min(size, len(read) - half)), 0.15
    if kind == "near summary":
        rows = tables.summary[number] if tables.summary[number].size else tables.body[number]
        if not rows.size:
            return None
        return tables.documents[int(tables.sentence_document[material.near_row(rows)])].summary, 0.0
    if kind == "part":
        if size < 2:
            return None
        count = rng.randrange(1, size)
        kept = set(rng.sample(range(size), count))
        return [text for place, text in enumerate(summary) if place in kept], 0.25 + 0.55 * count / size
    mixed = [text if rng.random() < 0.5 else rng.choice(read[len(read) // 3 :]) for text in summary]
    return None if mixed == list(summary) else (mixed, 0.35 if summary[0] in mixed else 0.2)


def coverage(material: Material, part: int, parts: int) -> Iterator[Group]:
    """cov: the share of a reference's content words that a text keeps."""
    tables, rng = material.tables, material.rng
    for number in part_of(len(tables.documents), part, parts):
        document, rows = tables.documents[number], tables.summary[number]
        reference = " ".join(document.summary)
        wanted = content_words(reference)
        if not rows.size or len(reference.split()) < 8:
            continue
        for _ in range(material.times.whole("cov", document.source)):
            if not wanted:
                continue
            text = _partial(material, document.summary, reference, rows)
            kept = set(content_words(text))
            share = len([word for word in wanted if word in kept]) / len(wanted)
            yield Group("cov", [Judged(material.styled(text), reference, round(share, 3))], False)
        read = document.read
        if material.times.whole("cov.extracts", document.source) and len(read) > 5:
            for chosen in (read[:3], rng.sample(read[5:], min(3, len(read) - 5))):
                extract = " ".join(chosen)
                share = len(set(wanted) & set(content_words(extract))) / max(1, len(set(wanted)))
                yield Group("cov", [Judged(extract, reference, round(min(1.0, share * 1.3), 3))], False)


def _partial(material: Material, summary: Sequence[str], reference: str, rows: Span) -> str:
    rng, draw = material.rng, material.rng.random()
    if draw < 0.35 and len(summary) > 1:
        return " ".join(rng.sample(summary, rng.randrange(1, len(summary) + 1)))
    if draw < 0.7:
        return " ".join(text if rng.random() < 0.5 else material.near_sentence(rows) for text in summary)
    if draw < 0.85:
        return " ".join(facts.shorten(text, rng) for text in summary)
    words = reference.split()
    return " ".join(words[: rng.randrange(2, len(words))])


def acceptability(material: Material, part: int, parts: int) -> Iterator[Group]:
    """acc: text above the same text with a generator's mistakes; judged sentences; corrected translations."""
    tables, rng = material.tables, material.rng
    several = [doc for doc in tables.documents if len(doc.summary) >= 2 or len(doc.read) >= 4]
    for _ in part_of((len(tables.turns) + len(tables.sentences)) // 8, part, parts):
        group = _with_mistakes(material, several)
        if group is not None:
            yield group
    for judged in tables.acceptable[part::parts]:
        if isinstance(judged, MinimalPair):
            yield Group("acc", [Judged(judged.good, "", 1), Judged(judged.bad, "", 0)])
        elif not _left_out(judged, rng):
            yield Group("acc", [Judged(judged.text, "", judged.value)], False)
    for made in tables.translations[part::parts]:
        if made.edits and made.edits > 0.25:
            value = 0.15 + 0.45 * (made.rating / 100)
            yield Group("acc", [Judged(made.corrected, "", 1), Judged(made.machine, "", value)])
    for pair in tables.similarities[part::parts]:
        if pair.grammar is not None:
            yield Group("acc", [Judged(pair.text, "", pair.grammar)], False)


def _left_out(judged: Acceptable, rng: Random) -> bool:
    return judged.thinned and judged.text.islower() and rng.random() < 0.6


def _with_mistakes(material: Material, several: Sequence[Document]) -> Group | None:
    rng = material.rng
    text = _clean_text(material, several)
    if not text or not 3 <= sum(len(sentence.split()) for sentence in text) <= 110:
        return None
    pool = [material.any_turn(), material.any_sentence(), *text[:2], text[0]]
    good = material.styled(" ".join(text))
    texts = [Judged(good, "", 1)]
    for count in [1, 3] if rng.random() < 0.35 else [rng.choice([1, 1, 2, 3])]:
        bad = noise.corrupt_sentences(text, rng, pool, count)
        if bad.lower() != good.lower():
            texts.append(Judged(material.styled(bad), "", 0.25 if count == 1 else 0.0))
    return Group("acc", texts) if len(texts) > 1 else None


def _clean_text(material: Material, several: Sequence[Document]) -> list[str]:
    tables, rng, draw = material.tables, material.rng, material.rng.random()
    if draw < 0.1 and tables.described:
        return [rng.choice(rng.choice(tables.described).texts)]
    if draw < 0.17 and tables.stories:
        story = rng.choice(tables.stories).sentences
        start = rng.randrange(4)
        return list(story[start : start + rng.choice([1, 2, 3])])
    if draw < 0.42 and several:
        document = rng.choice(several)
        count = rng.choice([2, 3, 3, 4])
        if len(document.summary) >= 2 and rng.random() < 0.5:
            return list(document.summary[:5])
        if rng.random() < 0.5:
            return list(document.read[:count])
        start = rng.randrange(max(1, len(document.read) - count))
        return list(document.read[start : start + count])
    return [rng.choice(tables.turns if rng.random() < 0.45 else tables.sentences)]
