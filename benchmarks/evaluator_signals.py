"""The evaluator's signals on rated sets, from the product's own store or from the study's files of signals.

One scoring run gives every table: a blend, each of its signals alone and the blend without one of them are put
together here from the same numbers.
"""

from __future__ import annotations

import gzip
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quintet import _api as api
from quintet.core.blend import ADDS, percentile
from quintet.core.item import Item
from quintet.core.metric import Metric
from quintet.core.parameters import build
from quintet.core.score import Score
from quintet.data.benchmark import Benchmark
from quintet.errors import ModelError
from quintet.metrics import metrics as registry
from quintet.metrics.evaluator.blended import Evaluator
from quintet.runner.plan import Column, Plan

Floats = npt.NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, eq=False)
class Blended:
    """One dimension of one set: the score, and what each signal adds to it before it becomes a percentile."""

    value: Floats
    raw: Mapping[str, Floats]
    """Signal to its own values; NaN where it could not be had."""
    adds: Mapping[str, Floats]
    """Signal to weight × normalised value; 0 where it could not be had."""

    @property
    def whole(self) -> Floats:
        return sum(self.adds.values(), np.zeros(len(self.value)))

    def alone(self, signal: str) -> Floats:
        """A signal that could not be had stands at its mean, as it does in the blend; the sign is the weight's."""
        return self.adds[signal]

    def without(self, signal: str) -> Floats:
        return sum((values for name, values in self.adds.items() if name != signal), np.zeros(len(self.value)))


def from_scores(scores: Sequence[Score]) -> Blended:
    labels = dict.fromkeys(name for s in scores for name in s.parts if f"{name}{ADDS}" in s.parts)
    return Blended(
        value=np.array([s.value for s in scores]),
        raw={name: np.array([s.parts.get(name, np.nan) for s in scores]) for name in labels},
        adds={name: np.array([s.parts.get(f"{name}{ADDS}", 0.0) for s in scores]) for name in labels},
    )


@dataclass(frozen=True)
class Models:
    """Other models than the bundled ones, for instance in full precision."""

    judge: str | None = None
    language: str | None = None

    @property
    def given(self) -> dict[str, str]:
        named = {"model": self.judge, "model_lm": self.language}
        return {key: value for key, value in named.items() if value is not None}


def product(
    benchmark: Benchmark, dims: Sequence[str], fast: bool, models: Models, cache: str | bool, workers: int = 1
) -> dict[str, Blended]:
    """Scored by quintet itself; what the store knows is not scored again."""
    plan = _plan(benchmark, dims, fast, models)
    items = [Item(example) for example in benchmark.examples]
    with closing(api.open_store(cache)) as store:
        rows = list(api.stream(plan, items, store, skip_bad=True, executor=api.open_executor(workers)))
    return {
        c.label: from_scores([row.scores[c.label] for row in rows]) for c in plan.columns
    }  # fmt: skip


def blend_task(task: str, dimension: str) -> str:
    """A claim is judged by the blend of summaries where the evaluator has none of its own for it."""
    return "summarization" if task == "fact" and f"evaluator-fact-{dimension}" not in registry else task


def _plan(benchmark: Benchmark, dims: Sequence[str], fast: bool, models: Models) -> Plan:
    columns = []
    for rated in dims:
        task, name = benchmark.answered_by(rated)
        called = f"evaluator-{blend_task(task, name)}-{name}"
        if called in registry:
            metric = build(registry, called, fast=fast, **models.given)
            columns.append(Column(rated, metric, metric.dimensions[0].name))
    present = {f for e in benchmark.examples for f in ("source", "context", "references", "history") if e.has(f)}
    return Plan(tuple(columns), {}).within(present)[0]


STUDY_SETS = {
    "summeval": "summeval", "qags_cnn": "qags_cnn", "qags_xsum": "qags_xsum", "topical_chat": "topical",
    "persona_chat": "persona", "sfres": "sfres", "sfhot": "sfhot", "bagel": "bagel", "yelp": "yelp",
    "cnndm_quality": "lqual", "fed_turn": "fed_turn", "newsroom": "newsroom", "dialsummeval": "dialsumm",
    "gupta_multiref": "gupta", "simplicity_da": "simp_da", "structural_simplicity": "simp_struct",
    "predictive_engagement": "pe_dd", "predictive_engagement/convai": "pe_utt", "dstc10/dailydialog-zhao": "dd_zhao",
    "dstc10/convai2-grade": "convai2_grade", "wice_dev": "wice", "wice_test": "wice@349",
    "dstc10/dailydialog-grade": "dd_grade", "dstc10/empathetic-grade": "empathetic_grade",
    "summac/polytope": "polytope",
}  # fmt: skip
"""Our sets by the names that research/evaluator gives them, and from which row on; the rows come in the same order."""


