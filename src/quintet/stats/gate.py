"""The verdicts. A mean is held against its limit; a drop is held against its limit by a paired test.

`--max-drop d=L`: over the examples both files have, gap = new - old. The null hypothesis is that the mean gap is no
lower than -L. Each gap has L added, and a one-sided sign-flip test asks whether what is left lies below zero. Holm's
correction runs over all drops that are tested; the gate fails where the corrected p is below alpha.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from quintet.core.calibration import ACCEPTED, read_calibration
from quintet.core.evidence import shorten, weakest
from quintet.core.flags import ABSTAINED, EMPTY_FIELDS, unsure
from quintet.core.plain import Cells, JsonObject
from quintet.core.result import Result, notes_of
from quintet.core.score import Score, stored_score
from quintet.errors import GateFailed, InputError, UnknownName
from quintet.io.cells import stored, stored_notes
from quintet.io.score_rows import OUTPUTS, read_score_rows, score_columns
from quintet.stats.compare import sign_flip_p
from quintet.stats.inputs import check_ids
from quintet.stats.significance import holm, mean_interval

Kind = Literal["min", "max", "max-drop", "min-share", "min-worst", "max-flag"]
_FORMS = {
    "min-share": "DIMENSION@VALUE=SHARE, for example consistency@0.3=95%",
    "min-worst": "DIMENSION@PART=NUMBER, for example consistency@5%=0.4",
    "max-flag": "FLAG=SHARE, for example 'empty source=0' or any=10%",
}
ANY_FLAG = "any"


@dataclass(frozen=True, slots=True)
class Limit:
    kind: Kind
    dimension: str
    """For max-flag: a part of the flag's text, or any."""
    value: float
    at: float = math.nan
    """min-share: what a row must reach; min-worst: which part of the rows."""

    @property
    def text(self) -> str:
        return {
            "min": f"≥ {self.value:g}",
            "max": f"≤ {self.value:g}",
            "max-drop": f"drop ≤ {self.value:g}",
            "min-share": f"{_percent(self.value)} of rows reach {self.at:g}",
            "min-worst": f"worst {_percent(self.at)}: {self.value:g}",
            "max-flag": f"flagged ≤ {_percent(self.value)}",
        }[self.kind]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def read_limits(kind: Kind, given: Sequence[str]) -> list[Limit]:
    """One or several `NAME=NUMBER`, each also as a list with commas."""
    limits = [_read(kind, part.strip()) for text in given for part in text.split(",") if part.strip()]
    names = [limit.dimension for limit in limits if math.isnan(limit.at)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} has two limits", f"--{kind}", "give one")
    return limits


def _read(kind: Kind, text: str) -> Limit:
    # A metric's own name may hold an equals sign (bertscore-f:layer=12), so the last one counts.
    name, equals, given = text.rpartition("=")
    value, at = _number(given), math.nan
    if kind in ("min-share", "min-worst"):
        name, _, where = name.rpartition("@")
        at = _number(where)
    form = _FORMS.get(kind, "DIMENSION=NUMBER, for example consistency=0.3")
    if (
        not equals
        or not name.strip()
        or not math.isfinite(value)
        or (kind in ("min-share", "min-worst") and math.isnan(at))
    ):
        raise InputError(f"cannot read {text!r}", f"--{kind}", f"write {form}")
    if kind == "max-drop" and value < 0:
        raise InputError(f"a drop of {value:g} is none", f"--{kind}", "give 0 or more")
    share = {"min-share": value, "max-flag": value, "min-worst": at}.get(kind, 0.5)
    if not 0 <= share <= 1 or (kind == "min-worst" and share == 0):
        raise InputError(f"{share:g} is no share of rows", f"--{kind}", "give 0 to 1, or 0% to 100%")
    return Limit(kind, name.strip(), value, at)


def _number(text: str) -> float:
    part = text.strip()
    try:
        return float(part.removesuffix("%")) / 100 if part.endswith("%") else float(part)
    except ValueError:
        return math.nan


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
    flags: tuple[frozenset[str], ...] = ()
    """By row: everything that was said of it."""
    excluded: frozenset[int] = frozenset()
    """Places of rows that were left out on purpose."""

    def complete(self, dimension: str, skip_bad: bool) -> None:
        """A gate that quietly leaves rows out lets them through; it says so unless it was told to."""
        unscored = np.isnan(self.values[dimension])
        if unscored.all():
            raise InputError(f"no row has a score of {dimension}", self.name)
        missing = [
            k for k in map(int, np.flatnonzero(unscored)) if k not in self.excluded and not self._declined(k, dimension)
        ]
        if len(missing) and not skip_bad:
            what = (
                f"{len(missing)} of {len(self.ids)} rows have no score of {dimension}, or one without the text that it"
                f" needs (first: {self.ids[missing[0]]})"
            )
            raise InputError(what, self.name, "pass --skip-bad to judge the others")

    def _declined(self, place: int, dimension: str) -> bool:
        """An output that declines to answer claims nothing: it is neither good nor bad."""
        return place < len(self.flags) and f"{dimension}: {ABSTAINED}" in self.flags[place]

    def without_unsure(self) -> Subject:
        """Rows with a flag that makes a score doubtful (`quintet.core.flags`) have none."""
        places = [k for k, flags in enumerate(self.flags) if unsure(flags) or any(_cut(flag) for flag in flags)]
        values = {name: column.copy() for name, column in self.values.items()}
        for column in values.values():
            column[places] = math.nan
        return dataclasses.replace(self, values=values, excluded=frozenset(places))


