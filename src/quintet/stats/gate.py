"""The verdicts. A mean is held against its limit; a drop is held against its limit by a paired test.

`--max-drop d=L`: over the examples both files have, gap = new - old. The null hypothesis is that the mean gap is no
lower than -L. Each gap has L added, and a one-sided sign-flip test asks whether what is left lies below zero. Holm's
correction runs over all drops that are tested; the gate fails where the corrected p is below alpha.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from quintet.core.calibration import ACCEPTED, read_calibration
from quintet.core.evidence import shorten, weakest
from quintet.core.result import Result
from quintet.core.score import EMPTY_FIELDS, Score
from quintet.errors import GateFailed, InputError, UnknownName
from quintet.io.score_rows import OUTPUTS, read_score_rows, score_columns
from quintet.stats.compare import sign_flip_p
from quintet.stats.inputs import check_ids
from quintet.stats.significance import holm, mean_interval

Kind = Literal["min", "max", "max-drop"]


@dataclass(frozen=True, slots=True)
class Limit:
    kind: Kind
    dimension: str
    value: float


def read_limits(kind: Kind, given: Sequence[str]) -> list[Limit]:
    """One or several `NAME=NUMBER`, each also as a list with commas."""
    limits = [_read(kind, part.strip()) for text in given for part in text.split(",") if part.strip()]
    names = [limit.dimension for limit in limits]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} has two limits", f"--{kind}", "give one")
    return limits


def _read(kind: Kind, text: str) -> Limit:
    # A metric's own name may hold an equals sign (bertscore-f:layer=12), so the last one counts.
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not equals or not name.strip() or not math.isfinite(value):
        raise InputError(f"cannot read {text!r}", f"--{kind}", "write DIMENSION=NUMBER, for example consistency=0.8")
    if kind == "max-drop" and value < 0:
        raise InputError(f"a drop of {value:g} is none", f"--{kind}", "give 0 or more")
    return Limit(kind, name.strip(), value)


# What a gate looks at: rows with an id, scores and a line of evidence, from a scored file or scored now.

Array = npt.NDArray[np.float64]
_WIDE = 90


@dataclass(frozen=True, eq=False)
class Subject:
    name: str
    ids: tuple[str, ...]
    values: Mapping[str, Array]
    """By dimension, one per row; NaN where there is no score."""
    evidence: Mapping[str, tuple[str, ...]]
    signatures: Mapping[str, str]
    """Empty for a file scored elsewhere or earlier: it does not say how."""

    def complete(self, dimension: str, skip_bad: bool) -> None:
        """A gate that quietly leaves rows out lets them through; it says so unless it was told to."""
        missing = np.flatnonzero(np.isnan(self.values[dimension]))
        if len(missing) == len(self.ids):
            raise InputError(f"no row has a score of {dimension}", self.name)
        if len(missing) and not skip_bad:
            what = (
                f"{len(missing)} of {len(self.ids)} rows have no score of {dimension}, or one without the text that it"
                f" needs (first: {self.ids[missing[0]]})"
            )
            raise InputError(what, self.name, "pass --skip-bad to judge the others")


def subject_of(scored: Result | str | os.PathLike[str], dimensions: Sequence[str], called: str) -> Subject:
    """A Result, or a file that was scored before."""
    if isinstance(scored, Result):
        return scored_now(scored, called, dimensions)
    return scored_file(os.fspath(scored), dimensions)


def scored_file(path: str, dimensions: Sequence[str]) -> Subject:
    rows = read_score_rows(path, dimensions)
    if not rows:
        raise InputError("has no rows", path)
    known = dict.fromkeys(name for row in rows for name in row)
    for name in dimensions:
        if name not in known:
            raise InputError(str(UnknownName("column", name, known)), path, "or give --task to score it now")
    values = {name: np.array(column) for name, column in score_columns(rows, dimensions).items()}
    for name, column in values.items():
        wrong = [row[name] for row, v in zip(rows, column, strict=True) if math.isnan(v) and _is_text(row.get(name))]
        if wrong:
            raise InputError(f"column {name} holds {shorten(str(wrong[0]), 30)!r}, which is no number", path)
        # An endless score would carry the mean with it, and one made without a needed text says nothing.
        column[~np.isfinite(column)] = math.nan
        column[[_stored_empty(row, name) for row in rows]] = math.nan
    ids = tuple(str(row["id"]) for row in rows)
    evidence = {name: tuple(_stored_line(row, name) for row in rows) for name in dimensions}
    return Subject(path, ids, values, evidence, {})


def scored_now(result: Result, name: str, dimensions: Sequence[str]) -> Subject:
    for dimension in dimensions:
        if dimension not in result.columns:
            why = result.left_out.get(dimension)
            if why is not None:
                raise InputError(f"{dimension} was not scored: {why}", name)
            raise UnknownName(f"dimension scored in {name}", dimension, result.columns)
    ids = tuple(row.item.example.id if row.item.example else f"row {k}" for k, row in enumerate(result.rows, 1))
    values = {d: np.array([_judged(row.scores[d]) for row in result.rows], dtype=np.float64) for d in dimensions}
    evidence = {
        d: tuple(_line(row.scores[d], row.item.example.output if row.item.example else "") for row in result.rows)
        for d in dimensions
    }
    return Subject(name, ids, values, evidence, {d: result.signatures[d] for d in dimensions})


def _judged(score: Score) -> float:
    return math.nan if EMPTY_FIELDS & set(score.flags) else score.value


def _stored_empty(row: Mapping[str, Any], dimension: str) -> bool:
    """From the `notes` that `quintet score` writes: a list, in a CSV file as JSON."""
    notes = _plain(row.get("notes"))
    return isinstance(notes, Sequence) and any(f"{dimension}: {flag}" in notes for flag in EMPTY_FIELDS)


def _plain(stored: Any) -> Any:
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(stored)
    except ValueError:
        return None


def _line(score: Score, output: str) -> str:
    return "; ".join(filter(None, [weakest(score, output), *score.flags[:1]])) or shorten(output, _WIDE)


def _stored_line(row: Mapping[str, Any], dimension: str) -> str:
    """From the `evidence` column that `quintet score --evidence` writes, else the output itself."""
    output = next((str(row[name]) for name in OUTPUTS if row.get(name)), "")
    stored = _plain(row.get("evidence"))
    plain = stored.get(dimension) if isinstance(stored, Mapping) else None
    if not isinstance(plain, Mapping):
        return shorten(output, _WIDE)
    try:
        return _line(Score.from_json(plain), output)
    except (KeyError, TypeError, AttributeError, IndexError):
        return shorten(output, _WIDE)


def _is_text(cell: Any) -> bool:
    return cell not in (None, "") and not (isinstance(cell, float) and math.isnan(cell))


# A scored file whose scores go through a calibration before they are judged.


def calibrated_subject(path: str, dimensions: Sequence[str], calibration: str) -> Subject:
    """The file holds scores as they were before calibration; a dimension the calibration does not know is refused."""
    known = read_calibration(calibration)
    names = list(dict.fromkeys(name.removesuffix(ACCEPTED) for name in dimensions))
    for name in names:
        if name not in known.curves:
            raise UnknownName(f"dimension calibrated in {calibration}", name, known.curves)
    raw = scored_file(path, names)
    values, evidence = {}, {}
    for wanted in dimensions:
        name = wanted.removesuffix(ACCEPTED)
        curve = known.curves[name]
        if wanted.endswith(ACCEPTED) and curve.threshold is None:
            raise UnknownName(f"dimension calibrated in {calibration}", wanted, known.curves)
        change = curve.accepts if wanted.endswith(ACCEPTED) else curve.value
        values[wanted] = np.array([change(float(score)) for score in raw.values[name]])
        evidence[wanted] = raw.evidence[name]
    signatures = {wanted: f"{path}|calibration:{known.digest(wanted.removesuffix(ACCEPTED))}" for wanted in dimensions}
    return dataclasses.replace(raw, values=values, evidence=evidence, signatures=signatures)


# The verdicts. A mean is held against its limit; a drop is held against its limit by a paired test.
#
# `--max-drop d=L`: over the examples both files have, gap = new - old. The null hypothesis is that the mean gap is no
# lower than -L. Each gap has L added, and a one-sided sign-flip test asks whether what is left lies below zero. Holm's
# correction runs over all drops that are tested; the gate fails where the corrected p is below alpha.

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

    @property
    def p_text(self) -> str:
        return "" if self.p is None else "p < .001" if self.p < 0.001 else f"p = {self.p:.3f}"

    @property
    def reason(self) -> str:
        """What fell short."""
        if self.difference is not None:
            return (
                f"{self.dimension} changed by {self.difference:+.3f}, more than {self.limit:g} is allowed to be lost "
                f"({self.p_text}, n={self.n})"
            )
        word = "below" if self.kind == "min" else "above"
        return f"mean {self.dimension} {self.mean:.3f} is {word} {self.limit:g} (n={self.n})"

    def to_json(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of each limit; `quintet.gate` gives it.

    >>> quintet.Verdict((), ()).passed
    True
    """

    checks: tuple[Check, ...]
    signatures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def check(self) -> None:
        """Raises GateFailed, which says in one line what fell short."""
        if not self.passed:
            raise GateFailed("gate not passed: " + "; ".join(check.reason for check in self.failed))

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
