"""Groups of whole summaries beside their whole document, as the product judges outputs: one false sentence spoils one.

Other builders put single claims beside windows, where the evidence is near. Here most of the document is beside the
point, and most of a false summary is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quintet_train.evaluator import facts
from quintet_train.evaluator.claim_groups import long_phrases, telling_phrases
from quintet_train.evaluator.facts import Edited
from quintet_train.evaluator.groups import ENTAILMENT, ENTAILMENT_LABELS, Group, Judged, Material, part_of
from quintet_train.evaluator.tables import Continued, Document
from quintet_train.evaluator.written_groups import made_up, only_ranked, ranked_claims

_SHOWN_WORDS = 600
"""Of a document, in whole sentences: with its summary up to about 1,000 tokens, so that no evidence is cut off."""
_TOLD_WORDS = 120
_LEAST_SENTENCES = 4
_COUNTS = (1, 1, 2, 3, 3, 4, 5)
"""Sentences of a summary, as far as they stay within its words."""
_SUMMARISED = 0.6
"""How often it begins with sentences of the document's own summary."""
_LEAST_WORDS = 4


@dataclass(frozen=True)
class _Page:
    number: int
    document: Document
    shown: tuple[str, ...]
    summary: tuple[str, ...]
    """Sentences of the document's summary that what is shown supports."""
    written: tuple[tuple[str, Edited], ...]
    """Claims that a language model ended: the true one, and the made-up one."""
    loose: tuple[Continued, ...]
    """Those of a summary that says more than the document: they are only ranked."""

    @property
    def grounds(self) -> str:
        return " ".join(self.shown)


def written_summaries(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con and nli: a true summary above the same with one or two false sentences; wrong words are marked."""
    tables, rng = material.tables, material.rng
    wanted = {
        number: times
        for number in part_of(len(tables.documents), part, parts)
        if (times := material.times.whole("con.whole", tables.documents[number].source))
    }
    written: dict[int, list[Continued]] = {}
    for made in tables.continued if wanted else ():
        if made.document in wanted:
            written.setdefault(made.document, []).append(made)
    share = material.times.of("nli.whole", "all")
    for number, times in wanted.items():
        page = _page(material, number, written.get(number, []))
        if page is not None and page.loose:
            whole = facts.Known(page.document.text)
            for made in page.loose:
                yield from ranked_claims(material, made, whole, page.grounds)
        for _ in range(times if page is not None else 0):
            texts = _texts(material, page) if page is not None else []
            if len(texts) < 2:
                continue
            yield Group("con", texts)
            if rng.random() < share:
                labels = (ENTAILMENT_LABELS["not_entailment"], ENTAILMENT_LABELS["entailment"])
                yield Group(ENTAILMENT, [text._replace(label=labels[int(text.label)]) for text in texts], False)


def _page(material: Material, number: int, written: Sequence[Continued]) -> _Page | None:
    """None where there is too little to choose from."""
    document = material.tables.documents[number]
    shown = _beginning(document.read, _SHOWN_WORDS)
    if len(shown) < _LEAST_SENTENCES:
        return None
    known, whole = facts.Known(" ".join(shown)), facts.Known(document.text)
    summary = document.summary if material.times.of("con.summary", document.source) else ()
    sure = [facts.supported(made.claim, whole) for made in written]
    loose = [not true and only_ranked(material, document.source) for true in sure]
    found = [
        (made.claim, made_up(made, whole, true))
        for made, true, left in zip(written, sure, loose, strict=True)
        if not left
    ]
    return _Page(
        number,
        document,
        shown,
        tuple(_ended(text) for text in summary if facts.supported(text, known)),
        tuple((_ended(claim), false._replace(text=_ended(false.text))) for claim, false in found if false is not None),
        tuple(made for made, left in zip(written, loose, strict=True) if left),
    )


def _beginning(sentences: Sequence[str], most: int) -> tuple[str, ...]:
    """Whole sentences of together at most so many words."""
    words, out = 0, []
    for text in sentences:
        words += len(text.split())
        if words > most:
            break
        out.append(text)
    return tuple(out)


def _ended(text: str) -> str:
    """With a full stop: inside a summary a sentence that breaks off would tell."""
    text = text.rstrip()
    return text if text[-1:] in '.!?"' else f"{text}."


def _texts(material: Material, page: _Page) -> list[Judged]:
    """The true summary, and one or two false ones."""
    rng = material.rng
    true = _beginning(_true_sentences(material, page), _TOLD_WORDS)
    if not true:
        return []
    told = _joined([Edited(text, ()) for text in true])
    out = [Judged(material.styled(told.text), page.grounds, 1, ())]
    for _ in range(2 if rng.random() < 0.3 else 1):
        false = _joined(_with_false_ones(material, page, true))
        if false.wrong and all(false.text.lower() != text.output.lower() for text in out):
            out.append(Judged(false.text, page.grounds, 0, false.wrong))
    return out


def _true_sentences(material: Material, page: _Page) -> list[str]:
    """Of the document's summary, and of the document, shortened."""
    rng = material.rng
    count = rng.choice(_COUNTS)
    own: list[str] = []
    if page.summary and rng.random() < _SUMMARISED:
        start = rng.randrange(max(1, len(page.summary) - count + 1))
        own += page.summary[start : start + count]
    places = sorted(rng.sample(range(len(page.shown)), min(count - len(own), len(page.shown))))
    own += [_ended(facts.shorten(page.shown[place], rng)) for place in places]
    return list(dict.fromkeys(text for text in own if len(text.split()) >= _LEAST_WORDS))


def _with_false_ones(material: Material, page: _Page, true: Sequence[str]) -> list[Edited]:
    """One or two sentences replaced: by claims that a language model ended, or by edits of themselves."""
    rng, out = material.rng, [Edited(text, ()) for text in true]
    places = rng.sample(range(len(true)), rng.choice([1, 1, 2]) if len(true) > 2 else 1)
    # Best beside the very sentence that it was made of.
    begun = [place for place, text in enumerate(true) if any(claim == text for claim, _ in page.written)]
    if begun and rng.random() < 0.7:
        places[0] = rng.choice(begun)
    left = list(page.written)
    for place in dict.fromkeys(places):
        by_rule = rng.random() < material.times.of("con.edits", page.document.source)
        same = [one for one in left if one[0] == true[place]] or left
        if same and not by_rule:
            claim, out[place] = rng.choice(same)
            left = [one for one in left if one[0] != claim]
        else:
            out[place] = facts.falsify(true[place], rng, _donors(material, page)) or out[place]
    return out


def _donors(material: Material, page: _Page) -> facts.Donors:
    """Names of the document and of another one, numbers of the document, phrases of both."""
    rng, documents = material.rng, material.tables.documents
    other = documents[rng.randrange(len(documents))]
    names = list(dict.fromkeys(found.text for text in page.shown for found in facts.names(text)))
    foreign = [found.text for text in other.read[:8] for found in facts.names(text)]
    numbers = list(dict.fromkeys(found for text in page.shown for found in facts.numbers(text)))
    phrases = [*telling_phrases(other.read[:12]), *long_phrases(page.shown)[:3]]
    return facts.Donors(names if rng.random() < 0.5 else names + foreign * 3, numbers, phrases)


def _joined(parts: Sequence[Edited]) -> Edited:
    texts, spans, start = [], [], 0
    for text, wrong in parts:
        spans += [(start + begin, start + end) for begin, end in wrong]
        texts.append(text)
        start += len(text) + 1
    return Edited(" ".join(texts), tuple(spans))
