"""Which of my systems is better? Scores of the same inputs, paired by id.

For each dimension and pair of systems: the difference of means with a bootstrap interval over examples, a sign-flip
permutation test corrected by Holm over all dimensions and pairs, effect sizes, wins, ties and losses, and how many
more examples would settle it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from quintet.core.plain import JsonObject
from quintet.errors import InputError, UnknownName
from quintet.stats.coefficients import Array
from quintet.stats.correlate import FEWEST
from quintet.stats.inputs import check_ids
from quintet.stats.records import decimal
from quintet.stats.significance import ENOUGH, holm, mean_interval, normal_quantile

FLIPS = 10_000
_EXACT_UP_TO = 13
"""2**13 sign patterns are fewer than FLIPS: all of them are tried."""
_BLOCK = 1_000_000
_FLIPS_IN_ALL = 200_000_000
"""Signs drawn for one test; over 20,000 examples fewer flips are made, at least a thousand."""


@dataclass(frozen=True, eq=False)
class System:
    name: str
    values: Mapping[str, npt.ArrayLike]
    """Dimension to one score per example."""
    ids: Sequence[str] | None = None
    """`None`: paired by place, for systems of the same length."""

    def __post_init__(self) -> None:
        if self.ids is not None:
            check_ids(self.ids, self.name)
        for dimension, scores in self.values.items():
            if len(np.asarray(scores)) != self.size:
                raise InputError(f"{len(np.asarray(scores))} scores of {dimension} for {self.size} examples", self.name)

    @property
    def size(self) -> int:
        if self.ids is not None:
            return len(self.ids)
        return len(np.asarray(next(iter(self.values.values()), ())))


@dataclass(frozen=True)
class Difference:
    """One dimension, two systems; `first` minus `second`. `quintet.compare` gives a list of them.

    >>> "p_holm" in quintet.Difference.__dataclass_fields__
    True
    """

    dimension: str
    first: str
    second: str
    n: int
    mean_first: float
    mean_second: float
    difference: float
    low: float
    high: float
    """95 % bootstrap interval of the difference."""
    p: float
    effect: float
    """Cohen's d_z: the mean difference in units of its standard deviation."""
    superiority: float
    """The chance that the first is better on an example; ties count half."""
    wins: int
    ties: int
    losses: int
    dropped: int
    """Examples that one of the two has no score for."""
    p_holm: float = math.nan
    better: str = ""
    """The name of the better system once it is settled."""
    more: int | None = None
    """Further examples needed to settle it at 80 % power; 0 when settled, None when there is no difference to find."""

    def line(self, digits: int = 3) -> str:
        """As one writes it: `fluency: A 0.566, B 0.540, difference +0.026 [+0.017, +0.036], p < .001, n=120`."""
        p = "p < .001" if self.p_holm < 0.001 else f"p = {decimal(self.p_holm, 3)}"
        gap = f"{self.difference:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"
        means = f"{self.first} {self.mean_first:.{digits}f}, {self.second} {self.mean_second:.{digits}f}"
        return f"{self.dimension}: {means}, difference {gap}, {p}, n={self.n}"

    def __str__(self) -> str:
        return self.line()

    def to_json(self) -> JsonObject:
        plain = dataclasses.asdict(self)
        return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in plain.items()}


def compare(
    systems: Sequence[System],
    dimensions: Sequence[str] | None = None,
    *,
    lower_is_better: Collection[str] = (),
    tie: float = 0.0,
    common_only: bool = False,
    alpha: float = 0.05,
    power: float = 0.8,
    seed: int = 0,
) -> list[Difference]:
    """All pairs of systems on all dimensions that both have.

    `tie`: scores this close count as equal. `common_only`: go on with the shared ids where the systems' ids differ.
    """
    if len(systems) < 2:
        raise InputError("a comparison needs at least two systems")
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise InputError(f"two systems have the same name: {', '.join(names)}", todo="give each a name of its own")
    known = {dimension for system in systems for dimension in system.values}
    for name in lower_is_better:
        if name not in known:
            raise UnknownName("dimension", name, known)
    found = []
    for first, second in combinations(systems, 2):
        places = _paired(first, second, common_only)
        wanted = dimensions or [d for d in first.values if d in second.values]
        for dimension in wanted:
            for system in (first, second):
                if dimension not in system.values:
                    raise InputError(f"no scores of {dimension}", system.name)
            pair = [
                np.asarray(system.values[dimension], dtype=np.float64)[where]
                for system, where in zip((first, second), places, strict=True)
            ]
            sign = -1.0 if dimension in lower_is_better else 1.0
            found.append(_difference(dimension, first.name, second.name, pair[0], pair[1], sign, tie, seed))
    if not found:
        raise InputError(f"{' and '.join(names)} have no dimension in common")
    return _settle(found, lower_is_better, alpha, power)


