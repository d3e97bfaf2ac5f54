"""Tables: pinned forms, the best in bold, captions that state the protocol, and lossless JSON and CSV."""

import csv
import io
import json
import math

import pytest

from quintet.errors import UserError
from quintet.stats.compare import System, compare
from quintet.stats.records import Record
from quintet.stats.tables import FORMATS, caption, differences_table, latex_escape, record_grids, records_table


def record(metric, dimension, spearman, **more):
    fields = {
        "set": "toy_set", "metric": metric, "dimension": dimension, "level": "pooled", "n": 30, "pearson": spearman / 2,
        "spearman": spearman, "kendall": spearman / 3, "low": spearman - 0.1, "high": spearman + 0.1,
        "signature": f"{metric}|v:1", "resampled": "items", "resamples": 1000, "groups": 30,
    }  # fmt: skip
    return Record(**fields | more)


RECORDS = [
    record("rouge|1", "coherence", 0.25),
    record("rouge|1", "fluency", -0.05),
    record("ctc", "coherence", 0.5, against="rouge|1", p_holm=0.01),
    record("ctc", "fluency", 0.125),
    record("people", "coherence", 0.75, kind="ceiling"),
]

TEXT = """\
metric   coherence          fluency            average
------------------------------------------------------
rouge|1  .25   [.15, .35]   -.05  [-.15, .05]  .10
ctc      .50†* [.40, .60]   .12*  [.02, .23]   .31*
------------------------------------------------------
people   .75   [.65, .85]

toy_set: Spearman ρ with human ratings, pooled, n = 30. 95 % bootstrap intervals (1,000 resamples of items). \
† differs from rouge|1 (p < .05 after Holm's correction). People: each annotator against the mean of the others, \
averaged. * best."""

MARKDOWN = """\
| metric | coherence | fluency | average |
|---|---|---|---|
| rouge\\|1 | .25 | -.05 | .10 |
| ctc | **.50**† | **.12** | **.31** |
| *people* | .75 |  |  |
"""

LATEX = r"""\begin{table}[t]
\centering
\small
\begin{tabular}{lcccccc}
\toprule
 & \multicolumn{2}{c}{coherence} & \multicolumn{2}{c}{fluency} & \multicolumn{2}{c}{average} \\
\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(lr){6-7}
metric & r & $\rho$ & r & $\rho$ & r & $\rho$ \\
\midrule
rouge|1 & .12 & .25 & $-$.03 & $-$.05 & .05 & .10 \\
ctc & \textbf{.25} & \textbf{.50}$^{\dagger}$ & \textbf{.06} & \textbf{.12} & \textbf{.16} & \textbf{.31} \\
\midrule
people & .38 & .75 &  &  &  &  \\
\bottomrule
"""


def words(text):
    return [line.split() for line in text.splitlines()]


def test_text():
    assert words(records_table(RECORDS, digits=2)) == words(TEXT)


def test_text_keeps_columns_lined_up():
    for statistics in ((), ("pearson", "spearman", "kendall")):
        lines = records_table(RECORDS, statistics=statistics).splitlines()
        header = next(line for line in lines if line.startswith("metric"))
        starts = [i for i in range(8, len(header)) if header[i] != " " and header[i - 1] == " "]
        for line in lines:
            if line.startswith(("rouge", "ctc")):
                assert all(line[i] in ".-" and line[i - 1] == " " for i in starts)


def test_markdown():
    assert records_table(RECORDS, "markdown", interval=False, digits=2).startswith(MARKDOWN)


def test_latex():
    found = records_table(RECORDS, "latex", ("pearson", "spearman"), interval=False, digits=2)
    assert found.startswith(LATEX)
    assert r"\caption{toy\_set: Pearson r, Spearman $\rho$ with human ratings, pooled, n = 30." in found


