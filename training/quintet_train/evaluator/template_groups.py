"""Groups for the fluency of short descriptions: mistakes that generators from slots make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from quintet_train.evaluator import noise
from quintet_train.evaluator.groups import Group, Judged, Material
from quintet_train.evaluator.tables import Described, Slot

_VERBS = frozenset({
    "is", "are", "has", "have", "was", "were", "be", "serves", "serve", "located", "offers", "allow", "allows",
    "accept", "accepts", "provides", "priced", "do", "does", "would", "want", "need", "looking", "called", "named",
})  # fmt: skip
_JOINTS = ("and", "and is", "and has", ", and", "that is", "which", "with", "and it", "in the", "near the", "for a")
_ARTICLES = ("a", "an", "the")
_LOWER = 0.5


def templates(material: Material, part: int, parts: int) -> Iterator[Group]:
    """acc: a description above the same with one or several mistakes."""
    rng, described = material.rng, material.tables.described
    for one in described[part::parts]:
        for text in one.texts[: material.times.drawn("acc.templates", one.source, rng)]:
            group = _with_mistakes(one, text, rng.choice(rng.choice(described).texts), rng)
            if group is not None:
                yield group


def _with_mistakes(one: Described, text: str, other: str, rng: Random) -> Group | None:
    if not 4 <= len(text.split()) <= 60:
        return None
    lower = rng.random() < _LOWER
    good = text.lower() if lower else text
    texts = [Judged(good, "", 1)]
    for count in (1, 3) if rng.random() < 0.3 else (rng.choice([1, 1, 2]),):
        words = text.split()
        for _ in range(count):
            words = rng.choice(_MISTAKES)(list(words), rng, one.slots, other) or words
        bad = " ".join(words)
        if bad.lower() != text.lower():
            texts.append(Judged(bad.lower() if lower else bad, "", 0.25 if count == 1 else 0.0))
    return Group("acc", texts) if len(texts) > 1 else None


Slots = Sequence[Slot]
Mistake = Callable[[list[str], Random, Slots, str], list[str]]


def _usual(mistake: noise.Mistake) -> Mistake:
    return lambda words, rng, slots, other: mistake(words, rng, [other])


def _lose_verb(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    places = [place for place, word in enumerate(words) if word.lower() in _VERBS]
    if places:
        words.pop(rng.choice(places))
    return words


def _say_value_again(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    """A value once more, where it does not belong or in place of another word."""
    values = [slot.value for slot in slots if slot.value and len(slot.value.split()) < 5]
    if not values:
        return words
    place = rng.randrange(len(words) + 1)
    return words[:place] + rng.choice(values).split() + words[place + (rng.random() < 0.3) :]


def _name_slot(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    """The slot's name where its value belongs, as from a template that was not filled."""
    filled = [slot for slot in slots if slot.value and slot.value.lower() in " ".join(words).lower()]
    if not filled:
        return words
    slot = rng.choice(filled)
    text = " ".join(words)
    start = text.lower().index(slot.value.lower())
    name = rng.choice([slot.name, slot.name.replace("_", " "), f"x{slot.name}", f"_{slot.name}_", "x", ""])
    return (text[:start] + name + text[start + len(slot.value) :]).split()


def _join_badly(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    """A joint too many, in the middle or left hanging."""
    place = len(words) if rng.random() < 0.35 else rng.randrange(1, max(2, len(words)))
    if place == len(words):
        words[-1] = words[-1].rstrip(".!?")
    return words[:place] + rng.choice(_JOINTS).split() + words[place:]


def _fragments(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    """Two pieces of the same text in the wrong order, or one twice with a joint."""
    cut = rng.randrange(1, max(2, len(words)))
    if rng.random() < 0.5:
        return [*(word.rstrip(".") for word in words[cut:]), *words[:cut]]
    return [*(word.rstrip(".") for word in words), rng.choice(["and", ",", "with"]), *words[cut:]]


def _wrong_article(words: list[str], rng: Random, slots: Slots, other: str) -> list[str]:
    places = [place for place, word in enumerate(words) if word.lower() in _ARTICLES]
    if not places:
        place = rng.randrange(len(words))
        return [*words[:place], rng.choice(_ARTICLES), *words[place:]]
    place = rng.choice(places)
    others = [article for article in (*_ARTICLES, "") if article != words[place].lower()]
    new = rng.choice([*others, f"{words[place]} {rng.choice(_ARTICLES)}"])
    return [*words[:place], *new.split(), *words[place + 1 :]]


_MISTAKES: tuple[Mistake, ...] = (
    _usual(noise.loop), _usual(noise.loop), _usual(noise.repeat_span), _usual(noise.repeat_later),
    _usual(noise.drop_function_words), _usual(noise.drop_words), _usual(noise.wrong_preposition),
    _usual(noise.disagree), _usual(noise.run_into_other), _usual(noise.break_off), _lose_verb, _lose_verb,
    _say_value_again, _say_value_again, _name_slot, _join_badly, _join_badly, _fragments,
    _wrong_article, _wrong_article,
)  # fmt: skip
