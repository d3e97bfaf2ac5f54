"""A Study: one dataclass that describes one correlation experiment; `run` gives its records."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from quintet._version import __version__
from quintet.core.metric import signature
from quintet.data.rated import mean_of_rows
from quintet.errors import InputError, UnknownName
from quintet.stats.agreement import human_ceiling, one_against_the_rest
from quintet.stats.coefficients import Array, Indices
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM, POOLED, STATISTICS, Correlation, Layout, Nan, correlate_rows
from quintet.stats.inputs import Names, Ratings, Scores
from quintet.stats.records import CEILING, HUMAN, Record
from quintet.stats.significance import (
    bootstrap_rows,
    check_unit,
    holm,
    interval,
    permutation_test,
    usual_unit,
    williams_test,
)

# Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter", EMNLP).
#
# Of all pairs of items in a group, the share on which the metric says what people say: first better, second better, or
# tied (their acc_eq). A metric with real-valued scores hardly ever ties, so two scores count as tied when they differ
# by at most epsilon. Tie calibration takes the epsilon, among zero and all differences that occur, with the highest
# mean accuracy over the groups; of several, the smallest. It is chosen on the very pairs that are judged, as in the
# paper, and is therefore always reported beside the accuracy.

MOST_PAIRS = 4_000_000
"""Above this many, a seeded sample of pairs is judged (2,829 pooled items have about 4 million pairs)."""


@dataclass(frozen=True)
class Accuracy:
    value: float
    epsilon: float
    pairs: int


@dataclass(frozen=True)
class Pairs:
    """Places of the first and second item of every pair, and what each pair weighs in the mean over groups."""

    first: Indices
    second: Indices
    weight: Array


def pairs_within(groups: Indices, seed: int = 0) -> Pairs:
    """Every pair of items of the same group; groups of one item have none and do not count."""
    firsts, seconds, weights = [], [], []
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        first, second = _pairs_of(members, seed)
        if len(first):
            firsts.append(first)
            seconds.append(second)
            weights.append(np.full(len(first), 1.0 / len(first)))
    if not firsts:
        raise InputError("no two items share a group, so there is no pair to judge")
    return Pairs(np.concatenate(firsts), np.concatenate(seconds), np.concatenate(weights) / len(firsts))


def _pairs_of(members: Indices, seed: int) -> tuple[Indices, Indices]:
    n = len(members)
    if n * (n - 1) // 2 <= MOST_PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(seed)
        first = rng.integers(0, n, MOST_PAIRS)
        second = (first + rng.integers(1, n, MOST_PAIRS)) % n
    return members[first], members[second]


def pairwise_accuracy(
    ratings: npt.ArrayLike, scores: npt.ArrayLike, groups: Indices | None = None, calibrate: bool = True
) -> Accuracy:
    """Items without a finite score or rating are left out. `groups`: codes of documents; `None`: one group."""
    people, given = np.asarray(ratings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    here = np.isfinite(people) & np.isfinite(given)
    people, given = people[here], given[here]
    pairs = pairs_within(np.zeros(len(people), dtype=np.intp) if groups is None else groups[here])
    human = np.sign(people[pairs.first] - people[pairs.second])
    difference = given[pairs.first] - given[pairs.second]
    agree = pairs.weight * (human * difference > 0)
    tied = pairs.weight * (human == 0)
    if not calibrate:
        value = float(np.sum(np.where(difference == 0, tied, agree)))
        return Accuracy(value, 0.0, len(difference))
    # In order of |difference|: with epsilon at pair k, pairs up to k are called tied and the rest keep their order.
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    size = np.concatenate([[0.0], size[order]])
    gained = np.concatenate([[0.0], np.cumsum(tied[order] - agree[order])]) + np.sum(agree)
    # Equal differences fall together: only the last of each run is an epsilon.
    allowed = np.append(size[1:] != size[:-1], True)
    best = float(np.max(gained[allowed]))
    # Sums of equal shares differ by rounding; the smallest epsilon among equals must not depend on it.
    place = int(np.flatnonzero(allowed & (gained >= best - 1e-12))[0])
    return Accuracy(float(gained[place]), float(size[place]), len(difference))


_NOTHING_VARIES = {
    POOLED: "the ratings are constant",
    BY_DOCUMENT: "every document has constant scores or ratings",
    BY_SYSTEM: "the systems' means are constant",
}


@dataclass(frozen=True)
class Study:
    set: str = ""
    level: str = POOLED
    variant: str = ""
    """Which form of the set's texts was scored, where it has several."""
    dimensions: tuple[str, ...] = ()
    """Empty: all that people rated."""
    exclude_systems: tuple[str, ...] = ()
    unanimous: str = ""
    """Only the items whose raters all agree in this dimension."""
    interval_of: str = "spearman"
    resample: str | None = None
    """What the bootstrap draws again: items, documents, systems or both; `None`: what suits the level."""
    resamples: int = 1000
    """Zero: no interval."""
    confidence: float = 0.95
    nan: Nan = "drop"
    undefined: Literal["raise", "keep"] = "raise"
    """Constant scores have no correlation: an error, or a record with NaN."""
    accuracy: bool = False
    """Pairwise accuracy with tie calibration; slow for thousands of pooled items."""
    baseline: str = ""
    """A metric to test all others against."""
    test: Literal["permutation", "williams"] = "permutation"
    permutations: int = 0
    """Zero: 2,000, or 100 for each test where these are more: with fewer, none could pass the correction for many."""
    ceiling: bool = True
    """A record for people themselves where single ratings are known."""
    seed: int = 0

    def run(self, ratings: Ratings, scores: Sequence[Scores]) -> list[Record]:
        """One record per metric and dimension that it judges, and one per dimension for people."""
        return _Run.of(self, ratings, scores).records()