def but_for_likelihoods(
    benchmark: Benchmark, dims: Sequence[str], fast: bool, models: Models, cache: str | bool, study: Study
) -> dict[str, Blended]:
    """Scored by the package, except that likelihoods are the study's: the same language model, on a faster machine."""
    blends = {
        c.label: c.metric for c in _plan(benchmark, dims, fast, models).columns if isinstance(c.metric, Evaluator)
    }
    there = study.blended(benchmark, dims, fast)
    own = dict.fromkeys(
        s.metric for blend in blends.values() for s in blend.signals if not _of_language_model(s.metric)
    )
    columns = tuple(Column(f"{k} {d.name}", m, d.name) for k, m in enumerate(own) for d in m.dimensions)
    names = {(column.metric, column.dimension): column.label for column in columns}
    with closing(api.open_store(cache)) as store:
        items = [Item(example) for example in benchmark.examples]
        rows = list(api.stream(Plan(columns, {}), items, store, skip_bad=True))
    found = {}
    for rated, blend in blends.items():
        raw, adds = {}, {}
        for signal in blend.signals:
            label = names.get((signal.metric, signal.dimension))
            values = there[rated].raw[signal.label] if label is None else [row.scores[label].value for row in rows]
            raw[signal.label] = np.array(values, dtype=np.float64)
            normal = np.array([signal.normalised(v) for v in raw[signal.label]])
            adds[signal.label] = signal.weight * np.where(np.isfinite(normal), normal, 0.0)
        whole = sum(adds.values(), np.zeros(len(rows)))
        found[rated] = Blended(np.array([percentile(float(v), blend.table["levels"]) for v in whole]), raw, adds)
    return found


def _of_language_model(metric: Metric) -> bool:
    return getattr(metric, "model_role", "") == "causal-lm"


