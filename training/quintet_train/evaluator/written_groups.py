"""Groups of claims that a language model ended without its document: fluent, likely, and mostly made up."""

from __future__ import annotations

from collections.abc import Iterator

from quintet_train.evaluator import facts
from quintet_train.evaluator.claim_groups import window
from quintet_train.evaluator.groups import BETTER, ENTAILMENT, ENTAILMENT_LABELS, WORSE, Group, Judged, Material
from quintet_train.evaluator.tables import Continued

_NEAR = (45, 60, 75, 110)
"""Words of the windows that entailment is asked about."""


def written_claims(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con and nli: what the document says above what only the language model says; new words are marked."""
    tables, rng = material.tables, material.rng
    share, beside = material.times.of("nli.written", "all"), material.times.of("con.windows", "all")
    for made in tables.continued[part::parts]:
        if beside < 1 and rng.random() >= beside:
            continue
        document = tables.documents[made.document]
        known, true = facts.Known(document.text), made.claim
        sure = facts.supported(true, known)
        if not sure and only_ranked(material, document.source):
            yield from ranked_claims(material, made, known, window(material, document.text, true))
            continue
        if not sure:
            # Some summaries say more than their text: one of its own sentences is true instead.
            true = facts.shorten(rng.choice(document.read), rng)
        false = made_up(made, known, sure)
        if false is None:
            continue
        grounds = window(material, document.text, true)
        yield Group("con", [Judged(material.styled(true), grounds, 1, ()), Judged(false.text, grounds, 0, false.wrong)])
        if rng.random() < share:
            yield from _entailed(material, document.text, true, false)


def only_ranked(material: Material, source: str) -> bool:
    """Whether the recipe ranks this claim, which says more than its text; nothing is drawn where it ranks none."""
    share = material.times.of("con.ranked", source)
    return share > 0 and material.rng.random() < share


def ranked_claims(material: Material, made: Continued, known: facts.Known, grounds: str) -> Iterator[Group]:
    """con: a summary in its own words above the same with a made-up end; nobody knows whether it is true.

    Both are abstractive. Beside a sentence of the text instead, that what is copied is true would be the lesson.
    """
    text = made.kept + made.ending
    if facts.strange_words(text, known.and_of(made.claim), len(made.kept)).clear:
        styled = material.styled(made.claim)
        yield Group("con", [Judged(styled, grounds, BETTER), Judged(text, grounds, WORSE)])


def made_up(made: Continued, known: facts.Known, sure: bool) -> facts.Edited | None:
    """The claim with its new end, and the words that nothing supports; None where the end may well be true.

    `sure`: the claim was true, so nothing of its beginning is wrong and all of its words are known.
    """
    text = made.kept + made.ending
    known = known.and_of(made.claim) if sure else known
    found = facts.strange_words(text, known, len(made.kept))
    if not found.clear:
        return None
    spans = found.spans if sure else facts.strange_words(text, known).spans
    return facts.Edited(text, _run_together(text, spans))


def _run_together(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Small words between two made-up ones are made up as well."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and len(text[out[-1][1] : start].split()) <= 1:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _entailed(material: Material, document: str, true: str, false: facts.Edited) -> Iterator[Group]:
    """In a short window, if all of the evidence stands there."""
    grounds = window(material, document, true, _NEAR)
    if facts.supported(true, facts.Known(grounds)):
        labels = ENTAILMENT_LABELS
        texts = [Judged(material.styled(true), grounds, labels["entailment"], ())]
        texts.append(Judged(false.text, grounds, labels["not_entailment"], false.wrong))
        yield Group(ENTAILMENT, texts, False)
