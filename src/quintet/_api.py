"""The verbs: load, score, tasks. They wire rooms together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quintet.core.calibration import Calibration, read_calibration
from quintet.core.example import FIELDS
from quintet.core.item import Item, Scored
from quintet.core.metric import Metric
from quintet.core.options import Columns, Options
from quintet.core.parameters import build
from quintet.core.plain import JsonObject
from quintet.core.result import Result, row_layout
from quintet.core.score import Score
from quintet.core.task import find_task, read_tasks, task_of
from quintet.errors import InputError, UnknownName
from quintet.io.items import Items
from quintet.io.paths import cache_folder
from quintet.runner.desk import Tally
from quintet.runner.executors import Executor, Here, Processes
from quintet.runner.plan import Column, Plan, plan_metrics, plan_task
from quintet.runner.run import run
from quintet.runner.store import DiskStore, NoStore, Store

if TYPE_CHECKING:
    from quintet.data.benchmark import Benchmark
    from quintet.runner.batches import BatchScorer
    from quintet.runner.parts import Part
    from quintet.stats.gate import Verdict
    from quintet.stats.inputs import Ratings, Scores
    from quintet.stats.records import Record
    from quintet.stats.words import WordAgreement


def load(name: str, **parameters: object) -> Metric:
    """A metric by its name in `quintet metrics`; parameters as keywords or after a colon.

    A name that other tools have for a dimension (`faithfulness`, `context_recall`) gives the metric that answers it.

    >>> quintet.load("bleu-2").parameters["order"]
    2
    """
    from quintet.metrics import metrics

    if name not in metrics and (task := task_of(name)) is not None and (metric := task[name].metric) is not None:
        return build(metrics, metric, **{**task[name].parameters, **parameters})
    return build(metrics, name, **parameters)


def metric(name: str, **parameters: object) -> Metric:
    """`load` under the name of what it gives.

    >>> [score.value for score in quintet.metric("distinct-1").score([quintet.Example("a b")])[0].values()]
    [1.0]
    """
    return load(name, **parameters)


def register(metric: Callable[..., Metric], name: str = "") -> None:
    """Makes a metric of yours known by its name in this process; a package names it in an entry point instead.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shouting(quintet.Metric):
    ...     name = "shouting"
    ...     dimensions = (quintet.Dimension("shouting", "Does it shout?"),)
    ...     def _score(self, examples):
    ...         return [{"shouting": quintet.Score(float("!" in example.output))} for example in examples]
    >>> quintet.register(Shouting)
    >>> quintet.score([{"output": "Hello!"}], metrics="shouting", cache=False)["shouting"]
    [1.0]
    """
    from quintet.metrics import metrics

    called = name or getattr(metric, "name", "")
    if not isinstance(called, str) or not called:
        raise InputError("the metric has no name", todo="give it one: register(MyMetric, 'my-metric')")
    metrics.add(called, metric, (metric.__doc__ or "").partition("\n")[0])


def list_metrics() -> list[str]:
    """The names of all metrics, those of other packages with them.

    >>> "rouge-l" in quintet.list_metrics()
    True
    """
    from quintet.metrics import metrics

    return [entry.name for entry in metrics]


def list_models() -> list[str]:
    """The bundled models, as `model=` takes them.

    >>> "bundled:gte-small" in quintet.list_models()
    True
    """
    from quintet.models.catalog import bundled

    return [f"bundled:{model.name}" for model in bundled()]


def list_tasks() -> dict[str, list[str]]:
    """The dimensions of each task.

    >>> quintet.list_tasks()["summarization"]
    ['coherence', 'consistency', 'fluency', 'relevance']
    """
    return {name: list(task.dimensions) for name, task in read_tasks().items()}


def score_text(
    output: str,
    *,
    source: str | None = None,
    context: str | None = None,
    references: Sequence[str] | str = (),
    history: Sequence[str] | None = None,
    question: str | None = None,
    contexts: Sequence[str] | None = None,
    task: str | None = None,
    **options: Any,
) -> Mapping[str, Score]:
    """One text: its scores by dimension or metric. Options are those of `score`.

    >>> quintet.score_text("a b", references="a c", metrics="rouge-1", cache=False)["rouge-1"].value
    0.5
    """
    given = {"source": source, "context": context, "history": history, "question": question, "contexts": contexts}
    row: JsonObject = {"output": output, **{name: value for name, value in given.items() if value is not None}}
    if references:
        row["references"] = [references] if isinstance(references, str) else list(references)
    return score([row], task, **options).rows[0].scores


def score(
    data: Any,
    task: str | None = None,
    *,
    dims: Sequence[str] | str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Columns = None,
    model: str | None = None,
    task_file: str | Path | None = None,
    fast: bool = False,
    calibration: str | Path | Calibration | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    cache: bool | str | Path = True,
    workers: int = 1,
    engine: str | None = None,
) -> Result:
    """Scores a file, a list of dicts or Examples, parallel lists in a dict, a data frame or a dataset.

    Give a task (all its dimensions, or those in `dims`), or name metrics. Row k of the result is row k of the data.
    `fast` leaves the language model out. `workers` processes of this machine share the work; `engine="ray"` or
    `"ray:ADDRESS"` hands it to a cluster.

    >>> rows = [{"output": "a b", "references": ["a b"]}, {"output": "a b", "references": ["a c"]}]
    >>> quintet.score(rows, metrics="rouge-1", cache=False)
    Result(2 rows: rouge-1 0.750)
    """
    options = Options(task, dims, metrics, columns, model, task_file, fast, calibration, skip_bad, cache)
    return score_with(options, data, limit, workers, engine)


def score_with(
    options: Options, data: Any, limit: int | None = None, workers: int = 1, engine: str | None = None
) -> Result:
    from quintet.io.sources import rows_from_python
    from quintet.io.tables import open_table

    skip_bad = options.skip_bad
    table = open_table(data, skip_bad=skip_bad) if isinstance(data, str | Path) else rows_from_python(data)
    with Items(table, options.task, options.columns, skip_bad=skip_bad, limit=limit) as items:
        plan = make_plan(options, items.present)
        with closing(open_store(options.cache)) as store:
            rows = list(stream(plan, items, store, skip_bad=skip_bad, executor=open_executor(workers, engine)))
    return Result(rows, plan.described, plan.left_out, items.columns.line())


def make_plan(options: Options, present: Iterable[str] | None = None) -> Plan:
    """Which columns to compute for a task or for metrics named one by one, and what their scores go through."""
    from quintet.metrics import metrics as registry

    dims = None if options.dims is None else list(options.dims)
    if options.calibration is not None:
        from quintet.runner.batches import asked_dimensions, calibrated_plan

        given = options.calibration
        known = given if isinstance(given, Calibration) else read_calibration(given)
        return calibrated_plan(
            make_plan(replace(options, dims=asked_dimensions(dims), calibration=None), present), known
        )
    model, fast, task, task_file = options.model, options.fast, options.task, options.task_file
    if options.metrics:
        named = options.metrics
        fields = None if present is None else set(present)
        others = {one: task_of(one) for one in named if isinstance(one, str) and one not in registry}
        if not any(others.values()):
            return plan_metrics(named, registry, model, fast)
        found: list[Column] = []
        for one in named:  # what other tools call a dimension of a task stands among the metrics
            of = others.get(one) if isinstance(one, str) else None
            if of is None:
                found += plan_metrics([one], registry, model, fast).columns
            else:
                found += plan_task(of, [str(one)], registry, fields, model, fast).columns
        return Plan(tuple(found), {})
    if task is None:
        raise InputError(
            "neither a task nor a metric was named",
            todo="give --task (see quintet tasks) or --metric (see quintet metrics)",
        )
    chosen = find_task(task, None if task_file is None else Path(task_file))
    try:
        return plan_task(chosen, dims, registry, None if present is None else set(present), model, fast)
    except UnknownName as error:
        if task_file is None or not error.kind.startswith(("metric", "parameter of")):
            raise
        raise UnknownName(f"{error.kind} in {task_file} [{task}]", error.name, error.known) from None


def _names(given: Sequence[str] | str | None) -> list[str] | None:
    """`"consistency"` is one name, not eleven letters."""
    return None if given is None else [given] if isinstance(given, str) else list(given)


def open_store(cache: bool | str | Path) -> Store:
    if cache is False:
        return NoStore()
    return DiskStore(cache_folder() / "results.sqlite" if cache is True else Path(cache))


def open_executor(workers: int = 1, engine: str | None = None) -> Executor:
    """Who scores: this process, several on this machine, or the Ray cluster that `engine` names."""
    if engine is None:
        return Here() if workers == 1 else Processes(workers)
    name, _, address = engine.partition(":")
    if name != "ray":
        raise UnknownName("engine", engine, ["ray", "ray:ADDRESS"])
    from quintet.runner.on_ray import OnRay

    return OnRay(address or None, None if workers == 1 else workers)


def score_parts(
    data: Any,
    out: str | Path,
    task: str | None = None,
    *,
    dims: Sequence[str] | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Columns = None,
    model: str | None = None,
    task_file: str | Path | None = None,
    fast: bool = False,
    calibration: str | Path | Calibration | None = None,
    evidence: bool = False,
    limit: int | None = None,
    skip_bad: bool = False,
    workers: int = 1,
    engine: str | None = None,
    on_part: Callable[[Part], None] = lambda part: None,
) -> JsonObject:
    """Scores a file of any size into the folder `out`, part by part; files and `out` may be addresses (`s3://…`).

    Each part is written by the machine that scored it, and what is there already is not scored again: a run that was
    stopped goes on. The manifest, which is also given back, lists the parts in order and the means. Where `out` ends in
    .jsonl, the parts become that one file. `engine="ray"` or `"ray:ADDRESS"` has a cluster score.

    >>> quintet.score_parts([{"output": "a b"}, {"output": "c"}], "scored", metrics="response-length")["rows"]
    2
    """
    from quintet.io.sources import rows_from_python
    from quintet.io.tables import open_table
    from quintet.runner.parts import PartJob, finish, part_place, run_parts, whole_file

    with ExitStack() as opened:
        place, single = part_place(str(out))
        held = opened.enter_context(whole_file(place, single))
        table = open_table(data, skip_bad=skip_bad) if isinstance(data, str | Path) else rows_from_python(data)
        items = opened.enter_context(Items(table, task, columns, skip_bad=skip_bad, limit=limit))
        options = Options(task, dims, metrics, columns, model, task_file, fast, calibration)
        plan = make_plan(options, items.present)
        job = PartJob(plan.columns, row_layout(items.names, plan.signatures, evidence), place, skip_bad)
        parts = []
        for part in run_parts(job, items, open_executor(workers, engine)):
            on_part(part)
            parts.append(part)
        if not parts:
            raise InputError("has no rows", str(data) if isinstance(data, str | Path) else "", "give at least one")
        manifest = finish(job, parts)
        if held is not None:
            held.put_together(parts)
    return manifest


def batch_scorer(
    task: str | None = None,
    *,
    dims: Sequence[str] | str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Columns = None,
    model: str | None = None,
    task_file: str | Path | None = None,
    fast: bool = False,
    skip_bad: bool = False,
) -> BatchScorer:
    """A function of a batch for `ray.data.Dataset.map_batches`, Spark's `mapInPandas` and `datasets.map(batched=True)`.

    Name the dimensions or metrics: which columns come out is settled before the first batch is seen.

    >>> quintet.batch_scorer(metrics="response-length")({"output": ["a b", "c"]})["response-length"]
    [2.0, 1.0]
    """
    from quintet.runner.batches import BatchScorer

    plan = make_plan(Options(task, dims, metrics, columns, model, task_file, fast))
    return BatchScorer(plan, task, columns, skip_bad)


def stream(
    plan: Plan,
    items: Iterable[Item],
    store: Store,
    *,
    skip_bad: bool = False,
    executor: Executor | None = None,
    tally: Tally | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> Iterator[Scored]:
    """Scored rows in order as they are done, in bounded memory."""
    for scored in run(plan.columns, items, store, skip_bad=skip_bad, executor=executor, tally=tally):
        on_row()
        yield scored


def bench(
    sets: Sequence[str],
    metrics: Sequence[str] | str | None = None,
    *,
    scores: Sequence[tuple[str, str | Path]] = (),
    dims: Sequence[str] | str | None = None,
    level: str | None = None,
    exclude_systems: Sequence[str] = (),
    unanimous: str = "",
    data: str | Path | None = None,
    variant: str = "",
    model: str | None = None,
    fast: bool = False,
    cache: bool | str | Path = True,
    baseline: str = "",
    resamples: int = 1000,
    on_row: Callable[[], None] = lambda: None,
    on_note: Callable[[str], None] = lambda note: None,
    on_judged: Callable[[str, Ratings, list[Scores]], None] = lambda name, ratings, scores: None,
    accuracy: bool = False,
) -> list[Record]:
    """How well metrics agree with people on public sets.

    Without `metrics` and `scores` the bundled evaluator is judged: each dimension by its own metric. `scores` are files
    of scores made elsewhere, as (name, path), matched by id.

    >>> quintet.bench(["topical_chat"], metrics=["rouge-l"], dims="naturalness")  # doctest: +SKIP
    [Record(set='topical_chat', metric='rouge-l', dimension='naturalness', …)]
    """
    from quintet.data.benchmark import load as load_benchmark
    from quintet.data.catalog import state
    from quintet.stats.inputs import foreign_scores, own_dimensions, ratings_of
    from quintet.stats.study import Study

    records: list[Record] = []
    benchmarks = [load_benchmark(name, data, variant) for name in sets]
    asked = own_dimensions(_names(dims), benchmarks)
    for name, benchmark in zip(sets, benchmarks, strict=True):
        if state(name, data) == "altered":
            on_note(f"{name}: the files differ from those the catalogue knows (see quintet data)")
        study = Study(
            set=name,
            level=level or benchmark.level,
            variant=benchmark.variant,
            accuracy=accuracy,
            dimensions=tuple(d for d in benchmark.dimensions if asked is None or d in asked),
            exclude_systems=tuple(exclude_systems),
            unanimous=unanimous,
            baseline=baseline,
            resamples=resamples,
            undefined="keep" if len(sets) > 1 else "raise",
        )
        if not study.dimensions:
            continue
        judged = [foreign_scores(path, called, benchmark, data) for called, path in scores]
        if metrics or not scores:
            judged.append(score_benchmark(benchmark, metrics, study.dimensions, model, cache, on_row, on_note, fast))
        if any(judged):
            ratings, scored = ratings_of(benchmark), [one for found in judged for one in found]
            records += study.run(ratings, scored)
            on_judged(name, ratings, scored)
    if not records:
        raise InputError("nothing could be judged", todo="name metrics that the sets have the fields for")
    return records


def word_agreement(
    set: str,
    metrics: Sequence[str],
    *,
    data: str | Path | None = None,
    model: str | None = None,
    cache: bool | str | Path = True,
    on_row: Callable[[], None] = lambda: None,
) -> list[WordAgreement]:
    """Whether metrics call the same words unsupported as people did, beside how their scores agree (CTC, Figure 7)."""
    import numpy as np

    from quintet.data.benchmark import load as load_benchmark
    from quintet.stats.coefficients import pearson
    from quintet.stats.words import WordAgreement, compared

    benchmark = load_benchmark(set, data)
    dimension = benchmark.dimensions[0]
    plan = plan_benchmark(benchmark, list(metrics), [dimension], model)
    with closing(open_store(cache)) as store:
        items = [Item(example) for example in benchmark.examples]
        rows = list(stream(plan, items, store, skip_bad=True, on_row=on_row))
    found = []
    for column in plan.columns:
        scores = [row.scores[column.label] for row in rows]
        values = np.array([score.value for score in scores])
        whole = np.isfinite(values) & np.isfinite(benchmark.ratings[dimension])
        agreed = pearson(values[whole], benchmark.ratings[dimension][whole])
        found.append(WordAgreement(column.label, *compared(benchmark, [s.spans for s in scores]), float(agreed)))
    return found


def score_benchmark(
    benchmark: Benchmark,
    metrics: Sequence[str] | str | None,
    dims: Sequence[str],
    model: str | None,
    cache: bool | str | Path,
    on_row: Callable[[], None] = lambda: None,
    on_note: Callable[[str], None] = lambda note: None,
    fast: bool = False,
) -> list[Scores]:
    """Our scores of a benchmark's texts: named metrics against every dimension, or the task's own metric for each."""
    import numpy as np

    from quintet.stats.inputs import Scores

    listed = [metrics] if isinstance(metrics, str) else list(metrics or ())
    routed = [spec for spec in listed if "quality=auto" in spec]
    if routed:
        # SELECTIVE (IM2, USL-H): each rated dimension is asked for by the name that the set's own file gives it.
        rest = [spec for spec in listed if spec not in routed]
        found = score_benchmark(benchmark, rest, dims, model, cache, on_row, on_note, fast) if rest else []
        for spec in routed:
            names = {dim: benchmark.original_names.get(dim, dim) for dim in dims}
            asked = {dim: spec.replace("quality=auto", f"quality={name}") for dim, name in names.items()}
            scored = score_benchmark(
                benchmark, list(dict.fromkeys(asked.values())), dims, model, cache, on_row, on_note, fast
            )
            by_spec = {one.metric: one for one in scored}
            own = {dim: by_spec[one] for dim, one in asked.items() if one in by_spec}
            if own:
                ids = next(iter(own.values())).ids
                values = {dim: np.asarray(one.values, dtype=float) for dim, one in own.items()}
                found.append(Scores(spec, values, ids, {dim: str(one.signature) for dim, one in own.items()}))
        return found
    if any("table=set" in spec for spec in listed):
        metrics = [spec.replace("table=set", f"table={_counted(benchmark)}") for spec in listed]
    plan = plan_benchmark(benchmark, metrics, dims, model, fast, on_note)
    if not plan.columns:
        return []
    with closing(open_store(cache)) as store:
        items = [Item(example) for example in benchmark.examples]
        rows = list(stream(plan, items, store, skip_bad=True, on_row=on_row))
    ids = [e.id for e in benchmark.unit_examples()]
    table = {c.label: benchmark.per_unit(np.array([r.scores[c.label].value for r in rows])) for c in plan.columns}
    if metrics:
        return [Scores(label, values, ids, plan.signatures[label]) for label, values in table.items()]
    return [Scores("quintet", table, ids, plan.signatures)]


def _counted(benchmark: Benchmark) -> str:
    """The n-grams of a set's own contexts and responses, as IM2's released Dist-n counts them."""
    from quintet.metrics.im2.diversity import keep, table_of_set

    contexts = ["\n".join(example.history or ()) for example in benchmark.examples]
    return keep(table_of_set([text for text in contexts if text], [e.output for e in benchmark.examples]))


def plan_benchmark(
    benchmark: Benchmark,
    metrics: Sequence[str] | str | None,
    dims: Sequence[str],
    model: str | None = None,
    fast: bool = False,
    on_note: Callable[[str], None] = lambda note: None,
) -> Plan:
    """One column for each metric named, or for each rated dimension that a dimension of a task answers."""
    present = {f for e in benchmark.examples for f in FIELDS if e.has(f)}
    if metrics:
        plan = make_plan(Options(metrics=metrics, model=model, fast=fast), present)
    else:
        asked = {rated: benchmark.answered_by(rated) for rated in dims}
        found: dict[tuple[str, str], Column] = {}
        for task in dict.fromkeys(task for task, _ in asked.values()):
            names = dict.fromkeys(name for of, name in asked.values() if of == task and _answered(task, name))
            if names:
                plan = make_plan(Options(task, list(names), model=model, fast=fast), present)
                found.update({(task, column.label): column for column in plan.columns})
        plan = Plan(tuple(replace(found[at], label=rated) for rated, at in asked.items() if at in found), {})
    plan, lacking = plan.within(present)
    for label, fields in lacking.items():
        on_note(f"{benchmark.name} has no {' and no '.join(fields)}, which {label} needs: not judged there")
    return plan


def _answered(task: str, dimension: str) -> bool:
    known = read_tasks().get(task)
    return known is not None and dimension in known.dimensions and known[dimension].metric is not None


def gate(
    scored: Result | str | Path,
    *,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    max_drop: Mapping[str, float] | None = None,
    baseline: Result | str | Path | None = None,
    min_share: Mapping[str, tuple[float, float]] | None = None,
    min_worst: Mapping[str, tuple[float, float]] | None = None,
    max_flag: Mapping[str, float] | None = None,
    lower_is_better: Sequence[str] = (),
    alpha: float = 0.05,
    show: int = 10,
    near: float = 0.02,
    skip_bad: bool = False,
    common_only: bool = False,
) -> Verdict:
    """Holds the means of a Result or a scored file against limits, and drops since a baseline: see quintet gate.

    `min_share={"consistency": (0.7, 0.95)}`: 95 % of the rows must reach 0.7. `min_worst={"consistency": (0.05, 0.4)}`:
    the worst 5 % must have a mean of 0.4. `max_flag={"empty source": 0.0}`: no row may carry the flag.

    `check` of the verdict raises GateFailed where a limit does not hold.

    >>> result = quintet.score([{"output": "a b", "references": ["a c"]}], metrics="rouge-1", cache=False)
    >>> quintet.gate(result, min={"rouge-1": 0.4}).passed
    True
    """
    from quintet.stats import gate as statistics

    given: dict[statistics.Kind, Mapping[str, float]] = {"min": min or {}, "max": max or {}, "max-drop": max_drop or {}}
    limits = [statistics.Limit(kind, name, value) for kind, named in given.items() for name, value in named.items()]
    limits += [statistics.Limit("min-share", d, share, at) for d, (at, share) in (min_share or {}).items()]
    limits += [statistics.Limit("min-worst", d, value, part) for d, (part, value) in (min_worst or {}).items()]
    limits += [statistics.Limit("max-flag", flag, share) for flag, share in (max_flag or {}).items()]
    if not limits:
        raise InputError("no limit was given", todo="give min, max or max_drop as {DIMENSION: NUMBER}")
    if (baseline is None) != (not max_drop):
        raise InputError("max_drop and baseline go together", todo="give both or neither")
    down = {*lower_is_better}
    if isinstance(scored, Result):
        down |= {label for label, column in scored.columns.items() if not column.higher_is_better}
    names = list(dict.fromkeys(limit.dimension for limit in limits if limit.kind != "max-flag"))
    before = None if baseline is None else statistics.subject_of(baseline, list(max_drop or ()), "the baseline")
    rules = statistics.Rules(down, alpha, show, near, skip_bad, common_only)
    return statistics.judge(statistics.subject_of(scored, names, "the result"), limits, before, rules)


def human_agreement(name: str, data: str | Path | None = None) -> JsonObject:
    """How well people agree on a set: by dimension, and the weight of each quality in `overall`, all and by rater.

    >>> quintet.human_agreement("topical_chat")  # doctest: +SKIP
    {'set': 'topical_chat', …}
    """
    from quintet.data.benchmark import load as load_benchmark
    from quintet.stats.agreement import agreement_and_weights

    benchmark = load_benchmark(name, data)
    found = agreement_and_weights(name, benchmark.annotators, benchmark.raters)
    return {"set": name, **found, "systems": benchmark.system_means()}


def calibrate(
    data: Any,
    labels: Mapping[str, str],
    task: str | None = None,
    *,
    metrics: Sequence[str | Metric] | str | None = None,
    scores: Mapping[str, str] | None = None,
    columns: Columns = None,
    model: str | None = None,
    task_file: str | Path | None = None,
    fast: bool = False,
    accept: Mapping[str, float] | float | None = None,
    precision: float | None = None,
    recall: float | None = None,
    scale: tuple[float, float] | None = None,
    lower_is_better: Sequence[str] = (),
    skip_bad: bool = False,
    cache: bool | str | Path = True,
    resamples: int = 1000,
    on_note: Callable[[str], None] = lambda note: None,
) -> Calibration:
    """Fits scores to labels: `labels` maps a dimension to the column of what people said of it.

    The texts are scored as `score` would, or `scores` names columns of scores that are there already. `accept` is the
    lowest rating that is good enough. The result goes into `score(…, calibration=…)`.

    >>> rows = [{"output": "a b", "references": ["a b" if k % 2 else "c d"], "good": k % 2} for k in range(40)]
    >>> known = quintet.calibrate(rows, {"rouge-1": "good"}, metrics="rouge-1", cache=False)
    >>> quintet.score(rows[:2], metrics="rouge-1", calibration=known, cache=False)["rouge-1"]
    [0.0, 1.0]
    """
    from quintet.io.labelled_rows import of_file, of_result
    from quintet.stats.calibration import Labelled, check_aim
    from quintet.stats.calibration import calibrate as fit_all

    aim, down = check_aim(precision, recall), set(lower_is_better)
    signatures: dict[str, str] = {}
    if scores is None:
        dims = None if metrics or set(labels) == {""} else list(labels)
        options = Options(task, dims, metrics, columns, model, task_file, fast, None, skip_bad, cache)
        down |= {column.label for column in make_plan(options).columns if not column.about.higher_is_better}
        result = score_with(options, data)
        on_note(f"columns: {result.read_as}")
        rows = of_result(result, labels, str(data) if isinstance(data, str | Path) else "the data")
        signatures = dict(result.signatures)
    else:
        rows = of_file(data, labels, scores, skip_bad)
    known = {name: Labelled(*pair, rows.groups, scale, name not in down) for name, pair in rows.pairs.items()}
    return fit_all(known, accept=accept, aim=aim, signatures=signatures, resamples=resamples, on_note=on_note)
