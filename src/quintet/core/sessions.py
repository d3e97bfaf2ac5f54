"""Scores of whole conversations, from those of their turns: the mean, the worst turn, the end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from quintet.core.item import Scored
from quintet.core.plain import JsonObject


@dataclass(frozen=True, slots=True)
class SessionScore:
    """Of one dimension; NaN where no turn has a score."""

    mean: float
    worst: float
    worst_turn: int | None
    end: float
    """Of the last turn that has a score."""


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    system: str | None
    turns: int
    scores: Mapping[str, SessionScore]

    def to_json(self) -> JsonObject:
        """One flat row: `coherence`, `coherence.worst`, `coherence.worst_turn`, `coherence.end`."""
        row: JsonObject = {"session": self.id, "turns": self.turns}
        if self.system is not None:
            row["system"] = self.system
        for name, score in self.scores.items():
            row[name], row[f"{name}.worst"] = _plain(score.mean), _plain(score.worst)
            row[f"{name}.worst_turn"], row[f"{name}.end"] = score.worst_turn, _plain(score.end)
        return row


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


@dataclass
class Sessions:
    """Gathers turns as they come; a conversation is what shares a group."""

    lower_is_better: frozenset[str] = frozenset()
    _values: dict[str, list[Mapping[str, float]]] = field(default_factory=dict)
    _systems: dict[str, str | None] = field(default_factory=dict)

    def add(self, scored: Scored) -> None:
        example = scored.item.example
        if example is None or example.group is None:
            return
        self._systems.setdefault(example.group, example.system)
        self._values.setdefault(example.group, []).append({n: s.value for n, s in scored.scores.items()})

    def __iter__(self) -> Iterator[Session]:
        for name, turns in self._values.items():
            labels = dict.fromkeys(label for turn in turns for label in turn)
            scores = {label: self._score(label, turns) for label in labels}
            yield Session(name, self._systems[name], len(turns), scores)

    def _score(self, label: str, turns: Iterable[Mapping[str, float]]) -> SessionScore:
        known = [(turn[label], at) for at, turn in enumerate(turns, 1) if not math.isnan(turn.get(label, math.nan))]
        if not known:
            return SessionScore(math.nan, math.nan, None, math.nan)
        sign = -1.0 if label in self.lower_is_better else 1.0
        worst, at = min(known, key=lambda pair: (sign * pair[0], pair[1]))
        return SessionScore(math.fsum(value for value, _ in known) / len(known), worst, at, known[-1][0])
