"""IM2's lessons: valid utterances, swapped turns, nearest wrong responses, five classes from ratings, GRADE's ranking.

Open points of the paper are settled here: which similarity finds C for AB-AC (TF-IDF cosine by default), and how
ratings of other scales become five classes (a straight line from the scale's ends to 1 and 5, rounded half up).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from quintet.errors import InputError
from quintet.text.tokens import words
from quintet_train.items import PairItem, RankItem, TargetItem, TextItem
from quintet_train.pseudo.usr import other_turn
from quintet_train.rows import Dialogue, Rated, Record
from quintet_train.text import chunks
from quintet_train.text.corrupt import Mode, invalid_utterance, valid_utterance

NUF = ("grammar", "Natural", "Understandable", "Correct", "Fluent")
IES = ("content", "Engaging", "Interesting", "Specific", "informativeness")
"""Qualities of a category (paper Table 11)."""
SCALES = ((0.0, 1.0), (0.0, 2.0), (1.0, 3.0), (0.0, 3.0), (1.0, 5.0), (0.0, 5.0), (0.0, 100.0))


def _dialogues(records: Sequence[Record]) -> list[Dialogue]:
    return [record for record in records if isinstance(record, Dialogue)]


def vup(records: Sequence[Record], limit: int, rng: Random, *, mode: Mode = "paper") -> list[PairItem]:
    """Half of the turns are spoiled if they have three words, the others kept (some of them lightly thinned)."""
    items: list[PairItem] = []
    for turn in (turn for dialogue in _dialogues(records) for turn in dialogue.turns):
        parts = chunks.split_words(turn)
        if not parts:
            continue
        bad = invalid_utterance(parts, rng) if rng.random() < 0.5 else None
        if bad is not None:
            items.append(PairItem(" ".join(bad), None, 0))
        else:
            items.append(PairItem(" ".join(valid_utterance(parts, rng, mode)), None, 1))
    rng.shuffle(items)
    return items[:limit] if limit else items


def _adjacent(dialogues: Sequence[Dialogue]) -> list[tuple[int, str, str]]:
    return [
        (index, first, second)
        for index, dialogue in enumerate(dialogues)
        for first, second in zip(dialogue.turns, dialogue.turns[1:], strict=False)
        if first.strip() and second.strip() and first != second
    ]


def swapped(records: Sequence[Record], limit: int, rng: Random) -> list[PairItem]:
    """AB-BA: every adjacent pair is 1, the same pair turned round is 0."""
    pairs = _adjacent(_dialogues(records))
    rng.shuffle(pairs)
    items = [item for _, a, b in pairs for item in (PairItem(a, b, 1), PairItem(b, a, 0))]
    return items[:limit] if limit else items


class Nearest:
    """For a response, the response of another dialogue with the largest TF-IDF cosine."""

    def __init__(self, responses: Sequence[str], owners: Sequence[int]) -> None:
        self.responses = responses
        self.owners = np.asarray(owners)
        numbers = {text: number for number, text in enumerate(responses)}
        self.same = np.asarray([numbers[text] for text in responses])
        counts = [Counter(piece.text.lower() for piece in words(text)) for text in responses]
        holding = Counter(word for count in counts for word in count)
        total = len(responses)
        self.vectors: list[dict[str, float]] = []
        places: dict[str, list[int]] = defaultdict(list)
        weights: dict[str, list[float]] = defaultdict(list)
        for index, count in enumerate(counts):
            vector = {w: n * (1 + math.log((1 + total) / (1 + holding[w]))) for w, n in count.items()}
            norm = math.sqrt(sum(value * value for value in vector.values())) or 1.0
            vector = {word: value / norm for word, value in vector.items()}
            self.vectors.append(vector)
            for word, value in vector.items():
                # Words in more than a tenth of all responses cost most of the time and tell least.
                if holding[word] <= max(50, total // 10):
                    places[word].append(index)
                    weights[word].append(value)
        self.postings = {word: (np.asarray(places[word]), np.asarray(weights[word])) for word in places}

    def of(self, index: int) -> str | None:
        """None if no other dialogue shares a telling word."""
        scores = np.zeros(len(self.responses))
        for word, value in self.vectors[index].items():
            if word in self.postings:
                where, weight = self.postings[word]
                scores[where] += value * weight
        scores[(self.owners == self.owners[index]) | (self.same == self.same[index])] = 0.0
        best = int(scores.argmax())
        return self.responses[best] if scores[best] > 0 else None


def nearest(records: Sequence[Record], limit: int, rng: Random, *, similarity: str = "tfidf") -> list[PairItem]:
    """AB-AC: the true response is 1, the nearest (or, with `random`, any) response of another dialogue is 0."""
    if similarity not in ("tfidf", "random"):
        raise InputError(f"im2.nearest knows similarity tfidf or random, not {similarity!r}")
    dialogues = _dialogues(records)
    pairs = _adjacent(dialogues)
    rng.shuffle(pairs)
    table = Nearest([b for _, _, b in pairs], [owner for owner, _, _ in pairs])
    items: list[PairItem] = []
    for index, (owner, a, b) in enumerate(pairs):
        wrong = table.of(index) if similarity == "tfidf" else None
        wrong = wrong or other_turn(dialogues, owner, b, rng)
        if wrong is not None:
            items += [PairItem(a, b, 1), PairItem(a, wrong, 0)]
        if limit and len(items) >= limit:
            break
    return items[:limit] if limit else items


def scale_of(values: Sequence[float]) -> tuple[float, float]:
    """The narrowest usual scale that holds all values."""
    low, high = min(values), max(values)
    for bottom, top in SCALES:
        if bottom <= low and high <= top:
            return bottom, top
    raise InputError(f"ratings from {low:g} to {high:g} fit no known scale", todo="rescale them to 1-5")


def five_point(mean: float, scale: tuple[float, float]) -> float:
    """The mean rating on a line from 1 (bottom of its scale) to 5 (top)."""
    return 1 + 4 * (mean - scale[0]) / (scale[1] - scale[0])


def five_classes(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    *,
    category: str = "NUF",
    mode: str = "released",
    sees: str = "both",
) -> list[PairItem] | list[TargetItem]:
    """5-NUF and 5-IES from ratings: classes 0..4 for cross-entropy (`released`), 1..5 for squared error (`paper`)."""
    if category not in ("NUF", "IES"):
        raise InputError(f"category must be NUF or IES, not {category!r}")
    if sees not in ("both", "response"):
        raise InputError(f"im2.five_classes sees both or response, not {sees!r}")
    qualities = NUF if category == "NUF" else IES
    rated = [record for record in records if isinstance(record, Rated)]
    scales = _scales(rated)
    targets: list[TargetItem] = []
    for record in rated:
        points = [
            five_point(sum(values) / len(values), scales[record.origin, name])
            for name, values in record.ratings.items()
            if name in qualities
        ]
        if points and record.response.strip():
            first, second = (record.context, record.response) if sees == "both" else (record.response, None)
            targets.append(TargetItem(first, second, sum(points) / len(points)))
    rng.shuffle(targets)
    targets = targets[:limit] if limit else targets
    if mode == "paper":
        return targets
    return [PairItem(t.first, t.second, min(4, max(0, math.floor(t.target + 0.5) - 1))) for t in targets]


def _scales(rated: Sequence[Rated]) -> Mapping[tuple[str, str], tuple[float, float]]:
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in rated:
        for name, numbers in record.ratings.items():
            values[record.origin, name] += numbers
    return {key: scale_of(numbers) for key, numbers in values.items()}


def responses(records: Sequence[Record], limit: int, rng: Random) -> list[TextItem]:
    """D-MLM: turns on their own, one item each."""
    items = [TextItem(turn) for dialogue in _dialogues(records) for turn in dialogue.turns if turn.strip()]
    rng.shuffle(items)
    return items[:limit] if limit else items


def ranking(records: Sequence[Record], limit: int, rng: Random, *, hard: float = 0.5) -> list[RankItem]:
    """GRADE: two turns of context, the true response above a wrong one; a share `hard` of those are nearest ones."""
    dialogues = _dialogues(records)
    places = [(d, t) for d, whole in enumerate(dialogues) for t in range(1, len(whole.turns)) if whole.turns[t].strip()]
    rng.shuffle(places)
    table = Nearest([dialogues[d].turns[t] for d, t in places], [d for d, _ in places])
    items: list[RankItem] = []
    for index, (d, t) in enumerate(places):
        own = dialogues[d].turns
        wrong = table.of(index) if rng.random() < hard else None
        wrong = wrong or other_turn(dialogues, d, own[t], rng)
        if wrong is not None:
            items.append(RankItem(" ".join(own[max(0, t - 2) : t]), own[t], wrong))
        if limit and len(items) >= limit:
            break
    return items
