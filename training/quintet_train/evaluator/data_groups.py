"""Groups of the head for data-to-text: a text and slots that it says, or nearly says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from quintet_train.evaluator import noise
from quintet_train.evaluator.groups import Group, Judged, Material
from quintet_train.evaluator.tables import Described, Slot

_CHANGES = ("add", "add", "change", "change", "drop", "corrupt", "act")
_ACTS = ("inform", "request", "confirm", "offer", "goodbye", "notify_failure", "select")
ACTS_SOURCE = "sgd"
"""Only its meaning representations have acts that mean something."""


def data_to_text(material: Material, part: int, parts: int) -> Iterator[Group]:
    """d2t: text and slots above slots with one added, changed or dropped, and above corrupted text."""
    rng, described = material.rng, material.tables.described
    values: dict[str, list[str]] = {}
    for one in described:
        for slot in one.slots:
            if slot.value:
                values.setdefault(slot.name, []).append(slot.value)
    filled = [slot for one in described for slot in one.slots if slot.value]
    for one in described[part::parts]:
        if not one.slots:
            continue
        for text in one.texts[:2]:
            texts = [Judged(material.styled(text), written(one.slots, rng), 1)]
            for kind in rng.sample(_CHANGES, 3):
                changed = _changed(material, one, text, kind, values, filled)
                if changed is not None:
                    texts.append(Judged(material.styled(changed[0]), written(changed[1], rng), 0))
            yield Group("d2t", texts)


def _changed(
    material: Material, one: Described, text: str, kind: str, values: Mapping[str, list[str]], filled: Sequence[Slot]
) -> tuple[str, list[Slot]] | None:
    """Text and slots that do not fit one another; None where this change is impossible."""
    rng, slots = material.rng, list(one.slots)
    place = rng.randrange(len(slots))
    if kind == "add":
        other = rng.choice(filled)
        slots.insert(rng.randrange(len(slots) + 1), Slot(slots[0].act, other.name, other.value))
    elif kind == "change":
        act, name, value = slots[place]
        drawn = [rng.choice(values[name]) for _ in range(6)] if value and name in values else []
        others = [new for new in drawn if new.lower() != value.lower()]
        if not others:
            return None
        slots[place] = Slot(act, name, others[0])
    elif kind == "drop":
        if len(slots) < 2:
            return None
        slots.pop(place)
    elif kind == "act":
        if one.source != ACTS_SOURCE:
            return None
        act = rng.choice([name for name in _ACTS if name != slots[0].act])
        slots = [Slot(act, slot.name, slot.value) for slot in slots]
    else:
        lent = rng.choice(rng.choice(material.tables.described).texts)
        return noise.corrupt(text, rng, [lent], rng.choice([1, 2, 3])), slots
    return text, slots


def written(slots: Sequence[Slot], rng: Random) -> str:
    """A meaning representation in one of the forms that people use."""
    acts: dict[str, list[Slot]] = {}
    for slot in slots:
        acts.setdefault(slot.act, []).append(slot)
    joint, quote = rng.choice([",", ";", ", "]), rng.choice(["'", "", ""])
    draw = rng.random()
    if draw < 0.75:
        return " ".join(
            f"{act}({joint.join(f'{s.name}={quote}{s.value}{quote}' if s.value else s.name for s in own)})"
            for act, own in acts.items()
        )
    if draw < 0.9:
        return ", ".join(f"{slot.name}[{slot.value}]" for slot in slots)
    return " | ".join(f"{slot.name}: {slot.value}" for slot in slots)
