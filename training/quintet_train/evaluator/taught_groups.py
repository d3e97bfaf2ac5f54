"""Groups of claims that a teacher judged (teaching.py): its chances are the labels, and claims are ranked by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quintet_train.evaluator.groups import ENTAILMENT, ENTAILMENT_LABELS, Group, Judged, Material, part_of
from quintet_train.evaluator.tables import Retold
from quintet_train.evaluator.teaching import Shown, nearest

_TOGETHER = 5
"""Texts of a group: more would be ranked in too many pairs."""
_SURE = 0.2
"""Entailment is taught where the teacher is surer than this, either way."""
_SENTENCES = (2, 2, 3, 4)
"""Of a text that is made of several claims."""


def taught_claims(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con, ranked, and nli: beside the nearest window as often as the recipe's table `taught.windows` says, and beside
    the beginning of the document as `taught.whole` says; `taught.joined` is the share of the latter in which several
    claims make one text."""
    tables, rng, times = material.tables, material.rng, material.times
    by_document: dict[int, list[Retold]] = {}
    for told in tables.retold:
        if told.supported is not None:
            by_document.setdefault(told.document, []).append(told)
    for number in part_of(len(tables.documents), part, parts):
        own, source = by_document.get(number), tables.documents[number].source
        if not own:
            continue
        shown = Shown.of(tables.documents[number])
        for _ in range(times.drawn("taught.windows", source, rng)):
            yield from _beside_windows(material, own, shown)
        for _ in range(times.drawn("taught.whole", source, rng)):
            chosen = rng.sample(own, len(own))
            if rng.random() < times.of("taught.joined", source):
                chosen = list(_summaries(material, chosen))
            yield from _groups(material, chosen, shown.beginning)


def _beside_windows(material: Material, own: Sequence[Retold], shown: Shown) -> Iterator[Group]:
    by_window: dict[int, list[Retold]] = {}
    for told in material.rng.sample(own, len(own)):
        by_window.setdefault(nearest(told.claim, shown.words), []).append(told)
    for place, chosen in by_window.items():
        yield from _groups(material, chosen, shown.windows[place])


def _groups(material: Material, chosen: Sequence[Retold], grounds: str) -> Iterator[Group]:
    share = material.times.of("nli.taught", "all")
    for start in range(0, len(chosen), _TOGETHER):
        texts = [_judged(material, told, grounds) for told in chosen[start : start + _TOGETHER]]
        yield Group("con", texts)
        if material.rng.random() < share:
            yield from _entailed(texts)


def _summaries(material: Material, chosen: Sequence[Retold]) -> Iterator[Retold]:
    """Several claims as one text. One false sentence spoils it, but not as much as several."""
    place = 0
    while place < len(chosen):
        count = material.rng.choice(_SENTENCES)
        yield _joined(chosen[place : place + count])
        place += count


def _joined(claims: Sequence[Retold]) -> Retold:
    texts, wrong, unsure, start = [], list[tuple[int, int]](), list[tuple[int, int]](), 0
    for told in claims:
        text = told.claim.rstrip()
        text = text if text[-1:] in '.!?"' else f"{text}."
        wrong += [(start + begin, start + end) for begin, end in told.wrong]
        unsure += [(start + begin, start + end) for begin, end in told.unsure]
        texts.append(text)
        start += len(text) + 1
    chances = [told.supported or 0.0 for told in claims]
    label = (min(chances) + sum(chances) / len(chances)) / 2
    return Retold(claims[0].document, " ".join(texts), label, tuple(wrong), tuple(unsure))


def _judged(material: Material, told: Retold, grounds: str) -> Judged:
    return Judged(material.styled(told.claim), grounds, told.supported or 0.0, told.wrong, told.unsure)


def _entailed(texts: Sequence[Judged]) -> Iterator[Group]:
    sure = []
    for text in texts:
        if text.label >= 1 - _SURE:
            sure.append(text._replace(label=ENTAILMENT_LABELS["entailment"]))
        elif text.label <= _SURE:
            sure.append(text._replace(label=ENTAILMENT_LABELS["not_entailment"]))
    if sure:
        yield Group(ENTAILMENT, sure, False)
