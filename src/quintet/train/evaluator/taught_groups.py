"""Groups of claims that a teacher judged (teaching.py): its chances are the labels, and claims are ranked by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quintet.train.evaluator.groups import ENTAILMENT, ENTAILMENT_LABELS, Group, Judged, Material, part_of
from quintet.train.evaluator.tables import Retold
from quintet.train.evaluator.teaching import Shown, nearest

_TOGETHER = 5
"""Claims of a group: more would be ranked in too many pairs."""
_SURE = 0.2
"""Entailment is taught where the teacher is surer than this, either way."""


def taught_claims(material: Material, part: int, parts: int) -> Iterator[Group]:
    """con, ranked, and nli: beside the nearest window as often as the recipe's table `taught.windows` says, and beside
    the beginning of the document as `taught.whole` says."""
    tables, rng, times = material.tables, material.rng, material.times
    by_document: dict[int, list[Retold]] = {}
    for told in tables.retold:
        if told.supported is not None:
            by_document.setdefault(told.document, []).append(told)
    share = times.of("nli.taught", "all")
    for number in part_of(len(tables.documents), part, parts):
        own = by_document.get(number)
        if not own:
            continue
        shown = Shown.of(tables.documents[number])
        places = [nearest(told.claim, shown.words) for told in own]
        source = tables.documents[number].source
        for beside, count in (("windows", times.of("taught.windows", source)), ("whole", times.of("taught.whole", source))):
            for _ in range(int(count) + (rng.random() < count % 1)):
                order = rng.sample(range(len(own)), len(own))
                for grounds, chosen in _beside(beside, order, places, shown):
                    texts = [_judged(material, own[place], grounds) for place in chosen]
                    yield Group("con", texts)
                    if rng.random() < share:
                        yield from _entailed(texts)


def _beside(
    beside: str, order: Sequence[int], places: Sequence[int], shown: Shown
) -> Iterator[tuple[str, list[int]]]:  # fmt: skip
    """Claims in groups of the same grounds."""
    if beside == "whole":
        by_grounds = {shown.beginning: list(order)}
    else:
        by_grounds = {}
        for place in order:
            by_grounds.setdefault(shown.windows[places[place]], []).append(place)
    for grounds, own in by_grounds.items():
        for start in range(0, len(own), _TOGETHER):
            yield grounds, own[start : start + _TOGETHER]


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