def _paired(first: System, second: System, common_only: bool) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    if first.ids is None or second.ids is None:
        if first.ids is not second.ids or first.size != second.size:
            what = f"{first.size} and {second.size} examples without ids on both sides cannot be paired"
            raise InputError(what, f"{first.name}, {second.name}", "give every row an id")
        return np.arange(first.size), np.arange(first.size)
    where = {name: place for place, name in enumerate(second.ids)}
    shared = [(i, where[name]) for i, name in enumerate(first.ids) if name in where]
    alone = (first.size - len(shared), second.size - len(shared))
    if (any(alone) and not common_only) or not shared:
        what = f"the ids differ: {len(shared)} shared, {alone[0]} only in the first, {alone[1]} only in the second"
        raise InputError(what, f"{first.name}, {second.name}", "score the same inputs, or pass --common-only")
    left, right = zip(*shared, strict=True)
    return np.array(left, dtype=np.intp), np.array(right, dtype=np.intp)


def _difference(
    dimension: str, first: str, second: str, one: Array, other: Array, sign: float, tie: float, seed: int
) -> Difference:
    here = np.isfinite(one) & np.isfinite(other)
    one, other = one[here], other[here]
    if len(one) < FEWEST:
        what = f"only {len(one)} examples have a score of {dimension} from both; a comparison needs at least {FEWEST}"
        raise InputError(what, f"{first}, {second}")
    gaps = one - other
    low, high = mean_interval(gaps, seed=seed)
    wins, losses = int(np.sum(sign * gaps > tie)), int(np.sum(sign * gaps < -tie))
    spread = float(np.std(gaps, ddof=1))
    mean = float(np.mean(gaps))
    return Difference(
        dimension=dimension,
        first=first,
        second=second,
        n=len(gaps),
        mean_first=float(np.mean(one)),
        mean_second=float(np.mean(other)),
        difference=mean,
        low=low,
        high=high,
        p=sign_flip_p(gaps, seed),
        effect=mean / spread if spread > 0 else math.copysign(math.inf, mean) if mean else 0.0,
        superiority=(wins + 0.5 * (len(gaps) - wins - losses)) / len(gaps),
        wins=wins,
        ties=len(gaps) - wins - losses,
        losses=losses,
        dropped=int(np.sum(~here)),
    )


def sign_flip_p(gaps: Array, seed: int = 0) -> float:
    """Two-sided: if the systems were equal, each difference could as well have had the other sign.

    Exact for few examples; otherwise drawn, and stopped early once p is known to be large (Besag and Clifford 1991).
    """
    observed = abs(float(np.sum(gaps))) * (1 - 1e-12) - 1e-300
    n = len(gaps)
    if n <= _EXACT_UP_TO:
        signs = np.array(list(product((-1.0, 1.0), repeat=n)))
        return float(np.mean(np.abs(signs @ gaps) >= observed))
    count = max(1000, min(FLIPS, _FLIPS_IN_ALL // n))
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // n)
    extreme = 0
    for done in range(0, count, rows):
        flipped = rng.random((min(rows, count - done), n), dtype=np.float32) < 0.5
        # Flipping some signs changes the sum by twice their part.
        sums = np.sum(gaps) - 2.0 * (flipped @ gaps)
        beaten = extreme + np.cumsum(np.abs(sums) >= observed)
        if beaten[-1] >= ENOUGH:
            return ENOUGH / (done + int(np.argmax(beaten >= ENOUGH)) + 1)
        extreme = int(beaten[-1])
    return (extreme + 1) / (count + 1)


def _settle(found: list[Difference], lower_is_better: Collection[str], alpha: float, power: float) -> list[Difference]:
    corrected = holm([each.p for each in found])
    settled = []
    for each, p in zip(found, corrected, strict=True):
        done = bool(p < alpha)
        first_is_better = (each.difference > 0) != (each.dimension in lower_is_better)
        settled.append(
            dataclasses.replace(
                each,
                p_holm=float(p),
                better=(each.first if first_is_better else each.second) if done else "",
                more=0 if done else _more(each, alpha / len(found), power),
            )
        )
    return settled


def _more(each: Difference, alpha: float, power: float) -> int | None:
    needed = examples_needed(each.effect, alpha, power)
    # However large the difference, n pairs cannot give a p below 2 / 2^n: all signs alike, or all the other way.
    fewest = math.floor(math.log2(2.0 / alpha)) + 1
    return None if needed is None else max(1, max(needed, fewest) - each.n)


def examples_needed(effect: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Pairs for a two-sided paired test to find an effect of this d_z; None for no effect.

    The normal approximation with Guenther's (1981) correction for the t distribution.
    """
    if effect == 0 or not math.isfinite(effect):
        return None if effect == 0 else FEWEST
    z = normal_quantile(1 - alpha / 2)
    return math.ceil(((z + normal_quantile(power)) / effect) ** 2 + z**2 / 2)
