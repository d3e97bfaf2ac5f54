"""Many sets in one table, beside what others published."""

import math

import pytest

from quintet.core.task import read_tasks
from quintet.data.catalog import catalog, entry
from quintet.data.published import every_figure
from quintet.stats.records import CEILING, Record
from quintet.stats.tables import overview_table


def record(set: str, dimension: str, value: float, **more: object) -> Record:
    given: dict[str, object] = {"level": "pooled", "n": 360, "resamples": 1000, **more}
    return Record(set=set, metric="quintet", dimension=dimension, pearson=value, spearman=value, kendall=value,
                  low=value - 0.05, high=value + 0.05, signature="", **given)  # type: ignore[arg-type]  # fmt: skip


def test_a_row_for_each_with_people_and_published_figures() -> None:
    records = [
        record("topical_chat", "coherence", 0.58),
        record("topical_chat", "coherence", 0.7, kind=CEILING),
        record("summeval", "consistency", 0.45, level="by document", n=1600),
        record("fed_turn", "specificity", 0.1, n=375),
    ]
    by = {("topical_chat", "coherence"): "dialogue.coherence"}
    lines = overview_table(records, by, "markdown").splitlines()
    coherence, consistency, specificity = lines[2:5]
    assert (
        "dialogue.coherence | 360 | pooled | .580 [.53, .63] | .70 | .613 | .622 X-Eval | .680 GPT-4-Turbo" in coherence
    )
    # AlignScore's figure is pooled over all summaries, so it is marked.
    assert "| .446 | .466‡ AlignScore-large | .600 Themis |" in consistency
    assert specificity.endswith("|  |  |  |  |")
    assert "as published" in lines[-1]
    assert len(overview_table(records, by).splitlines()) >= 6


def test_every_figure_names_a_rated_dimension_of_a_known_set() -> None:
    for figures in every_figure():
        known = {*entry(figures.set).dimensions, "all qualities"}
        assert set(figures.values) <= known, figures
        assert all(-1.0 <= value <= 1.0 for value in figures.values.values())
        assert figures.kind in {"small", "large", "labels"}
        assert figures.level in {"pooled", "by document"}
        assert figures.source


UNIEVAL = {"topical_chat": "coherence", "qags_cnn": "consistency", "sfhot": "naturalness", "sfres": "informativeness"}


@pytest.mark.parametrize("name", UNIEVAL)
def test_unievals_figures_come_out_of_its_released_predictions(name: str, benchmarks: object) -> None:
    from quintet import _api as api

    (found,) = api.bench([name], scores=[("", "authors")], dims=[UNIEVAL[name]], data=str(benchmarks), resamples=0,
                         on_note=lambda note: None)[:1]  # fmt: skip
    printed = next(f.values[UNIEVAL[name]] for f in every_figure() if (f.set, f.metric) == (name, "UniEval"))
    assert round(found.spearman, 3) == pytest.approx(printed, abs=0.0011)
    assert math.isfinite(found.spearman)


def test_every_answer_is_a_dimension_of_a_task() -> None:
    from quintet.metrics.evaluator.table import BLENDS

    known = {name: {*task.dimensions, *BLENDS.get(name, ())} for name, task in read_tasks().items()}
    for name, facts in catalog().items():
        for rated, answer in facts.answers.items():
            task, _, dimension = answer.rpartition(".")
            assert not answer or dimension in known[task], f"{name} {rated}: {answer}"