def test_latex_rows_all_have_the_same_number_of_cells():
    for statistics in ((), ("pearson", "spearman", "kendall")):
        lines = records_table(RECORDS, "latex", statistics).splitlines()
        body = lines[lines.index(r"\midrule") : lines.index(r"\bottomrule")]
        counts = {line.count("&") for line in body if "&" in line}
        assert counts == {3 * max(1, len(statistics))}


def test_latex_escapes_what_would_not_compile():
    assert latex_escape("50% of a_b & {c} #1 $ ^ ~ \\") == (
        r"50\% of a\_b \& \{c\} \#1 \$ \textasciicircum{} \textasciitilde{} \textbackslash{}"
    )


def test_json_is_one_list_of_records():
    assert json.loads(records_table(RECORDS, "json")) == [r.to_json() for r in RECORDS]


def test_csv_has_a_row_per_record():
    rows = list(csv.DictReader(io.StringIO(records_table([*RECORDS, record("x", "y", math.nan)], "csv"))))
    assert [row["metric"] for row in rows] == ["rouge|1", "rouge|1", "ctc", "ctc", "people", "x"]
    assert float(rows[2]["spearman"]) == 0.5
    assert rows[-1]["spearman"] == ""


def test_the_best_is_the_best_to_the_printed_digit():
    close = [record("a", "d", 0.5004), record("b", "d", 0.5001), record("c", "d", 0.4)]
    (grid,) = record_grids(close, digits=3)
    assert [row.cells[0].best for row in grid.rows] == [True, True, False]
    (grid,) = record_grids(close[:1])
    assert not grid.has_best  # one metric alone is not the best of anything


def test_each_set_and_level_gets_its_own_table():
    mixed = [*RECORDS, record("ctc", "coherence", 0.4, set="other"), record("ctc", "coherence", 0.3, level="by system")]
    assert len(record_grids(mixed)) == 3


def test_captions_state_the_protocol():
    by_document = [
        record("m", "d", 0.3, level="by document", n=1600, groups=97, skipped=3, resampled="documents"),
        record("m", "e", 0.3, level="by document", n=1590, groups=100, dropped=10, resampled="documents"),
    ]
    assert caption(by_document) == (
        "toy_set: Spearman ρ with human ratings, by document, n = 1590–1600 in 97–100 documents (up to 3 constant ones "
        "skipped). 95 % bootstrap intervals (1,000 resamples of documents). Up to 10 items without a score or rating "
        "dropped."
    )
    by_system = [record("m", "d", 0.3, level="by system", groups=5, resampled="both", excluded=("Ground Truth",))]
    assert caption(by_system, interval=False) == (
        "toy_set: Spearman ρ with human ratings, by system, n = 30 from 5 systems, without Ground Truth."
    )


def test_differences():
    a = System("A", {"fluency": [0.3, 0.5, 0.9, 0.8, 0.7, 0.6, 0.9, 0.8], "length": [1.0] * 8})
    b = System("B", {"fluency": [0.1, 0.2, 0.4, 0.3, 0.2, 0.1, 0.5, 0.2], "length": [1.0] * 8})
    found = compare([a, b])
    text = records = differences_table(found, digits=2)
    assert "A is better" in text
    assert "no difference" in text
    assert "n = 8 paired examples. First: A; second: B." in records
    for form in FORMATS:
        assert "fluency" in differences_table(found, form)
    assert json.loads(differences_table(found, "json"))[0]["better"] == "A"
    three = compare([a, b, System("C", b.values)])
    assert "fluency (A → B)" in differences_table(three)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: records_table(RECORDS, "html"), "unknown format 'html'"),
        (lambda: records_table(RECORDS, statistics=["r2"]), "unknown statistic 'r2'"),
        (lambda: records_table([]), "no records"),
        (lambda: differences_table([]), "no differences"),
        (lambda: differences_table([], "html"), "unknown format 'html'"),
    ],
)
def test_bad_input_is_one_clear_line(call, told):
    with pytest.raises(UserError, match=told):
        call()
