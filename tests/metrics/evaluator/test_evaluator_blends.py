"""The blends as they ship: sane constants, fast without a language model, missing signals named, a true page."""

from __future__ import annotations

import dataclasses
import importlib
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from quintet.core.blend import ADDS, Signal, percentile
from quintet.core.example import Example
from quintet.core.score import EMPTY_OUTPUT
from quintet.errors import MissingField
from quintet.metrics import metrics
from quintet.metrics.evaluator.blended import Evaluator
from quintet.metrics.evaluator.reader import HeadSignal
from quintet.metrics.evaluator.table import BLENDS
from quintet.models.fake import FakeCausalLM
from quintet.runner.plan import leaves

ROOT = Path(__file__).resolve().parents[3]
NAMES = [(task, dimension) for task, dimensions in BLENDS.items() for dimension in dimensions]
FAKES = {
    "model": "fake:judge",
    "model_lm": "fake:causal-lm",
    "model_words": "fake:embedder",
    "model_reader": "fake:reader",
}
GOOD = Example(
    "The council voted to repair the bridge. Work begins in May.",
    source="The town council voted on Monday to repair the old bridge. Work will begin in May.",
    context="The council votes on Mondays.",
    references=("The bridge will be repaired from May.",),
    history=("What about the bridge?",),
    id="row-7",
)

RECORD = "inform(council='town council', bridge=old, work='in May')"


def good(task: str) -> Example:
    """With what its signals look at: data-to-text wants a record."""
    return dataclasses.replace(GOOD, source=RECORD) if task == "data2text" else GOOD


every = pytest.mark.parametrize(("task", "dimension"), NAMES)
both = pytest.mark.parametrize("fast", [False, True], ids=["full", "fast"])


def shown(metric: Evaluator, value: float) -> float:
    """The weighted sum as a probability or percentile."""
    if "probability" in metric.table:
        intercept, slope = metric.table["probability"]
        return 1.0 / (1.0 + math.exp(-intercept - slope * value))
    return percentile(value, metric.table["levels"])


def blend(task: str, dimension: str, fast: bool = False) -> Evaluator:
    metric = metrics[f"evaluator-{task}-{dimension}"].build(fast=fast, **FAKES)
    assert isinstance(metric, Evaluator)
    return metric


@every
@both
def test_constants_are_sane(task: str, dimension: str, fast: bool) -> None:
    metric = blend(task, dimension, fast)
    table = metric.table
    assert sum(signal.weight for signal in metric.signals) == pytest.approx(1.0)
    assert all(signal.scale > 0 for signal in metric.signals)
    assert len({signal.label for signal in metric.signals}) == len(metric.signals)
    if "probability" in table:
        assert len(table["probability"]) == 2
        assert table["probability"][1] > 0
    else:
        assert len(table["levels"]) == 21
        assert table["levels"] == sorted(table["levels"])
    assert table["origin"]
    assert metric.name == f"evaluator-{task}-{dimension}"
    assert [d.name for d in metric.dimensions] == [dimension]


@every
def test_fast_has_no_language_model(task: str, dimension: str) -> None:
    roles = {getattr(leaf, "model_role", None) for leaf in leaves([blend(task, dimension, fast=True)])}
    assert "causal-lm" not in roles
    assert "model_lm" not in blend(task, dimension, fast=True).parameters


@every
@both
def test_the_value_is_the_formula_on_the_page(task: str, dimension: str, fast: bool) -> None:
    metric = blend(task, dimension, fast)
    score = metric.score([good(task)])[0][dimension]
    value = 0.0
    for signal in metric.signals:
        raw = signal.metric.score([good(task)])[0][signal.dimension].value
        assert score.parts[signal.label] == raw
        share = signal.weight * (raw - signal.shift) / signal.scale
        assert score.parts[signal.label + ADDS] == pytest.approx(share)
        value += share
    assert score.value == pytest.approx(shown(metric, value))
    assert not score.flags


@every
@both
def test_what_is_not_needed_may_be_missing_and_is_named(task: str, dimension: str, fast: bool) -> None:
    metric = blend(task, dimension, fast)
    needs, either = metric.table["needs"], metric.table.get("either", [])
    kept = {*needs, *either[:1]}
    bare = dataclasses.replace(
        good(task),
        **{
            f: () if f == "references" else None
            for f in ("source", "context", "references", "history")
            if f not in kept
        },
    )
    score = metric.score([bare])[0][dimension]
    assert 0.0 < score.value < 1.0
    absent = [s for s in metric.signals if any(not bare.has(f) for f in _needs(s))]
    assert [flag.split(" (")[0] for flag in score.flags] == [f"without {signal.label}" for signal in absent]
    value = sum(score.parts[s.label + ADDS] for s in metric.signals if s not in absent)
    assert score.value == pytest.approx(shown(metric, value))
    for field in (*needs, *either[:1]):
        lacking = dataclasses.replace(bare, **{field: () if field == "references" else None})
        with pytest.raises(MissingField, match=f"row-7.*{field}"):
            metric.score([lacking])
        assert field in metric.lacks({"output", *kept} - {field})


def _needs(signal: Signal) -> tuple[str, ...]:
    """Of the dimension that the blend asks for: a metric may have others."""
    return next(d.needs for d in signal.metric.dimensions if d.name == signal.dimension)


@both
def test_no_fact_is_neutral(fast: bool) -> None:
    metric = blend("dialogue", "groundedness", fast)
    score = metric.score([dataclasses.replace(GOOD, context="_nofact\n")])[0]["groundedness"]
    assert score.value == pytest.approx(shown(metric, 0.0))
    assert len(score.flags) == len(metric.signals)
    assert all(flag.endswith("(no context)") for flag in score.flags)