class Study:
    """Signals that judge/package.py or score.py of research/evaluator wrote: `.npz` files, rows numbered as in its
    file of ratings."""

    def __init__(self, ratings: Path, files: Sequence[Path], blends: Path) -> None:
        rows = json.loads(gzip.decompress(ratings.read_bytes()))
        self._sets = np.array([row["set"] for row in rows])
        self._people = [row["human"] for row in rows]
        self._signals: dict[str, Floats] = {}
        for file in files:
            with np.load(file, allow_pickle=False) as table:
                places = table["__id__"]
                for name in table.files:
                    if name != "__id__":
                        self._signals.setdefault(name, np.full(len(rows), np.nan))[places] = table[name]
        self._blends = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in blends.glob("*.toml")}
        _derive(self._signals)

    def blended(self, benchmark: Benchmark, dims: Sequence[str], fast: bool) -> dict[str, Blended]:
        """None for a set that was not scored whole, or not in our order."""
        here = self._rows(benchmark)
        if not self._same(benchmark, here):
            return {}
        found = {}
        for rated in dims:
            table = self._table(*benchmark.answered_by(rated), "fast" if fast else "full")
            if table is not None:
                found[rated] = self._one(table, here)
        return found

    def read(self, benchmark: Benchmark) -> npt.NDArray[np.bool_]:
        """Which rows the language model has read: where it is slow, not all are."""
        likelihood = next(self._signals[n] for n in ("lm.ntok", "lm.unc.mean") if n in self._signals)
        return np.isfinite(likelihood[self._rows(benchmark)])

    def _rows(self, benchmark: Benchmark) -> npt.NDArray[np.intp]:
        name, _, start = STUDY_SETS.get(benchmark.name, "").partition("@")
        return np.flatnonzero(self._sets == name)[int(start or 0) :][: len(benchmark)]

    def _same(self, benchmark: Benchmark, here: npt.NDArray[np.intp]) -> bool:
        """Whether one of the study's columns of ratings is one of ours, row by row."""
        if len(here) != len(benchmark) or not len(here):
            return False
        people = [self._people[k] for k in here]
        for name in {key for row in people for key in row}:
            column = np.array(
                [row.get(name) if isinstance(row.get(name), int | float) else np.nan for row in people], float
            )
            if any(np.allclose(column, ours, atol=1e-6, equal_nan=True) for ours in benchmark.ratings.values()):
                return True
        return False

    def _table(self, task: str, name: str, mode: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self._blends.get(blend_task(task, name), {}).get(name, {}).get(mode)
        return found

    def _one(self, table: Mapping[str, Any], here: npt.NDArray[np.intp]) -> Blended:
        total = sum(row["weight"] for row in table["signals"])
        raw, adds = {}, {}
        for row in table["signals"]:
            label = _script("evaluator_blends").signal(row["name"])["label"]
            raw[label] = _find(self._signals, row["name"])[here]
            normal = (raw[label] - row["mean"]) / row["sd"]
            adds[label] = np.where(np.isfinite(normal), normal, 0.0) * row["weight"] / total
        whole = sum(adds.values(), np.zeros(len(here)))
        return Blended(np.array([percentile(float(v), table["percentiles"]) for v in whole]), raw, adds)


def _find(signals: Mapping[str, Floats], name: str) -> Floats:
    """The product's embedding signals are those of the plain encoder (`emb0`)."""
    for at in (name, f"sf.{name}", name.replace("emb.", "emb0.", 1)):
        if at in signals:
            return signals[at]
    raise SystemExit(f"no file holds the signal {name!r}")


def _derive(signals: dict[str, Floats]) -> None:
    """Gains, and what stands for the context: fact and turns where there is a fact, else the turns."""
    if "sf.fact.idf" in signals and "emb0.fact.cos" in signals:
        # Where there is no fact the study's word counts say 0, the package says nothing.
        signals["sf.fact.idf"][np.isnan(signals["emb0.fact.cos"])] = np.nan
    if "lm.ntok" not in signals:
        return
    number, alone = signals["lm.ntok"], signals["lm.unc.sum"]
    for kind in ("sum", "mean"):
        if f"lm.h12.{kind}" in signals:
            turns = signals[f"lm.h12.{kind}"]
            facts = signals.get(f"lm.fh12.{kind}", np.full_like(turns, np.nan))
            signals.setdefault(f"lm.ctx.{kind}", np.where(np.isfinite(facts), facts, turns))
    for given in ("doc", "mr", "h1", "h3", "h12", "ctx"):
        if f"lm.{given}.sum" in signals:
            gain = signals[f"lm.{given}.sum"] - alone
            signals.setdefault(f"pmi.{given}.sum", gain)
            signals.setdefault(f"pmi.{given}.mean", gain / number)
            signals.setdefault(f"pmi.{given}.log", np.sign(gain) * np.log1p(np.abs(gain) / 5))
    if "lm.out|inp.mean" in signals:
        signals.setdefault("lm.inp.mean", signals["lm.out|inp.mean"])
    if "lm.fh12.sum" in signals:
        signals.setdefault("gain.fact.sum", signals["lm.fh12.sum"] - signals["lm.h12.sum"])
    for head in ("sel", "abac"):
        if f"{head}.h1" in signals:
            signals.setdefault(f"{head}.m", (signals[f"{head}.h1"] + signals[f"{head}.h3"]) / 2)


def _script(name: str) -> Any:
    from importlib import import_module

    if str(ROOT / "scripts") not in sys.path:
        sys.path.insert(0, str(ROOT / "scripts"))
    return import_module(name)


def first_rows(benchmark: Benchmark, limit: int | None) -> Benchmark:
    if limit is None:
        return benchmark
    return replace(
        benchmark,
        examples=benchmark.examples[:limit],
        ratings={d: v[:limit] for d, v in benchmark.ratings.items()},
        annotators={d: v[:limit] for d, v in benchmark.annotators.items()},
    )


def evaluated(benchmark: Benchmark) -> list[str]:
    """Rated dimensions that one of the evaluator's blends answers."""
    plan = _plan(benchmark, benchmark.dimensions, False, Models())
    return [c.label for c in plan.columns if isinstance(c.metric, Evaluator)]


def signatures(benchmark: Benchmark, dims: Sequence[str], models: Models) -> dict[str, str]:
    """By dimension; none where a model is not there, as with a study of models that are not bundled."""
    try:
        return {c.label: c.metric.signature for c in _plan(benchmark, dims, False, models).columns}
    except ModelError:
        return {}