def _cut(note: str) -> bool:
    return note.endswith("were not seen")


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
    flags = tuple(frozenset(stored_notes(row.get("notes"))) for row in rows)
    return Subject(path, ids, values, evidence, {}, flags)


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
    flags = tuple(frozenset(notes_of(row)) for row in result.rows)
    return Subject(name, ids, values, evidence, {d: result.signatures[d] for d in dimensions}, flags)


def _judged(score: Score) -> float:
    return math.nan if EMPTY_FIELDS & set(score.flags) else score.value


def _stored_empty(row: Cells, dimension: str) -> bool:
    """From the `notes` that `quintet score` writes: a list, in a CSV file as JSON."""
    notes = stored_notes(row.get("notes"))
    return any(f"{dimension}: {flag}" in notes for flag in EMPTY_FIELDS)


def _line(score: Score, output: str) -> str:
    return "; ".join(filter(None, [weakest(score, output), *score.flags[:1]])) or f"text: {shorten(output, _WIDE)}"


def _stored_line(row: Cells, dimension: str) -> str:
    """From the `evidence` column that `quintet score --evidence` writes, else the output itself."""
    output = next((str(row[name]) for name in OUTPUTS if row.get(name)), "")
    evidence = stored(row.get("evidence"))
    told = evidence.get(dimension) if isinstance(evidence, Mapping) else None
    with contextlib.suppress(InputError):
        if isinstance(told, Mapping):
            return _line(stored_score(told), output)
    return f"text: {shorten(output, _WIDE)}"


def _is_text(cell: object) -> bool:
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
    row: int = 0
    """Counted from 1."""
    near: bool = False
    """So close to what is asked of a row that it could as well stand on the other side."""


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
    near: int = 0
    """Examples within `Rules.near` of what is asked of a row, on either side."""
    at: float | None = None
    """What a row must reach, or which part of the rows is looked at."""
    examples: tuple[Failing, ...] = field(default=())

    @property
    def p_text(self) -> str:
        return "" if self.p is None else "p < .001" if self.p < 0.001 else f"p = {self.p:.3f}"

    @property
    def text(self) -> str:
        """The limit as one reads it."""
        return Limit(self.kind, self.dimension, self.limit, math.nan if self.at is None else self.at).text

    @property
    def reason(self) -> str:
        """What fell short."""
        if self.difference is not None:
            return (
                f"{self.dimension} changed by {self.difference:+.3f}, more than {self.limit:g} is allowed to be lost "
                f"({self.p_text}, n={self.n})"
            )
        if self.kind == "min-share":
            found, asked = _percent(self.mean), _percent(self.limit)
            return f"{found} of rows reach {self.dimension} {self.at:g}, {asked} are asked for"
        if self.kind == "min-worst":
            return f"mean {self.dimension} of the worst {_percent(self.at or 0)} is {self.mean:.3f}, not {self.limit:g}"
        if self.kind == "max-flag":
            named = "flagged" if self.dimension == ANY_FLAG else f"flagged {self.dimension!r}"
            return f"{_percent(self.mean)} of rows are {named}, {_percent(self.limit)} are allowed"
        word = "below" if self.kind == "min" else "above"
        return f"mean {self.dimension} {self.mean:.3f} is {word} {self.limit:g} (n={self.n})"

    def to_json(self) -> JsonObject:
        plain: JsonObject = _without_nan(dataclasses.asdict(self))
        return plain