@every
def test_an_empty_output_is_worst(task: str, dimension: str) -> None:
    score = blend(task, dimension).score([dataclasses.replace(GOOD, output=" ")])[0][dimension]
    assert (score.value, score.flags) == (0.0, (EMPTY_OUTPUT,))


@every
def test_the_set_around_an_example_does_not_change_its_score(task: str, dimension: str) -> None:
    metric = blend(task, dimension)
    others = [
        dataclasses.replace(GOOD, output=f"{text} {n}.") for n, text in enumerate(("Cats", "The bridge is", "Work"))
    ]
    alone = metric.score([GOOD])[0][dimension]
    assert metric.score([*others, GOOD, *others])[3][dimension] == alone


def test_signals_are_shared_between_dimensions() -> None:
    both_blends = [blend("summarization", name) for name in BLENDS["summarization"]]
    asked = sum(len(metric.ingredients) for metric in both_blends)
    assert len(leaves(both_blends)) < asked


def test_a_blend_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    rows = '[[taste.{0}.signals]]\nmetric = "evaluator-information"\nshift = 10.0\nscale = 5.0\n'
    path.write_text(
        "".join(f'[taste.{m}]\nquestion = "Tasty?"\nneeds = []\n{rows.format(m)}' for m in ("full", "fast"))
    )
    metric = Evaluator(recipe=f"{path}#taste")
    score = metric.score([GOOD])[0]["taste"]
    assert score.value == pytest.approx((score.parts["evaluator-information"] - 10.0) / 5.0)
    assert "model" not in metric.parameters


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("evaluator_blends")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


def test_the_page_says_what_the_files_say(script: ModuleType) -> None:
    page = (ROOT / "docs" / "metrics" / "evaluator.md").read_text(encoding="utf-8")
    assert script.page_table() in page, "run scripts/evaluator_blends.py"


READ = {
    "rd.doc.con": ("evaluator-reader", "con"), "rd.doc.nli": ("evaluator-reader", "nli"),
    "rd.doc.words": ("evaluator-reader", "words"), "rd.doc.cohd": ("evaluator-reader", "cohd"),
    "rd.doc.rel": ("evaluator-reader", "rel"), "rd.doc.cov": ("evaluator-reader", "cov"),
    "rd.alone.acc": ("evaluator-reader-alone", "acc"), "rd.alone.coh": ("evaluator-reader-alone", "coh"),
    "rd.dlg.sel": ("evaluator-reader-dialogue", "sel"), "rd.dlg.gro": ("evaluator-reader-dialogue", "gro"),
    "rd.mr.d2t": ("evaluator-reader-record", "d2t"), "rd.inp.adq": ("evaluator-reader-input", "adq"),
    "rd.refm.adq": ("evaluator-reader-reference", "adq"),
}  # fmt: skip


def test_short_names_of_what_the_language_model_reads(script: ModuleType) -> None:
    rows = {name: script.signal(name) for name in READ}
    for name, (metric, head) in READ.items():
        built = metrics[rows[name]["metric"]].build()
        assert isinstance(built, HeadSignal)
        heads = {d.name: h for d, h in zip(built.dimensions, built.heads, strict=True)}
        assert (built.name, heads[rows[name]["of"]]) == (metric, head)
    labels = {row["label"] for row in rows.values()}
    assert len(labels) == len(READ)
    assert not labels & {label for _, _, label in script._ALONE.values()}
    with pytest.raises(SystemExit, match=r"no metric is known for the signal 'rd.doc.gro'"):
        script.signal("rd.doc.gro")


@pytest.mark.parametrize("name", [*READ, "lm.doc.mean", "pmi.ctx.log", "gain.fact.sum"])
def test_what_asks_the_language_model_cannot_be_fast(script: ModuleType, name: str) -> None:
    rows = [{**script.signal(one), "shift": 0.0, "scale": 1.0} for one in ("acc.mean", name)]
    script.without_language_model({"signals": rows[:1]}, "mine")
    with pytest.raises(SystemExit, match=f"^mine: fast leaves the language model out, and '{rows[1]['label']}' asks"):
        script.without_language_model({"signals": rows}, "mine")


def test_a_blend_of_readers_runs(script: ModuleType, tmp_path: Path) -> None:
    """Each signal of a blend that has them all, with a model whose heads know only some."""
    rows = [{**script.signal(name), "shift": 0.0, "scale": 1.0, "weight": 1 / len(READ)} for name in READ]
    full = {"question": "Is it so?", "needs": [], "origin": "made up", "levels": [-2.0, 0.0, 2.0], "signals": rows}
    fast = {**full, "signals": [{**script.signal("acc.mean"), "shift": 0.0, "scale": 1.0, "weight": 1.0}]}
    path = tmp_path / "mine.toml"
    path.write_text(script.toml("mine.full", full) + script.toml("mine.fast", fast))
    metric = Evaluator(recipe=f"{path}#mine", **FAKES)  # type: ignore[arg-type]
    score = metric.score([GOOD])[0]["mine"]
    assert set(score.parts) == {row["label"] + end for row in rows for end in ("", ADDS)}
    assert not score.flags
    assert "model_lm" not in dataclasses.replace(metric, fast=True).parameters
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeCausalLM, "taught", ("con", "acc", "gro", "d2t", "adq"))
        flags = metric.score([GOOD])[0]["mine"].flags
    assert "without relevance to the document as read (no head 'rel' in the language model)" in flags
    assert len(flags) == len(READ) - 6
