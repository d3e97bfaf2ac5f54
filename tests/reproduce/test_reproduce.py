"""Every printed figure that must come out does; what the marks mean; the papers' tables as they are read."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from quintet.cli import main
from quintet.errors import UnknownName, UserError
from quintet.reproduce.figures import EQUAL, LATER, MARKS, MODEL, NOT_HERE, PROTOCOL, Figure, Reproduction, reproduce
from quintet.reproduce.printed import DRAWN, PAPERS, Column, Row, Slip, paper


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        return Done(left.value.code or 0, *capsys.readouterr())

    return run


MARKED = {
    "usr": (474, 0, 396, 61, 104),
    "ctc": (206, 60, 542, 156, 191),
    "unieval": (88, 0, 198, 61, 129),
    "gruen": (6, 0, 188, 268, 342),
    "im2": (45, 0, 232, 2, 555),
}
"""How many of the printed figures bear each of the marks; docs/five-systems.md has the same."""


@pytest.mark.parametrize("key", PAPERS)
def test_every_figure_marked_equal_is_equal(benchmarks, key):
    found = reproduce(key, (), Reproduction(benchmarks, exact_only=True, cache=False))
    equal = [figure for figures in found.values() for figure in figures if figure.mark == EQUAL and figure.printed]
    assert [(f.row.label, f.column.heading, f.printed, f.ours) for f in equal if f.differs] == []
    marks = Counter(f.mark for figures in found.values() for f in figures if f.printed not in ("", DRAWN))
    assert tuple(marks[mark] for mark in MARKS) == MARKED[key]


@pytest.mark.parametrize(
    ("key", "table", "rows", "columns"),
    [
        *[("usr", str(table), 17, 4) for table in range(10, 22)],
        ("usr", "5", 17, 2),
        ("ctc", "D.1", 23, 6),
        ("ctc", "D.4", 17, 6),
        ("ctc", "E.1", 18, 6),
        ("ctc", "F.1", 21, 6),
        ("ctc", "F.6", 14, 8),
        ("unieval", "3", 15, 10),
        ("unieval", "9", 10, 9),
        ("gruen", "9", 9, 12),
        ("gruen", "15", 13, 12),
        ("im2", "3", 16, 30),
        ("im2", "8", 26, 2),
    ],
)
def test_tables_have_the_rows_and_columns_of_the_paper(key, table, rows, columns):
    blocks = paper(key).table(table).blocks
    assert sum(len(block.rows) for block in blocks) == rows
    assert {len(block.columns) for block in blocks} == {columns}
    assert {len(row.cells) for block in blocks for row in block.rows} == {columns}


@pytest.mark.parametrize("key", PAPERS)
def test_every_source_can_be_read_and_every_slot_is_named(key):
    from quintet.core.parameters import build
    from quintet.metrics import metrics
    from quintet.reproduce.figures import _SLOT

    known = paper(key)
    asked, specs = set(), set()
    for table in known.tables:
        for block in table.blocks:
            labels = {row.label for row in block.rows}
            assert {label for label, _ in block.slips} <= labels
            for row in block.rows:
                for column in (c for c in block.columns if not c.average and "measure" not in block.facts):
                    kind, _, rest = known.source(block, row, column).partition(" ")
                    assert kind in ("authors", "later", "exact", "protocol", "model", "none"), (row.label, kind)
                    if kind in ("exact", "protocol", "model"):
                        asked |= set(_SLOT.findall(rest))
                        specs.add(_SLOT.sub("bundled:gte-small", rest).replace("quality=auto", "quality=overall"))
    assert asked <= set(known.slots)
    for spec in specs:
        if spec.partition(":")[0] in metrics:
            build(metrics, spec)


def test_a_table_that_is_not_there_is_refused():
    with pytest.raises(UnknownName, match=r"table of CTC 'D\.9'"):
        paper("ctc").table("D.9")
    with pytest.raises(UnknownName, match="gruen"):
        paper("gruel")


def test_marks(benchmarks):
    found = reproduce("ctc", ["D.3", "D.4"], Reproduction(benchmarks, rows=40, cache=False))
    marks = {f.row.label: f.mark for figures in found.values() for f in figures if f.column.set == "summeval"}
    assert marks["Ours (D) (CNN/DM)"] == LATER
    assert marks["ROUGE-1"] == PROTOCOL
    assert marks["Ours (R) (CNN/DM)"] == marks["S3-pyr"] == NOT_HERE
    why = {f.row.label: f.why for f in found["D.4"]}
    assert why["Ours (R) (CNN/DM)"] == "needs a model: ctc-r-cnndm"
    assert why["QAGS"].startswith("weights")


def test_a_model_fills_its_slot_and_a_wrong_name_is_refused(benchmarks):
    work = Reproduction(benchmarks, {"bert-base-uncased": "bundled:gte-small"}, rows=30, cache=False)
    (figures,) = reproduce("ctc", ["D.4"], work).values()
    (one,) = [f for f in figures if f.row.label == "Ours (E) (BERT-base)" and f.column.heading == "qags_xsum pearson"]
    assert one.mark == MODEL
    assert one.why == "bundled:gte-small"
    assert isinstance(one.ours, float)
    with pytest.raises(UnknownName, match="bert-base-uncased"):
        reproduce("ctc", ["D.4"], Reproduction(benchmarks, {"bert-bas-uncased": "bundled:gte-small"}))


def test_without_the_data_every_cell_says_so(tmp_path):
    (figures,) = reproduce("usr", ["10"], Reproduction(tmp_path, cache=False)).values()
    assert {f.mark for f in figures} == {NOT_HERE}
    assert all(f.why.startswith(("data: ", "needs a model", "protocol", "weights")) for f in figures)


def figure(printed, ours, mark=EQUAL, slip=None):
    return Figure(Row("row", "", (printed,)), Column(), printed, ours, mark, slip=slip)


def test_what_differs():
    assert not figure("0.1234", 0.12344).differs
    assert figure("0.1234", 0.12351).differs
    assert not figure("0.1234", 0.2, MODEL).differs
    assert figure("0.1234", None).differs
    assert not figure("ABD", "ABD").differs
    assert figure("ABD", "AB").differs
    assert not figure("0.4318", 0.41381, slip=Slip("in print", 0.4138)).differs
    assert figure("0.4318", 0.4318, slip=Slip("in print", 0.4138)).differs


def test_a_figure_that_is_off_fails_the_check(benchmarks, monkeypatch, cli):
    from quintet.reproduce import printed

    true = printed.paper("usr")
    block = true.table("10").blocks[0]
    rows = tuple(dataclasses.replace(r, cells=("0.9999", *r.cells[1:])) if r.label == "USR" else r for r in block.rows)
    table = dataclasses.replace(true.table("10"), blocks=(dataclasses.replace(block, rows=rows),))
    monkeypatch.setattr(printed, "paper", lambda key: dataclasses.replace(true, tables=(table,)))
    monkeypatch.setattr("quintet.reproduce.figures.paper", printed.paper)
    result = cli("reproduce", "usr", "10", "--check", "--no-cache", "--data", str(benchmarks))
    assert result.code == 3
    assert "USR, pooled pearson: printed 0.9999, ours 0.4192" in result.err


def test_commands(benchmarks, cli, tmp_path):
    data = ("--data", str(benchmarks), "--no-cache")
    shown = cli("reproduce", "usr", "figure 9", *data)
    assert shown.code == 2
    shown = cli("reproduce", "unieval", "figure 2", "-f", "csv", *data)
    assert "unieval figure 2,UNIEVAL (Continual),pearson,0.380,0.3800,+0.0000,equal," in shown.out
    listed = cli("reproduce", "gruen", *data)
    assert "GRUEN, Table 10" in listed.out
    assert "6 equal" in listed.out
    drawn = cli("reproduce", "usr", "2", "--plot", str(tmp_path), *data)
    assert drawn.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"usr-2.png", "usr-2.svg"}


def test_figures_of_the_papers(benchmarks, cli):
    """Those that draw tables are those tables; the others say how they are drawn, or hold bars without numbers."""
    bars = paper("ctc").table("Figure 3")
    assert [b.columns for b in bars.blocks] == [b.columns for t in ("D.1", "D.4") for b in paper("ctc").table(t).blocks]
    listed = cli("reproduce", "gruen", "--data", str(benchmarks), "--no-cache").out
    assert "GRUEN, Figure 1: What each module adds, CNN/DM.\n    16 drawn without a number" in listed
    assert "GRUEN, Figure 2: Scores by rating, CNN/DM. No numbers are printed. Draw it: quintet bench" in listed
    (figures,) = reproduce("gruen", ["figure 1"], Reproduction(benchmarks, bundled=True, rows=4, cache=False)).values()
    assert {f.row.label for f in figures} == {"G", "GU", "GRU", "GRUC"}
    assert all(f.difference is None and isinstance(f.ours, float | None) for f in figures)


def test_a_column_over_several_sets_is_their_mean(benchmarks):
    block = paper("im2").table("10").blocks[0]
    column = block.columns[0]
    assert len(column.over) == 14
    work = Reproduction(benchmarks, bundled=True, rows=6, cache=False)
    two = dataclasses.replace(column, over=("dstc10/dailydialog-gupta", "dstc10/dailydialog-grade"))
    source = lambda benchmark, dimension: np.arange(6.0)  # noqa: E731
    singly = [work._of_set(dataclasses.replace(column, set=name), source) for name in two.over]
    other = dataclasses.replace(block, sources={"NUP": "model response-length"})
    ours, mark, _ = work._figure(dataclasses.replace(paper("im2"), sources={"*": {}}), other, block.rows[0], two)
    single = [work._figure(dataclasses.replace(paper("im2"), sources={"*": {}}), other, block.rows[0],
                           dataclasses.replace(two, over=(), set=name))[0] for name in two.over]  # fmt: skip
    assert mark == MODEL
    assert ours == pytest.approx(np.mean(single))
    assert all(np.isfinite(singly))


def test_unanimous_keeps_the_items_all_raters_agree_on(benchmarks):
    """GRUEN's Table 9 speaks of 1,323 outputs; the released ratings give 1,064 (1,338 with references)."""
    from quintet.data.benchmark import load
    from quintet.stats.inputs import ratings_of

    counts = [len(ratings_of(load("cnndm_quality", benchmarks, v)).unanimous("overall").ids) for v in ("", "all")]
    assert counts == [1064, 1338]
    with pytest.raises(UserError, match="no single ratings"):
        ratings_of(load("summeval", benchmarks)).unanimous("coherence")


def test_usr_scores_of_its_authors(benchmarks):
    from quintet.data.published import author_scores

    scores = author_scores("topical_chat", benchmarks)
    assert {"UniEval", "USR", "USR-MLM", "USR-DRc", "USR-DRf"} <= set(scores)
    own = scores["USR-MLM"]["naturalness"]
    assert np.isnan(own).sum() == 60
    assert np.nanmean(own) == pytest.approx(-1.012293440649907)