def _without_nan(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


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

    def to_json(self) -> JsonObject:
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
    near: float = 0.02
    skip_bad: bool = False
    common_only: bool = False
    exclude_unsure: bool = False
    """Scores that a flag makes doubtful are left out; `--max-flag` fails by them, and by default they count."""


def judge(subject: Subject, limits: Sequence[Limit], baseline: Subject | None, rules: Rules) -> Verdict:
    if rules.exclude_unsure:
        subject, baseline = subject.without_unsure(), None if baseline is None else baseline.without_unsure()
    for limit in limits:
        if limit.kind != "max-flag":
            subject.complete(limit.dimension, rules.skip_bad)
    drops = [limit for limit in limits if limit.kind == "max-drop"]
    how = {"min": _bound, "max": _bound, "min-share": _share, "min-worst": _worst, "max-flag": _flagged}
    found = {limit: how[limit.kind](subject, limit, rules) for limit in limits if limit.kind != "max-drop"}
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
        near=int(_is_near(known, limit.value, rules).sum()),
        examples=_examples(subject, limit.dimension, order, rules, limit.value),
    )


def _share(subject: Subject, limit: Limit, rules: Rules) -> Check:
    """How many rows reach a value on their own; for a dimension where less is better, how many stay below it."""
    values = subject.values[limit.dimension]
    here = np.flatnonzero(np.isfinite(values))
    known = values[here]
    sign = -1.0 if limit.dimension in rules.lower_is_better else 1.0
    short = sign * (known - limit.at) < -ROUNDING
    order = here[short][np.argsort(sign * known[short], kind="stable")]
    low, high = mean_interval((~short).astype(np.float64))
    share = float(np.mean(~short))
    return Check(
        dimension=limit.dimension,
        kind=limit.kind,
        limit=limit.value,
        n=len(known),
        missing=len(values) - len(known),
        mean=share,
        low=low,
        high=high,
        passed=share >= limit.value - ROUNDING,
        below=int(short.sum()),
        near=int(_is_near(known, limit.at, rules).sum()),
        at=limit.at,
        examples=_examples(subject, limit.dimension, order, rules, limit.at),
    )


def _worst(subject: Subject, limit: Limit, rules: Rules) -> Check:
    """The mean of the worst part of the rows: a mean over all hides a few that are very bad."""
    values = subject.values[limit.dimension]
    here = np.flatnonzero(np.isfinite(values))
    known = values[here]
    sign = -1.0 if limit.dimension in rules.lower_is_better else 1.0
    count = max(1, math.ceil(limit.at * len(known) - ROUNDING))
    order = here[np.argsort(sign * known, kind="stable")][:count]
    mean = float(values[order].mean())
    low, high = _tail_interval(sign * known, count)
    return Check(
        dimension=limit.dimension,
        kind=limit.kind,
        limit=limit.value,
        n=count,
        missing=len(values) - len(known),
        mean=mean,
        low=min(sign * low, sign * high),
        high=max(sign * low, sign * high),
        passed=sign * (mean - limit.value) >= -ROUNDING,
        below=count,
        at=limit.at,
        examples=_examples(subject, limit.dimension, order, rules, math.nan),
    )


_TAIL_DRAWS = 5_000_000
"""Numbers drawn in all for the interval of a tail; over many rows fewer resamples pin it down."""


def _tail_interval(values: Array, count: int) -> tuple[float, float]:
    """Percentile bootstrap of the mean of the lowest `count`."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    ordered = np.sort(values)
    resamples = max(100, min(1000, _TAIL_DRAWS // n))
    means = [np.partition(ordered[rng.integers(0, n, n)], count - 1)[:count].mean() for _ in range(resamples)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _flagged(subject: Subject, limit: Limit, rules: Rules) -> Check:
    """How many rows carry a flag; where the flag names no dimension it may come from any."""
    wanted = limit.dimension.casefold()
    hits = [
        next((flag for flag in sorted(flags) if wanted == ANY_FLAG or wanted in flag.casefold()), "")
        for flags in subject.flags
    ]
    places = [place for place, hit in enumerate(hits) if hit]
    share = len(places) / len(hits) if hits else 0.0
    low, high = mean_interval(np.array([bool(hit) for hit in hits], dtype=np.float64))
    return Check(
        dimension=limit.dimension,
        kind=limit.kind,
        limit=limit.value,
        n=len(hits),
        missing=0,
        mean=share,
        low=low,
        high=high,
        passed=share <= limit.value + ROUNDING,
        below=len(places),
        examples=tuple(Failing(subject.ids[k], math.nan, None, hits[k], k + 1) for k in places[: rules.show]),
    )


def _is_near(values: Array, value: float, rules: Rules) -> npt.NDArray[np.bool_]:
    near: npt.NDArray[np.bool_] = np.abs(values - value) <= rules.near
    return near


def _examples(
    subject: Subject, dimension: str, order: Sequence[int] | npt.NDArray[np.intp], rules: Rules, value: float
) -> tuple[Failing, ...]:
    found = [_failing(subject, dimension, int(k), None) for k in order[: rules.show]]
    return tuple(dataclasses.replace(one, near=abs(one.score - value) <= rules.near) for one in found)


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
    return Failing(subject.ids[place], score, before, subject.evidence[dimension][place], place + 1)
