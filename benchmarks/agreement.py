"""How well the bundled evaluator agrees with people: writes the tables of docs/agreement.md
and, of single signals, precision and signatures, of research/evaluator/figures.md.

    python benchmarks/agreement.py --look "release candidate 3" --workers 2
    python benchmarks/agreement.py newsroom --limit 50 --page page.md --details more.md  # a validation set: no look

One run gives all tables: scores are kept, single signals and blends without one are put together from `Score.parts`.
Test sets are refused without --look, which adds a row to research/looks.md. With --study the signals come from
files that research/evaluator wrote on another machine instead of being computed here.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from evaluator_signals import (
    Blended,
    Models,
    Study,
    but_for_likelihoods,
    evaluated,
    first_rows,
    product,
    signatures,
)

from quintet.data.benchmark import Benchmark, load
from quintet.data.published import Figures, published
from quintet.stats.coefficients import spearman
from quintet.stats.inputs import Ratings, Scores, ratings_of
from quintet.stats.records import Record, decimal
from quintet.stats.significance import bootstrap_rows, interval
from quintet.stats.study import Study as Correlation
from quintet.stats.tables import like_for_like

ROOT = Path(__file__).resolve().parents[1]
TEST_SETS = (
    "summeval", "topical_chat", "persona_chat", "qags_cnn", "qags_xsum", "sfres", "sfhot", "bagel", "yelp",
    "cnndm_quality", "fed_turn",
)  # fmt: skip
TARGETS = {  # the least that was asked for, and the aim
    "summeval": {"coherence": (0.45, 0.575), "consistency": (0.45, 0.47), "fluency": (0.41, 0.45),
                 "relevance": (0.36, 0.43)},
    "topical_chat": {"naturalness": (0.40, 0.514), "coherence": (0.52, 0.613), "engagingness": (0.58, 0.605),
                     "groundedness": (0.52, 0.575)},
    "persona_chat": {"coherence": (0.60, 0.65), "engagingness": (0.48, 0.61), "groundedness": (0.60, 0.75)},
    "qags_cnn": {"consistency": (0.65, 0.70)},
    "qags_xsum": {"consistency": (0.36, 0.50)},
    "yelp": {"preservation": (0.51, 0.524)},
    "cnndm_quality": {"overall": (0.45, 0.52)},
}  # fmt: skip
MEANS = {  # name: (cells, least, aim)
    "SummEval, mean of four": ([("summeval", d) for d in TARGETS["summeval"]], 0.42, 0.474),
    "SFRES and SFHOT, mean of four": (
        [(s, d) for s in ("sfres", "sfhot") for d in ("naturalness", "informativeness")], 0.30, 0.333,
    ),
    "Topical-Chat, mean of four": ([("topical_chat", d) for d in TARGETS["topical_chat"]], 0.50, 0.577),
}  # fmt: skip
FULL, FAST, ONLY, WITHOUT = "full", "fast", "only ", "without "
PRECISE, CHECK = "full precision", "the package"
NO_FACT = "no fact"
AS_TEXT, WITH_FACT = "48 rows without a fact read as the text `_nofact`", "rows with a fact only"
Cell = tuple[str, str]
Found = dict[tuple[str, str, str], Record]
"""Set, dimension and variant to the record."""
Draws = dict[tuple[str, str, str], np.ndarray]
"""The same to the correlations of its resamples; the dimensions of a set are resampled together."""


@dataclass(frozen=True)
class Change:
    """The same rows scored in two ways."""

    kind: str
    set: str
    dimension: str
    n: int
    ours: float
    """Spearman with people, at the set's level."""
    other: float
    between: float
    difference: float


@dataclass(frozen=True)
class Options:
    data: str | None = None
    cache: str | bool = True
    workers: int = 1
    limit: int | None = None
    resamples: int = 1000
    models: Models = field(default_factory=Models)
    precise: Models = field(default_factory=Models)
    precise_rows: Mapping[str, int] = field(default_factory=dict)
    check_rows: Mapping[str, int] = field(default_factory=dict)
    package: frozenset[str] = frozenset()
    """With a study: sets that the package scores itself all the same."""
    own_encoder: frozenset[str] = frozenset()
    """With a study: sets that the package scores itself but for the likelihoods."""
    study: Study | None = None


