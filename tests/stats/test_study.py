"""Studies: matching by id, excluded systems, tests against a baseline, the human ceiling, and bad input."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from quintet.errors import UserError
from quintet.stats.inputs import Ratings, Scores, read_scores
from quintet.stats.records import CEILING, Record, decimal
from quintet.stats.study import Study, judge

RNG = np.random.default_rng(7)
DOCUMENTS, SYSTEMS = [f"d{i // 4}" for i in range(40)], [f"s{i % 4}" for i in range(40)]
IDS = [f"{d}/{s}" for d, s in zip(DOCUMENTS, SYSTEMS, strict=True)]
TRUTH = RNG.normal(size=40)
SINGLE = np.clip((3 + TRUTH[:, None] + 0.6 * RNG.normal(size=(40, 3))).round(), 1, 5)
GOOD, BAD = TRUTH + 0.4 * RNG.normal(size=40), TRUTH + 4 * RNG.normal(size=40)


def ratings(**changes):
    fields = {"ids": IDS, "values": {"coherence": SINGLE, "fluency": SINGLE[:, 0]}} | changes
    return Ratings(**{"documents": DOCUMENTS, "systems": SYSTEMS} | fields)


def test_records_have_the_promised_keys():
    record = Study("toy", ceiling=False).run(ratings(), [Scores("good", GOOD, IDS, "good|v:1")])[0]
    plain = record.to_json()
    promised = "set metric dimension level n pearson spearman kendall low high signature interval_of skipped dropped"
    assert set(promised.split()) <= set(plain)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["p"] is None
    assert record.low < record.spearman < record.high
    assert record.signature.startswith("good|v:1 on toy|dimension:coherence|level:pooled|")
    assert record.spearman == pytest.approx(stats.spearmanr(GOOD, SINGLE.mean(axis=1)).statistic)


def test_scores_in_another_order_are_matched_by_id():
    order = RNG.permutation(40)
    shuffled = Scores("good", GOOD[order], [IDS[i] for i in order])
    assert Study("toy").run(ratings(), [shuffled]) == Study("toy").run(ratings(), [Scores("good", GOOD, IDS)])


def test_excluded_systems_need_no_scores():
    kept = [i for i in range(40) if SYSTEMS[i] != "s2"]
    partial = Scores("good", GOOD[kept], [IDS[i] for i in kept])
    record = Study("toy", exclude_systems=("s2",), ceiling=False).run(ratings(), [partial])[0]
    assert (record.n, record.excluded) == (30, ("s2",))
    assert record.spearman == pytest.approx(stats.spearmanr(GOOD[kept], SINGLE.mean(axis=1)[kept]).statistic)
    assert record == Study("toy", exclude_systems=("s2",), ceiling=False).run(ratings(), [Scores("good", GOOD, IDS)])[0]
    assert "exclude_systems:s2" in record.signature


def test_metrics_judge_only_their_own_dimensions():
    found = Study("toy", ceiling=False).run(
        ratings(), [Scores("one", {"fluency": GOOD}, IDS, {"fluency": "one|v:2"}), Scores("all", BAD, IDS)]
    )
    assert [(r.metric, r.dimension) for r in found] == [("one", "fluency"), ("all", "coherence"), ("all", "fluency")]
    assert found[0].signature.startswith("one|v:2 on toy")


@pytest.mark.parametrize("test", ["permutation", "williams"])
def test_a_baseline_is_tested_against(test):
    study = Study("toy", baseline="bad", test=test, ceiling=False)
    good, also_good, bad, _ = study.run(ratings(), [Scores("good", GOOD, IDS), Scores("bad", BAD, IDS)])
    assert (good.against, bad.against) == ("bad", "")
    assert good.difference == pytest.approx(good.spearman - bad.spearman)
    assert good.difference_low < good.difference < good.difference_high
    assert good.p <= good.p_holm <= 2 * good.p + 1e-12
    assert good.p < 0.01
    assert also_good.p < 0.1
    assert math.isnan(bad.p)


def test_people_are_the_ceiling_where_single_ratings_are_known():
    found = Study("toy").run(ratings(), [Scores("good", GOOD, IDS)])
    (people,) = [record for record in found if record.kind == CEILING]
    assert people.dimension == "coherence"
    expected = [stats.spearmanr(SINGLE[:, j], np.delete(SINGLE, j, 1).mean(axis=1)).statistic for j in range(3)]
    assert people.spearman == pytest.approx(np.mean(expected))
    assert people.low < people.spearman < people.high


@pytest.mark.parametrize("level", ["pooled", "by document", "by system"])
def test_every_level_runs_with_accuracy(level):
    found = Study("toy", level, accuracy=True).run(ratings(), [Scores("good", GOOD, IDS)])
    for record in found:
        assert math.isfinite(record.spearman)
        assert record.kind == CEILING or 0 < record.accuracy <= 1
    assert found[0].groups == {"pooled": 40, "by document": 10, "by system": 4}[level]
    assert found[0].resampled == {"pooled": "items", "by document": "documents", "by system": "both"}[level]


def test_missing_ratings_are_dropped_and_counted():
    gaps = SINGLE[:, 0].copy()
    gaps[:5] = np.nan
    scores = GOOD.copy()
    scores[4:7] = np.nan
    record = Study("toy").run(ratings(values={"fluency": gaps}), [Scores("good", scores, IDS)])[0]
    assert (record.n, record.dropped) == (33, 7)
    assert str(record).endswith("(7 items dropped)")


def test_a_study_is_repeatable():
    study = Study("toy", "by document", baseline="bad")
    scores = [Scores("good", GOOD, IDS), Scores("bad", BAD, IDS)]
    once, twice = ([r.to_json() for r in study.run(ratings(), scores)] for _ in range(2))
    assert once == twice


def test_judge_takes_annotators():
    assert judge(SINGLE, GOOD) == judge(SINGLE.mean(axis=1).round(10), GOOD)
    assert str(judge(SINGLE, GOOD, statistic="kendall", level="by document", documents=DOCUMENTS)).startswith(
        "n=40 in 10 documents, by document Kendall ."
    )


def test_what_is_undefined_is_not_tested():
    study = Study("toy", undefined="keep", baseline="flat", ceiling=False)
    found = study.run(ratings(), [Scores("flat", np.ones(40), IDS), Scores("good", GOOD, IDS)])
    assert all(math.isnan(record.p) for record in found)


def test_undefined_correlations_can_be_kept():
    record = Study("toy", undefined="keep").run(ratings(), [Scores("flat", np.ones(40), IDS)])[0]
    assert math.isnan(record.spearman)
    assert record.to_json()["spearman"] is None
    assert "–" in str(record)


OTHER_IDS = ["x" + name for name in IDS[:2]] + IDS[3:]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Study("toy").run(ratings(), [Scores("m", GOOD[:39], OTHER_IDS)]),
            "scores of m: 3 of 40 rated items have no score (first: 'd0/s0') and 2 scored ids are not rated "
            "(first: 'xd0/s0'); scores are matched by id; write the ids of the rated items",
        ),
        (lambda: Study("toy").run(ratings(), [Scores("m", GOOD[:10])]), "m: 10 scores for 40 items"),
        (lambda: Study("toy").run(ratings(), [Scores("m", GOOD[:10], IDS)]), "m: 10 scores for 40 items"),
        (lambda: Scores("m", GOOD, ["a"] * 40), "scores of m: the id 'a' occurs twice"),
        (lambda: Study("toy").run(ratings(), [Scores("m", np.ones(40), IDS)]), "toy: m on coherence: the scores are"),
        (
            lambda: Study("toy").run(ratings(values={"fluency": np.ones(40)}), [Scores("m", GOOD, IDS)]),
            "toy: m on fluency: the ratings are constant, so there is no correlation",
        ),
        (
            lambda: Study("toy", "by document").run(ratings(documents=IDS), [Scores("m", GOOD, IDS)]),
            "every document has constant scores or ratings",
        ),
        (
            lambda: Study("toy", "by system").run(ratings(systems=["one"] * 40), [Scores("m", GOOD, IDS)]),
            "only one system; a correlation by system needs at least 3; use level 'pooled'",
        ),
        (
            lambda: judge([1, 2, np.nan, np.nan], [1, 2, 3, 4]),
            "scores on rating: only 2 of 4 items have both a score and a rating; a correlation needs at least 3",
        ),
        (lambda: judge([1, 2], [1, 2]), "only 2 of 2 items"),
        (lambda: Study("toy", exclude_systems=("s9",)).run(ratings(), [Scores("m", GOOD, IDS)]), "unknown system 's9'"),
        (lambda: Study("toy", nan="raise").run(ratings(), [Scores("m", GOOD * np.nan, IDS)]), "40 of 40 items lack"),
        (lambda: Study("toy").run(ratings(), [Scores("m", {"humour": GOOD}, IDS)]), "unknown dimension of m 'humour'"),
        (lambda: Study("toy", dimensions=("humour",)).run(ratings(), [Scores("m", GOOD, IDS)]), "unknown dimension"),
        (lambda: Study("toy", baseline="x").run(ratings(), [Scores("m", GOOD, IDS)]), "unknown baseline 'x'"),
        (lambda: Study("toy", interval_of="r2").run(ratings(), [Scores("m", GOOD, IDS)]), "unknown statistic 'r2'"),
        (lambda: Study("toy").run(ratings(), []), "toy: no scores to judge"),
        (lambda: Study("toy").run(ratings(), [Scores("m", GOOD, IDS)] * 2), "two sets of scores are called 'm'"),
        (
            lambda: Study("toy", resample="systems").run(ratings(systems=None), [Scores("m", GOOD, IDS)]),
            "drawing systems again needs system ids",
        ),
        (lambda: ratings(values={"fluency": GOOD[:3]}), "3 ratings of fluency for 40 items"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scores_from_the_rows_of_a_file():
    rows = [
        {"id": i, "coherence": "0.5", "rouge-1": 0.1 * n, "ctc/fluency": None if n == 1 else n, "output": "1", "x": "a"}
        for n, i in enumerate("abc")
    ]
    mine, ctc, rouge = read_scores(rows, ["coherence", "fluency"], "mine", "f.jsonl")
    assert (mine.metric, list(mine.values)) == ("mine", ["coherence"])
    assert (ctc.metric, list(ctc.values)) == ("ctc", ["fluency"])
    assert np.isnan(ctc.values["fluency"][1])
    assert (rouge.metric, list(rouge.ids)) == ("rouge-1", ["a", "b", "c"])
    np.testing.assert_allclose(rouge.values, [0, 0.1, 0.2])


def test_long_files_name_the_metric_in_a_column():
    rows = [{"id": i, "metric": m, "fluency": 1.0} for m in ("a", "b") for i in ("1", "2")]
    assert [scores.metric for scores in read_scores(rows, ["fluency"])] == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "f: no scores"),
        ([{"fluency": 1}], "f: 1 of 1 rows have no id"),
        ([{"id": "1", "text": "a"}], "no column of numbers"),
        ([{"id": "1", "fluency": "high"}], "f, row 1: 'high' in column 'fluency' is not a number"),
    ],
)
def test_bad_files_are_one_clear_line(rows, words):
    with pytest.raises(UserError) as caught:
        read_scores(rows, ["fluency"], source="f")
    assert words in str(caught.value)


def test_decimals_are_written_as_in_papers():
    assert [decimal(v) for v in (0.614, -0.08, 1.0, 0.996, -0.001, math.nan)] == [
        ".61",
        "-.08",
        "1.00",
        "1.00",
        ".00",
        "–",
    ]


def test_a_record_is_plain_and_frozen():
    record = Record("s", "m", "d", "pooled", 3, 0.1, 0.2, 0.3, 0.0, 0.4, "sig")
    with pytest.raises(AttributeError):
        record.n = 4
    assert record.value() == 0.2
    assert record.value("kendall") == 0.3
