"""The verdicts. A mean is held against its limit; a drop is held against its limit by a paired test.

`--max-drop d=L`: over the examples both files have, gap = new - old. The null hypothesis is that the mean gap is no
lower than -L. Each gap has L added, and a one-sided sign-flip test asks whether what is left lies below zero. Holm's
correction runs over all drops that are tested; the gate fails where the corrected p is below alpha.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quintet.errors import InputError
from quintet.gate.limits import Kind, Limit
from quintet.gate.subject import Array, Subject
from quintet.stats.compare import sign_flip_p
from quintet.stats.inputs import check_ids
from quintet.stats.significance import holm, mean_interval

ROUNDING = 1e-9
"""Scores in files have six decimals; what is closer to the limit than this is at the limit."""


@dataclass(frozen=True, slots=True)
class Failing:
    id: str
    score: float
    before: float | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Check:
    dimension: str
    kind: Kind
    limit: float
    n: int
    missing: int
    mean: float
    low: float
    high: float
    """95 % bootstrap interval of the mean, or of the difference for a drop; NaN for a single row."""
    passed: bool
    before: float | None = None
    """The baseline's mean over the same examples."""
    difference: float | None = None
    """New minus old."""
    p: float | None = None
    """One-sided, corrected by Holm: how likely so large a drop is if the true one is within the limit."""
    below: int = 0
    """Examples that fall short on their own."""
    examples: tuple[Failing, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}


@dataclass(frozen=True, slots=True)
class Verdict:
    checks: tuple[Check, ...]
    signatures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "checks": [check.to_json() for check in self.checks],
            "signatures": list(self.signatures),
        }


@dataclass(frozen=True, slots=True)
class Rules:
    lower_is_better: Collection[str] = ()
    alpha: float = 0.05
    show: int = 10
    skip_bad: bool = False
    common_only: bool = False


def judge(subject: Subject, limits: Sequence[Limit], baseline: Subject | None, rules: Rules) -> Verdict:
    for limit in limits:
        subject.complete(limit.dimension, rules.skip_bad)
    drops = [limit for limit in limits if limit.kind == "max-drop"]
    found = {limit: _bound(subject, limit, rules) for limit in limits if limit.kind != "max-drop"}
    if drops:
        if baseline is None:
            raise InputError("a drop needs a baseline to drop from", "--max-drop", "give --baseline OLD.jsonl")
        for limit in drops:
            baseline.complete(limit.dimension, rules.skip_bad)
        found.update(_drops(subject, baseline, drops, rules))
    signatures = tuple(dict.fromkeys(subject.signatures.values()))
    return Verdict(tuple(found[limit] for limit in limits), signatures)


def _bound(subject: Subject, limit: Limit, rules: Rules) -> Check:
    values = subject.values[limit.dimension]
    here = np.flatnonzero(np.isfinite(values))
    known = values[here]
    sign = 1.0 if limit.kind == "min" else -1.0
    short = sign * (known - limit.value) < -ROUNDING
    order = here[short][np.argsort(sign * known[short], kind="stable")]
    mean = float(known.mean())
    low, high = mean_interval(known)
    return Check(
        dimension=limit.dimension,
        kind=limit.kind,
        limit=limit.value,
        n=len(known),
        missing=len(values) - len(known),
        mean=mean,
        low=low,
        high=high,
        passed=sign * (mean - limit.value) >= -ROUNDING,
        below=int(short.sum()),
        examples=tuple(_failing(subject, limit.dimension, int(k), None) for k in order[: rules.show]),
    )


def _drops(subject: Subject, baseline: Subject, drops: Sequence[Limit], rules: Rules) -> dict[Limit, Check]:
    checks = {limit: _drop(subject, baseline, limit, rules, len(drops)) for limit in drops}
    corrected = holm([check.p if check.p is not None else math.nan for check in checks.values()])
    return {
        limit: dataclasses.replace(check, p=float(p), passed=bool(p >= rules.alpha))
        for (limit, check), p in zip(checks.items(), corrected, strict=True)
    }


def _drop(subject: Subject, baseline: Subject, limit: Limit, rules: Rules, tests: int) -> Check:
    name = limit.dimension
    places = _pairs(subject, baseline, rules.common_only)
    new = subject.values[name][[i for i, _ in places]]
    old = baseline.values[name][[j for _, j in places]]
    both = np.isfinite(new) & np.isfinite(old)
    rows = np.array([i for i, _ in places])[both]
    new, old = new[both], old[both]
    _enough(len(new), tests, rules.alpha, f"{subject.name}, {baseline.name}", name)
    sign = -1.0 if name in rules.lower_is_better else 1.0
    low, high = mean_interval(new - old)
    beyond = _settled(sign * (new - old) + limit.value)
    order = [k for k in np.argsort(beyond, kind="stable") if beyond[k] < 0]
    return Check(
        dimension=name,
        kind=limit.kind,
        limit=limit.value,
        n=len(new),
        missing=len(subject.ids) - len(new),
        mean=float(new.mean()),
        low=low,
        high=high,
        passed=True,
        before=float(old.mean()),
        difference=float((new - old).mean()),
        p=below_zero_p(beyond),
        below=len(order),
        examples=tuple(_failing(subject, name, int(rows[k]), float(old[k])) for k in order[: rules.show]),
    )


def below_zero_p(values: Array) -> float:
    """One-sided sign-flip test of a mean below zero; the flips are symmetric, so it is half the two-sided p."""
    if float(np.sum(values)) >= 0.0:
        return 1.0
    return sign_flip_p(values) / 2.0


def _settled(values: Array) -> Array:
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


def _enough(n: int, tests: int, alpha: float, where: str, dimension: str) -> None:
    """With too few pairs no drop however large could fail the gate: that is no gate."""
    if n == 0 or tests * 0.5**n >= alpha:
        needed = math.floor(math.log2(tests / alpha)) + 1
        what = f"{n} examples have a score of {dimension} in both; a test at alpha {alpha:g} needs at least {needed}"
        raise InputError(what, where)


def _pairs(subject: Subject, baseline: Subject, common_only: bool) -> list[tuple[int, int]]:
    check_ids(subject.ids, subject.name)
    check_ids(baseline.ids, baseline.name)
    where = {name: place for place, name in enumerate(baseline.ids)}
    shared = [(i, where[name]) for i, name in enumerate(subject.ids) if name in where]
    alone = (len(subject.ids) - len(shared), len(baseline.ids) - len(shared))
    if any(alone) and not common_only:
        what = f"the ids differ: {len(shared)} shared, {alone[0]} only in the first, {alone[1]} only in the second"
        raise InputError(what, f"{subject.name}, {baseline.name}", "pass --common-only to compare the shared ones")
    return shared


def _failing(subject: Subject, dimension: str, place: int, before: float | None) -> Failing:
    score = float(subject.values[dimension][place])
    return Failing(subject.ids[place], score, before, subject.evidence[dimension][place])