def blended(benchmark: Benchmark, dims: Sequence[str], fast: bool, options: Options) -> dict[str, Blended]:
    if options.study is not None and benchmark.name not in options.package:
        if benchmark.name not in options.own_encoder:
            return options.study.blended(benchmark, dims, fast)
        return but_for_likelihoods(benchmark, dims, fast, options.models, options.cache, options.study)
    return product(benchmark, dims, fast, options.models, options.cache, options.workers)


def variants(full: Blended, fast: Blended | None) -> Iterator[tuple[str, np.ndarray]]:
    yield FULL, full.value
    if fast is not None:
        yield FAST, fast.value
    known = [name for name in full.adds if len(np.unique(full.adds[name])) > 1]
    for name in known:
        yield ONLY + name, full.alone(name)
    if len(known) > 1:
        for name in known:
            yield WITHOUT + name, full.without(name)


def judge(name: str, options: Options) -> tuple[list[Record], Draws, list[Change], dict[str, str]]:
    """Records of every variant of every dimension; resamples for the means; what quantising changed; signatures."""
    benchmark = load(name, options.data)
    if options.study is None:
        benchmark = first_rows(benchmark, options.limit)
    dims = evaluated(benchmark)
    full, fast = (blended(benchmark, dims, mode, options) for mode in (False, True))
    records, ratings = [], ratings_of(benchmark)
    for dimension, found in full.items():
        records += _correlate(benchmark, ratings, dimension, list(variants(found, fast.get(dimension))), options)
    if name == "topical_chat" and "groundedness" in full:
        records += _facts(benchmark, full["groundedness"], ratings, options)
    precise = options.precise_rows.get(name, 0)
    changes = _quantised(benchmark, precise, options) if precise else []
    if options.study is not None and benchmark.name in options.package | options.own_encoder:
        there = options.study.blended(benchmark, dims, False)
        changes += [_change(CHECK, benchmark, d, full[d], there[d]) for d in full if d in there]
    elif benchmark.name in options.check_rows:
        changes += _checked(benchmark, options.check_rows[benchmark.name], options)
    signed = signatures(benchmark, list(full), options.models)
    draws = _drawn(benchmark, ratings, {FULL: full, FAST: fast}, options)
    return records, draws, changes, {f"{name} {d}": line for d, line in signed.items()}


def _drawn(benchmark: Benchmark, ratings: Ratings, found: Mapping[str, dict[str, Blended]], options: Options) -> Draws:
    """For an interval of a mean over dimensions: they share the rows, so their resamples must share them, too."""
    cells = [cell for wanted, *_ in MEANS.values() for cell in wanted]
    dims = [d for name, d in cells if name == benchmark.name and all(d in blends for blends in found.values())]
    if not dims or not options.resamples:
        return {}
    people = np.stack([ratings.rating(d) for d in dims])
    rows = [[benchmark.per_unit(blends[d].value) for d in dims] for blends in found.values()]
    seed = [name for name, _ in cells].index(benchmark.name)  # rows of two sets are drawn independently
    drawn = bootstrap_rows(people, rows, ratings.layout(), benchmark.level, "spearman", None, options.resamples, seed)
    return {(benchmark.name, d, mode): drawn[m, k] for m, mode in enumerate(found) for k, d in enumerate(dims)}


def _correlate(
    benchmark: Benchmark,
    ratings: Ratings,
    dimension: str,
    scored: Sequence[tuple[str, np.ndarray]],
    options: Options,
) -> list[Record]:
    study = Correlation(
        set=benchmark.name,
        level=benchmark.level,
        variant=benchmark.variant,
        dimensions=(dimension,),
        resamples=options.resamples,
        undefined="keep",
    )
    return study.run(ratings, [Scores(name, benchmark.per_unit(values), ratings.ids) for name, values in scored])


def _facts(benchmark: Benchmark, found: Blended, ratings: Ratings, options: Options) -> list[Record]:
    """Topical-Chat's 48 rows whose fact is `_nofact`: as text, which is what other figures mean, and left out.

    Those rows are scored here even where the others come from a study.
    """
    lacking = np.array([e.context == "_nofact" for e in benchmark.examples])
    texts = tuple(replace(e, context=NO_FACT) for e in benchmark.examples if e.context == "_nofact")
    read = product(
        replace(benchmark, examples=texts), ["groundedness"], False, options.models, options.cache, options.workers
    )["groundedness"]
    # Before they become percentiles, so that both sources are on one scale whatever levels they know.
    as_text, with_fact = found.whole, np.where(lacking, np.nan, found.value)
    as_text[lacking] = read.whole
    scored = [(AS_TEXT, as_text), (WITH_FACT, with_fact)]
    return [r for r in _correlate(benchmark, ratings, "groundedness", scored, options) if r.kind == "metric"]