_IN_SIGNATURE = (
    "level",
    "variant",
    "exclude_systems",
    "unanimous",
    "nan",
    "interval_of",
    "resamples",
    "confidence",
    "seed",
)


def judge(
    ratings: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    level: str = POOLED,
    documents: Names | None = None,
    systems: Names | None = None,
    statistic: str = "spearman",
    resamples: int = 1000,
    seed: int = 0,
) -> Record:
    """One metric, one dimension, one call: `print(judge(ratings, scores))` is the line for the paper.

    `ratings` may be items by annotators; their mean is then the rating.
    """
    table = np.asarray(ratings, dtype=np.float64)
    given = Ratings([str(i) for i in range(len(table))], {"rating": table}, documents=documents, systems=systems)
    study = Study(level=level, interval_of=statistic, resamples=resamples, ceiling=False, seed=seed)
    return study.run(given, [Scores("scores", scores)])[0]


@dataclass(frozen=True, eq=False)
class _Run:
    """The arrays of one study, aligned."""

    study: Study
    dimensions: tuple[str, ...]
    ratings: Ratings
    layout: Layout
    scores: Sequence[Scores]
    people: Array
    rows: list[list[Array | None]]

    @classmethod
    def of(cls, study: Study, ratings: Ratings, scores: Sequence[Scores]) -> _Run:
        _check(study, scores)
        dimensions = study.dimensions or ratings.dimensions
        kept = ratings.without(study.exclude_systems)
        kept = kept.unanimous(study.unanimous) if study.unanimous else kept
        layout = kept.layout()
        layout.check(study.level)
        if study.resamples:
            check_unit(layout, study.resample or usual_unit(study.level, layout))
        people = np.stack([kept.rating(dimension) for dimension in dimensions])
        rows = [each.rows(dimensions, kept.ids, ratings.ids) for each in scores]
        for each, row in zip(scores, rows, strict=True):
            if all(found is None for found in row) and isinstance(each.values, Mapping):
                raise UnknownName(f"dimension of {each.metric}", ", ".join(each.values), dimensions)
        return cls(study, tuple(dimensions), kept, layout, scores, people, rows)

    def records(self) -> list[Record]:
        study = self.study
        names = [[self._where(each.metric, d) for d in self.dimensions] for each in self.scores]
        found = correlate_rows(self.people, self.rows, self.layout, study.level, STATISTICS, study.nan, names)
        self._check_defined(found)
        draws = self._draws(self.people, self.rows)
        low, high = interval(draws, study.confidence)
        records = []
        for m, d in self._pairs():
            each = self.scores[m]
            records.append(
                self._record(
                    each.metric,
                    self.dimensions[d],
                    each.signature_of(self.dimensions[d]),
                    {name: float(values[m, d]) for name, values in found.values.items()},
                    (float(low[m, d]), float(high[m, d])),
                    n=int(found.n[m, d]),
                    groups=int(found.groups[m, d]),
                    skipped=int(found.skipped[m, d]),
                    dropped=int(found.dropped[m, d]),
                    **self._accuracy(m, d),
                )
            )
        if study.baseline:
            records = self._tested(records, found, draws)
        return records + (self._ceilings() if study.ceiling else [])

    @property
    def _unit(self) -> str:
        return (self.study.resample or usual_unit(self.study.level, self.layout)) if self.study.resamples else ""

    def _signature(self, scores: str, dimension: str) -> str:
        """The scores' own signature (or the metric's name), then what was done with them."""
        told = {f.name: getattr(self.study, f.name) for f in dataclasses.fields(Study) if f.name in _IN_SIGNATURE}
        told = {
            "dimension": dimension,
            **{k: v for k, v in told.items() if v not in ((), "") or k == "variant"},
            "resampled": self._unit or "none",
        }
        return f"{scores} on {signature(self.study.set or 'ratings', told, 1, {}, __version__)}"

    def _pairs(self) -> list[tuple[int, int]]:
        return [(m, d) for m, row in enumerate(self.rows) for d, scores in enumerate(row) if scores is not None]

    def _where(self, metric: str, dimension: str) -> str:
        return f"{self.study.set + ': ' if self.study.set else ''}{metric} on {dimension}"

    def _check_defined(self, found: Correlation) -> None:
        if self.study.undefined == "keep":
            return
        for m, d in self._pairs():
            row = self.rows[m][d]
            if row is not None and not math.isfinite(found.values["spearman"][m, d]):
                here = np.isfinite(self.people[d]) & np.isfinite(row)
                constant = (
                    "scores" if np.ptp(row[here]) == 0 else "ratings" if np.ptp(self.people[d][here]) == 0 else ""
                )
                what = f"the {constant} are constant" if constant else _NOTHING_VARIES[self.study.level]
                where = self._where(self.scores[m].metric, self.dimensions[d])
                raise InputError(f"{what}, so there is no correlation", where)

    def _draws(self, people: Array, rows: Sequence[Sequence[Array | None]]) -> Array:
        study = self.study
        if not study.resamples:
            return np.full((len(rows), len(people), 1), np.nan)
        return bootstrap_rows(
            people, rows, self.layout, study.level, study.interval_of, self._unit, study.resamples, study.seed
        )

    def _record(
        self,
        metric: str,
        dimension: str,
        own_signature: str,
        values: Mapping[str, float],
        bounds: tuple[float, float],
        **more: object,
    ) -> Record:
        study = self.study
        fields: dict[str, object] = {
            "set": study.set,
            "metric": metric,
            "dimension": dimension,
            "level": study.level,
            **values,
            "low": bounds[0],
            "high": bounds[1],
            "signature": self._signature(own_signature, dimension),
            "interval_of": study.interval_of,
            "confidence": study.confidence,
            "resampled": self._unit,
            "resamples": study.resamples,
            "excluded": study.exclude_systems,
            "variant": study.variant,
            **more,
        }
        return Record(**fields)  # type: ignore[arg-type]

    def _accuracy(self, m: int, d: int) -> dict[str, float]:
        row = self.rows[m][d]
        if not self.study.accuracy or row is None:
            return {}
        if self.study.level == BY_SYSTEM:
            # A handful of means: an epsilon fitted to their few pairs would only flatter.
            here = np.isfinite(row) & np.isfinite(self.people[d])
            mass = here @ self.layout.membership
            means = [
                np.where(here, v, 0.0) @ self.layout.membership / np.maximum(mass, 1) for v in (self.people[d], row)
            ]
            found = pairwise_accuracy(means[0][mass > 0], means[1][mass > 0], calibrate=False)
        else:
            groups = self.layout.document if self.study.level == BY_DOCUMENT else None
            found = pairwise_accuracy(self.people[d], row, groups)
        return {"accuracy": found.value, "epsilon": found.epsilon}

    def _tested(self, records: list[Record], found: Correlation, draws: Array) -> list[Record]:
        study = self.study
        base = [each.metric for each in self.scores].index(study.baseline)
        tested = []
        for record, (m, d) in zip(records, self._pairs(), strict=True):
            row, other = self.rows[m][d], self.rows[base][d]
            values = found.values[study.interval_of]
            if m == base or row is None or other is None or not np.isfinite(values[[m, base], d]).all():
                tested.append(record)
                continue
            low, high = interval(draws[m, d] - draws[base, d], study.confidence)
            tested.append(
                dataclasses.replace(
                    record,
                    against=study.baseline,
                    difference=float(values[m, d] - values[base, d]),
                    difference_low=float(low),
                    difference_high=float(high),
                    p=self._p(self.people[d], row, other),
                )
            )
        corrected = holm([record.p for record in tested])
        return [dataclasses.replace(r, p_holm=float(p)) for r, p in zip(tested, corrected, strict=True)]

    def _p(self, people: Array, row: Array, other: Array) -> float:
        study = self.study
        if study.test == "williams":
            return williams_test(people, row, other, study.interval_of).p
        count = study.permutations or max(2000, 100 * len(self._pairs()))
        return permutation_test(
            people, row, other, self.layout, study.level, study.interval_of, "both", count, study.seed
        ).p

    def _ceilings(self) -> list[Record]:
        records = []
        for dimension in self.dimensions:
            table = self.ratings.single_ratings(dimension)
            if table is None:
                continue
            try:
                agreement = human_ceiling(table, self.layout, self.study.level)
            except InputError:  # too few common ratings: people simply have no ceiling here
                continue
            single, rest = one_against_the_rest(table)
            draws = self._draws(rest, [list(single)])[0]
            low, high = interval(mean_of_rows(draws.T), self.study.confidence)
            n = int(np.isfinite(table).any(axis=1).sum())
            groups = {BY_DOCUMENT: self.layout.documents, BY_SYSTEM: self.layout.systems}.get(self.study.level, n)
            records.append(
                self._record(
                    HUMAN,
                    dimension,
                    HUMAN,
                    agreement.values,
                    (float(low), float(high)),
                    n=n,
                    groups=groups,
                    kind=CEILING,
                )
            )
        return records


def _check(study: Study, scores: Sequence[Scores]) -> None:
    if study.interval_of not in STATISTICS:
        raise UnknownName("statistic", study.interval_of, STATISTICS)
    for name, value, known in (
        ("test", study.test, ("permutation", "williams")),
        ("policy for NaN", study.nan, ("drop", "raise")),
        ("policy for what is undefined", study.undefined, ("raise", "keep")),
    ):
        if value not in known:
            raise UnknownName(name, value, known)
    if not 0.0 < study.confidence < 1.0 or study.resamples < 0:
        raise InputError(f"confidence {study.confidence:g} with {study.resamples} resamples", todo="use .95 and 1000")
    names = [each.metric for each in scores]
    if not names:
        raise InputError("no scores to judge", study.set)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two sets of scores are called {name!r}", study.set, "give each metric a name of its own")
    if study.baseline and study.baseline not in names:
        raise UnknownName("baseline", study.baseline, names)
    if study.baseline and study.test == "williams" and study.level != POOLED:
        raise InputError("Williams' test is for pooled correlations", todo="use test='permutation' at other levels")