def _checked(benchmark: Benchmark, rows: int, options: Options) -> list[Change]:
    """The package on this machine (but for likelihoods) beside the study's signals, on the first rows."""
    if options.study is None:
        return []
    few = first_rows(benchmark, rows)
    dims = evaluated(few)
    here = but_for_likelihoods(few, dims, False, options.models, options.cache, options.study)
    there = options.study.blended(few, dims, False)
    return [_change(CHECK, few, d, here[d], there[d]) for d in here]


def _quantised(benchmark: Benchmark, rows: int, options: Options) -> list[Change]:
    """The language model was trained on its 4-bit grid: with a study only the encoder's signals are scored twice."""
    few = first_rows(benchmark, rows)
    dims = evaluated(few)
    here, there = (_scored(few, dims, models, options) for models in (options.models, options.precise))
    return [_change(PRECISE, few, d, here[d], there[d]) for d in here]


def _scored(benchmark: Benchmark, dims: Sequence[str], models: Models, options: Options) -> dict[str, Blended]:
    if options.study is None:
        return product(benchmark, dims, False, models, options.cache, options.workers)
    return but_for_likelihoods(benchmark, dims, False, models, options.cache, options.study)


def _change(kind: str, benchmark: Benchmark, dimension: str, ours: Blended, other: Blended) -> Change:
    scored = [("ours", ours.value), ("other", other.value)]
    records = _correlate(benchmark, ratings_of(benchmark), dimension, scored, Options(resamples=0))
    first, second = (next(r for r in records if r.metric == name) for name in ("ours", "other"))
    ok = np.isfinite(ours.value) & np.isfinite(other.value)
    a, b = ours.value[ok], other.value[ok]
    between, difference = float(spearman(a, b)), float(np.mean(np.abs(a - b)))
    return Change(
        kind, benchmark.name, dimension, first.n, first.spearman, second.spearman, between, difference
    )  # fmt: skip


def tables(records: Sequence[Record], draws: Draws) -> str:
    """The evaluator, and the evaluator beside others."""
    found: Found = {(r.set, r.dimension, r.metric): r for r in records}
    people = {(r.set, r.dimension): r for r in records if r.kind == "ceiling"}
    cells = _cells(records)
    parts = [_first(found, draws, people, cells), _losses(found, cells), _beside(found, cells)]
    return "\n\n".join(part for part in parts if part)


def details(records: Sequence[Record], changes: Sequence[Change], signed: dict[str, str]) -> str:
    """Single signals, precision, signatures."""
    found: Found = {(r.set, r.dimension, r.metric): r for r in records}
    parts = [_signals(found, _cells(records))]
    few = "Spearman with people at the set's level, on n rows; ours is"
    precise = f"{few} the package as shipped, the other has the evaluator in 32 bits, on the first rows of each set."
    study = f"{few} the package as shipped, the other the study's signals (all windows of a document, a GPU)."
    parts.append(_compared(changes, PRECISE, "Quantised against full precision", precise))
    parts.append(_compared(changes, CHECK, "The package against the study", study))
    parts.append("## Signatures\n" + "\n".join(f"- `{line}`" for line in dict.fromkeys(signed.values())))
    return "\n\n".join(part for part in parts if part)


def _cells(records: Sequence[Record]) -> list[Cell]:
    return list(dict.fromkeys((r.set, r.dimension) for r in records if r.metric == FULL))


def _value(record: Record | None, interval: bool = True) -> str:
    if record is None:
        return "–"
    span = f" [{decimal(record.low)}, {decimal(record.high)}]" if interval and math.isfinite(record.low) else ""
    return decimal(record.spearman, 3) + span


def _first(found: Found, draws: Draws, people: dict[Cell, Record], cells: Sequence[Cell]) -> str:
    lines = [
        "## The evaluator",
        "| set, dimension | n | level | full [95 %] | `--fast` [95 %] | people | UniEval | least | aim | reached |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, dimension in cells:
        full = found[name, dimension, FULL]
        least, aim = TARGETS.get(name, {}).get(dimension, (None, None))
        rival = next(
            (f.values[dimension] for f in published(name) if f.metric == "UniEval" and dimension in f.values), None
        )
        ceiling = people.get((name, dimension))
        lines.append(
            f"| {name} {dimension} | {full.n} | {full.level} | {_value(full)} | "
            f"{_value(found.get((name, dimension, FAST)))} | {'' if ceiling is None else decimal(ceiling.spearman)} | "
            f"{_plain(rival)} | {_plain(least)} | {_plain(aim)} | {_reached(full.spearman, least, aim)} |"
        )
        for label in (AS_TEXT, WITH_FACT):
            if (name, dimension, label) in found:
                other = found[name, dimension, label]
                marks = _reached(other.spearman, least, aim) if label == AS_TEXT else ""
                lines.append(f"| – {label} | {other.n} | {other.level} | {_value(other)} |  |  |  |  |  | {marks} |")
    for title, (wanted, least, aim) in MEANS.items():
        if all((*cell, FULL) in found for cell in wanted):
            all_in, quick = (
                float(np.mean([found[(*cell, mode)].spearman for cell in wanted])) for mode in (FULL, FAST)
            )
            spans = [_span_of_mean([draws.get((*cell, mode)) for cell in wanted]) for mode in (FULL, FAST)]
            lines.append(
                f"| **{title}** |  |  | **{decimal(all_in, 3)}**{spans[0]} | {decimal(quick, 3)}{spans[1]} |  |  | "
                f"{_plain(least)} | {_plain(aim)} | {_reached(all_in, least, aim)} |"
            )
    as_text = found.get(("topical_chat", "groundedness", AS_TEXT))
    if as_text is not None:
        others = [found["topical_chat", d, FULL].spearman for d in ("naturalness", "coherence", "engagingness")]
        mean = float(np.mean([*others, as_text.spearman]))
        marks = _reached(mean, 0.50, 0.577)
        lines.append(f"| – with `_nofact` read as text |  |  | {decimal(mean, 3)} |  |  |  |  |  | {marks} |")
    return "\n".join(lines)


def _span_of_mean(draws: Sequence[np.ndarray | None]) -> str:
    known = [each for each in draws if each is not None]
    if len(known) < len(draws):
        return ""
    low, high = interval(np.mean(known, axis=0))
    return f" [{decimal(float(low))}, {decimal(float(high))}]"


def _plain(value: float | None) -> str:
    return "" if value is None else decimal(value, 3)


def _reached(value: float, least: float | None, aim: float | None) -> str:
    if least is None or aim is None:
        return ""
    # As printed: a figure that rounds to the mark has reached it.
    value = round(value, 3)
    return "aim" if value >= aim else "least" if value >= least else "**no**"


def _losses(found: Found, cells: Sequence[Cell]) -> str:
    """Every cell where a published small metric is ahead, worst first; nothing is left out."""
    rows = []
    for name, dimension in cells:
        full = found[name, dimension, FULL]
        known = [f for f in published(name) if dimension in f.values and f.kind == "small"]
        best = max(known, key=lambda f: f.values[dimension], default=None)
        if best is not None and best.values[dimension] > round(full.spearman, 3):
            rows.append((full.spearman - best.values[dimension], full, best))
    if not rows:
        return ""
    lines = [
        "## Where a small published metric is ahead",
        "| set, dimension | ours [95 %] | the best small one | difference |",
        "|---|---|---|---|",
    ]
    for gap, full, best in sorted(rows, key=lambda row: row[0]):
        inside = "" if best.values[full.dimension] > full.high else " (inside our interval)"
        lines.append(
            f"| {full.set} {full.dimension} | {_value(full)} | {best.metric}, {best.size}: "
            f"{decimal(best.values[full.dimension], 3)}{inside} | {gap:+.3f} |"
        )
    return "\n".join(lines)


def _beside(found: Found, cells: Sequence[Cell]) -> str:
    parts = ["## Beside other systems"]
    for name in dict.fromkeys(name for name, _ in cells):
        dims = [d for n, d in cells if n == name and any(d in f.values for f in published(name))]
        if not dims:
            continue
        rows: list[tuple[str, str, dict[str, float], str]] = [
            (f"**quintet{'' if mode == FULL else ' --fast'}**", "200 M" if mode == FULL else "67 M",
             {d: found[name, d, mode].spearman for d in dims if (name, d, mode) in found}, "")
            for mode in (FULL, FAST)
        ]  # fmt: skip
        full = {d: found[name, d, FULL] for d in dims}
        rows += [(f.metric, f.size, dict(f.values), _about(f, full)) for f in published(name)]
        best = {d: max(values.get(d, -1.0) for _, _, values, _ in rows) for d in dims}
        lines = [
            f"### {name}",
            "| metric | size | " + " | ".join(dims) + " | what to know |",
            "|---|---|" + "---|" * (len(dims) + 1),
        ]
        for metric, size, values, about in rows:
            shown = [_bold(values.get(d), best[d]) for d in dims]
            if any(shown):
                lines.append(f"| {metric} | {size} | " + " | ".join(shown) + f" | {about} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _bold(value: float | None, best: float) -> str:
    if value is None:
        return ""
    return f"**{decimal(value, 3)}**" if round(value, 3) >= round(best, 3) else decimal(value, 3)


def _about(figures: Figures, ours: dict[str, Record]) -> str:
    shared = [record for d, record in ours.items() if d in figures.values]
    notes = [figures.source]
    if shared and not like_for_like(figures, shared[0]):
        rows = "" if figures.rows is None else f", {figures.rows} rows"
        notes.append(f"other protocol ({figures.level}{rows})")
    notes += [figures.about] if figures.about else []
    notes += ["fitted to human labels"] if figures.kind == "labels" else []
    return "; ".join(notes)


def _signals(found: Found, cells: Sequence[Cell]) -> str:
    lines = [
        "## Each signal alone, and each blend without it",
        "| set, dimension | blend | signal | alone [95 %] | blend without it [95 %] | change |",
        "|---|---|---|---|---|---|",
    ]
    for name, dimension in cells:
        full = found[name, dimension, FULL]
        labels = [m.removeprefix(ONLY) for n, d, m in found if (n, d) == (name, dimension) and m.startswith(ONLY)]
        for place, label in enumerate(labels):
            first = f"{name} {dimension} | {decimal(full.spearman, 3)}" if place == 0 else " | "
            without = found.get((name, dimension, WITHOUT + label))
            change = "–" if without is None else f"{without.spearman - full.spearman:+.3f}"
            alone = _value(found[name, dimension, ONLY + label])
            lines.append(f"| {first} | {label} | {alone} | {_value(without)} | {change} |")
    return "\n".join(lines)


def _compared(changes: Sequence[Change], kind: str, title: str, about: str) -> str:
    rows = [change for change in changes if change.kind == kind]
    if not rows:
        return ""
    lines = [
        f"## {title}",
        about,
        "",
        "| set, dimension | n | ours | other | rank correlation of the two | mean difference of scores |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.set} {row.dimension} | {row.n} | {decimal(row.ours, 3)} | {decimal(row.other, 3)} | "
            f"{row.between:.4f} | {row.difference:.4f} |"
        )
    return "\n".join(lines)


def write_page(text: str, path: Path) -> None:
    """Between the marks of the page; a page without marks becomes the tables."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if "<!-- tables -->" in old:
        before, rest = old.split("<!-- tables -->")
        text = f"{before}<!-- tables -->\n{text}\n<!-- /tables -->{rest.split('<!-- /tables -->')[1]}"
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def repeat_figures(records: Sequence[Record], path: Path) -> None:
    """README.md and docs/choosing.md repeat full, fast and people of some rows: `| … | … | SET DIMENSION | … |`."""
    found: Found = {(r.set, r.dimension, r.metric): r for r in records}
    people = {(r.set, r.dimension): r for r in records if r.kind == "ceiling"}
    lines = path.read_text(encoding="utf-8").splitlines()
    for place, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name, _, dimension = cells[2].rpartition(" ") if len(cells) >= 6 else ("", "", "")
        if (name, dimension, FULL) in found:
            fast, ceiling = _value(found.get((name, dimension, FAST)), False), people.get((name, dimension))
            full = _value(found[name, dimension, FULL])
            people_agree = "" if ceiling is None else decimal(ceiling.spearman)
            lines[place] = "| " + " | ".join([*cells[:3], full, fast, people_agree, *cells[6:]]) + " |"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def log_look(what: str, sets: Sequence[str], records: Sequence[Record]) -> None:
    path = ROOT / "research" / "looks.md"
    numbers = "; ".join(f"{r.set} {r.dimension} {decimal(r.spearman, 3)}" for r in records if r.metric == FULL)
    row = f"| {datetime.date.today()} | {what} | {', '.join(sets)} | Spearman, full: {numbers} | docs/agreement.md |"
    lines = path.read_text(encoding="utf-8").splitlines()
    last = next(k for k in range(len(lines) - 1, 0, -1) if lines[k].startswith("| 20"))
    path.write_text("\n".join([*lines[: last + 1], row, *lines[last + 1 :]]) + "\n", encoding="utf-8")


def _rows(text: str) -> dict[str, int]:
    """`summeval=32,bagel=100`."""
    parts = [part.partition("=") for part in text.split(",") if part]
    return {name: int(rows) for name, _, rows in parts}


def options_from(given: argparse.Namespace) -> Options:
    study = None
    if given.study:
        study = Study(Path(given.study[0]), [Path(p) for p in given.study[1:]], Path(given.blends))
    return Options(
        data=given.data,
        cache=given.cache or True,
        workers=given.workers,
        limit=given.limit,
        models=Models(given.judge, given.lm),
        precise=Models(given.precise_judge, given.precise_lm),
        precise_rows=_rows(given.precise_rows),
        check_rows=_rows(given.check_rows),
        package=frozenset(filter(None, given.package.split(","))),
        own_encoder=frozenset(filter(None, given.own_encoder.split(","))),
        study=study,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=TEST_SETS)
    parser.add_argument("--look", help="what is looked at; needed for test sets, and logged")
    parser.add_argument("--data", help="the folder of benchmark files")
    parser.add_argument("--cache", help="where scores are kept")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=int, help="only the first rows of each set")
    parser.add_argument("--judge", help="another encoder than the bundled one")
    parser.add_argument("--lm", help="another language model")
    parser.add_argument("--precise-judge", help="the encoder in full precision")
    parser.add_argument("--precise-lm", help="the language model in full precision")
    parser.add_argument("--precise-rows", default="", help="SET=ROWS,…: first rows that are scored in both precisions")
    parser.add_argument(
        "--check-rows", default="", help="with --study: SET=ROWS,…: first rows that are scored here, too"
    )
    parser.add_argument("--package", default="", help="with --study: sets, by commas, that the package scores itself")
    parser.add_argument("--own-encoder", default="", help="with --study: the same, but for likelihoods")
    parser.add_argument("--study", nargs="+", metavar="FILE", help="ratings.json.gz and files of signals (.npz)")
    parser.add_argument("--blends", default=str(ROOT / "research" / "evaluator" / "blends"))
    parser.add_argument("--page", default=str(ROOT / "docs" / "agreement.md"))
    parser.add_argument("--details", default=str(ROOT / "research" / "evaluator" / "figures.md"))
    parser.add_argument("--records", help="write the records here, too (JSON)")
    given = parser.parse_args()
    tested = [name for name in given.sets if load(name, given.data).split == "test"]
    if tested and not given.look:
        parser.error(f"{', '.join(tested)}: test sets; say what is looked at with --look, it is logged")
    options = options_from(given)
    records: list[Record] = []
    draws: Draws = {}
    changes: list[Change] = []
    signed: dict[str, str] = {}
    for name in given.sets:
        found, drawn, changed, lines = judge(name, options)
        records, changes, signed, draws = records + found, changes + changed, {**signed, **lines}, {**draws, **drawn}
        print(name, *(f"{r.dimension} {r.spearman:.3f}" for r in found if r.metric == FULL), flush=True)
    if given.records:
        plain = {
            "records": [r.to_json() for r in records],
            "compared": [asdict(c) for c in changes],
            "signatures": signed,
        }
        Path(given.records).write_text(json.dumps(plain, indent=1), encoding="utf-8")
    write_page(tables(records, draws), Path(given.page))
    write_page(details(records, changes, signed), Path(given.details))
    if tested:
        log_look(given.look, tested, records)
        for page in (ROOT / "README.md", ROOT / "docs" / "choosing.md"):
            repeat_figures(records, page)


if __name__ == "__main__":
    main()
