"""IM2's weights, routing, Dist-n and fits: goldens from the paper's tables, and plain twins."""

import itertools
import math
import tomllib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet import _api as api
from quintet.core.blend import read_table
from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics.fitting import RatedSet, average_weights, fit_two_levels, leave_one_out, quantile_constants
from quintet.metrics.im2.categories import Cr, Ies, Im2, Nuf
from quintet.metrics.im2.classifiers import SelfConsistency, five_points, released_pieces, sub_sentences
from quintet.metrics.im2.dialogues import dialogue_score, replies
from quintet.metrics.im2.diversity import (
    DistN,
    NgramTable,
    corpus_scores,
    count_table,
    keep,
    table_of_set,
    word_units,
)
from quintet.metrics.im2.diversity import (
    read_table as read_counts,
)
from quintet.metrics.im2.inputs import route
from quintet.metrics.role_metric import probability
from quintet.models.open import open_model

FAKES = {
    "model_valid": "fake:pair-classifier",
    "model_order": "fake:pair-classifier",
    "model_nuf": "fake:pair-classifier-5",
    "model_coherence": "fake:pair-classifier",
    "model_response": "fake:pair-classifier",
    "model_lm": "fake:masked-lm",
    "model_ies": "fake:pair-classifier-5",
}
EXAMPLES = [
    Example("Yes, the bridge is closed, so we walk.", history=("Hi!", "Is the bridge closed?"), id="a"),
    Example("My cat sleeps.", history=("Hi!", "Is the bridge closed?"), id="b"),
]

TABLE_2 = {
    "nuf": {"im2-lsc": 0.2, "im2-vup": 0.2, "im2-nuf5": 0.6},
    "cr": {"im2-grade": 0.45, "im2-ab-ac": 0.35, "im2-ab-ba": 0.2},
    "ies": {"im2-dist": 0.33, "im2-dmlm": 0.33, "im2-ies5": 0.33},
    "im2": {"im2-nuf": 0.22, "im2-cr": 0.65, "im2-ies": 0.13},
}


@pytest.mark.parametrize("name", TABLE_2)
def test_published_weights(name: str) -> None:
    found = {row["metric"]: row["weight"] for row in read_table(f"im2/published/{name}")["signals"]}
    assert found == TABLE_2[name]
    assert sum(found.values()) == pytest.approx(0.99 if name == "ies" else 1.0)


def test_the_competition_had_four_sub_metrics() -> None:
    rows = [row for part in ("nuf", "cr", "ies") for row in read_table(f"im2/competition/{part}")["signals"]]
    assert {row["metric"] for row in rows} == {"im2-vup", "im2-grade", "im2-ab-ba", "im2-dmlm"}
    score = Im2(**FAKES, weights="im2/competition").score(EXAMPLES[:1])[0]["overall"]
    assert set(score.parts) == {"NUF", "CR", "IES", "VUP", "GRADE", "AB-BA", "D-MLM"}


@pytest.mark.parametrize(
    ("category", "qualities"),
    [
        ("nuf", ["grammar", "Natural", "Understandable", "Correct", "Fluent"]),
        ("nuf", ["naturalness", "understandability", "fluency", "correctness", "grammaticality"]),
        ("cr", ["Coherent", "coherence"]),
        ("ies", ["engagingness", "interestingness", "specificity", "Informative"]),
        ("im2", ["Consistent", "Diverse", "consistency"]),
        ("cr", ["relevance", "Maintains Context", "Relevant", "Semantically appropriate", "maintains_context"]),
        ("ies", ["content", "Engaging", "Interesting", "Specific", "informativeness"]),
        ("im2", ["overall", "appropriateness", "Uses Knowledge", "language_usage", "Overall", "never seen"]),
    ],
)
def test_selective_routing(category: str, qualities: list[str]) -> None:
    assert {route(quality) for quality in qualities} == {category}


def test_an_unseen_quality_gets_the_overall_score_and_a_note() -> None:
    assert Im2(quality="Maintains_Context").signals[0].label == "CR"
    assert [signal.label for signal in Im2(quality="Uses Knowledge").signals] == ["NUF", "CR", "IES"]
    said = Im2(**FAKES, quality="engagment").score(EXAMPLES)[0]["engagment"]
    assert said.flags[-1] == "no category measures 'engagment': overall; did you mean engaging?"
    assert said.value == Im2(**FAKES).score(EXAMPLES)[0]["overall"].value
    with pytest.raises(InputError, match="quality=auto asks for what a set rates"):
        api.load("im2:quality=auto")


def test_selective_gives_the_value_of_the_category() -> None:
    categories = {"grammar": Nuf, "relevance": Cr, "content": Ies}
    for quality, family in categories.items():
        own = family(**{key: FAKES[key] for key in family.model_roles})
        name = own.dimensions[0].name
        expected = [row[name].value for row in own.score(EXAMPLES)]
        found = [row[quality].value for row in Im2(**FAKES, quality=quality).score(EXAMPLES)]
        assert found == pytest.approx(expected)


def test_overall_is_the_weighted_sum_of_everything() -> None:
    for row in Im2(**FAKES).score(EXAMPLES):
        p = row["overall"].parts
        nuf = 0.2 * p["LSC"] + 0.2 * p["VUP"] + 0.6 * (p["5-NUF"] - 1) / 4
        cr = 0.45 * p["GRADE"] + 0.35 * p["AB-AC"] + 0.2 * p["AB-BA"]
        ies = 0.33 * (p["Dist-n"] + min(1, max(0, (p["D-MLM"] + 5) / 5)) + (p["5-IES"] - 1) / 4)
        assert (p["NUF"], p["CR"], p["IES"]) == pytest.approx((nuf, cr, ies))
        assert row["overall"].value == pytest.approx(0.22 * nuf + 0.65 * cr + 0.13 * ies)


def test_no_constant_comes_from_the_batch() -> None:
    alone = Im2(**FAKES).score(EXAMPLES[:1])[0]["overall"]
    among = Im2(**FAKES).score([*EXAMPLES, *EXAMPLES[:1] * 3])[0]["overall"]
    assert alone == among


def test_five_points_are_the_expected_class() -> None:
    logits = np.array([0.1, -2.0, 3.0, 0.5, 1.0], np.float32)
    shares = [math.exp(float(v)) for v in logits]
    assert five_points(logits, "m") == pytest.approx(sum((k + 1) * s for k, s in enumerate(shares)) / sum(shares))
    assert five_points(np.array([7.0], np.float32), "m") == 5.0
    assert five_points(np.array([0.0, 0.0], np.float32), "m") == 3.0
    with pytest.raises(Exception, match="3 outputs"):
        five_points(np.zeros(3, np.float32), "m")


def test_pieces_of_a_response() -> None:
    text = "Well, I left;  it rained! Why?? Ok."
    found = sub_sentences(text)
    assert [piece.text for piece in found] == ["Well", "I left", "it rained", "Why", "Ok"]
    assert all(text[piece.start : piece.end] == piece.text for piece in found)
    metric = SelfConsistency("fake:pair-classifier")
    assert metric.score([Example("One piece")])[0]["self-consistency"].value == 0.5
    assert metric.score([Example(text)])[0]["self-consistency"].parts["pairs"] == 4.0


def test_the_released_self_consistency_pairs_letters() -> None:
    """As we read the slips: letters of neighbours side by side, sum over n pieces, divided by n, less 1."""
    metric = SelfConsistency("fake:pair-classifier", formula="released")
    text = "so be, if it. Go!"
    model = open_model("fake:pair-classifier", "pair-classifier")

    def odds(a: str, b: str) -> float:
        return probability(model.score([(a, b)])[0].values)

    pieces = ["so be", "if it", "Go", ""]
    assert released_pieces(text) == pieces
    total = 0.0
    for a, b in itertools.pairwise(pieces):
        scores = [odds(x, y) for x, y in zip(a, b, strict=False)]
        total += sum(scores) / len(scores) if scores else 0.0
    found, single = metric.score([Example(text), Example("One piece")])
    assert found["self-consistency"].value == pytest.approx(total / 4 - 1)
    assert single["self-consistency"].value == -1.0
    assert metric.dimensions[0].low == -1.0


def plain_dist(contexts: list[str], responses: list[str]) -> list[float]:
    """The released procedure, letter by letter: counts, -p ln p over distinct bigrams, stretched to 0..1."""

    def grams(text: str) -> list[str]:
        tokens = text.split(" ")
        return [text] if len(tokens) <= 2 else [f"{tokens[i]} {tokens[i + 1]}" for i in range(len(tokens) - 1)]

    counts = Counter(gram for text in contexts + responses for gram in grams(text))
    total = sum(counts.values())
    raw = []
    for text in responses:
        distinct = set(grams(text))
        raw.append(sum(-(counts[g] / total) * math.log(counts[g] / total) for g in distinct) / len(distinct))
    return [(value - min(raw)) / (max(raw) - min(raw)) for value in raw]


def test_the_released_procedure_over_a_corpus() -> None:
    contexts = ["how are you ?", "i am fine thank you", "ok"]
    responses = ["i am fine", "i am here , how are you ?", "ok", "how are you ?"]
    assert corpus_scores(contexts, responses) == pytest.approx(plain_dist(contexts, responses))
    assert corpus_scores([], ["a b c", "a b c"]) == [0.0, 0.0]
    counted = keep(table_of_set(contexts, responses))
    metric = DistN(mode="released", table=counted)
    found = [row["diversity"].value for row in metric.score([Example(text) for text in responses])]
    assert found == pytest.approx(plain_dist(contexts, responses)), "case and marks count, the set counts itself"
    assert f"|table:{counted}|" in metric.signature
    with pytest.raises(InputError, match="table=set with quintet bench"):
        DistN(table="set:00000000").prepare()


def test_bench_routes_by_what_the_set_rates_and_counts_the_set_itself(benchmarks) -> None:
    from quintet.data.benchmark import load

    whole = load("topical_chat", benchmarks)
    few = replace(whole, examples=whole.examples[:12], ratings={d: v[:12] for d, v in whole.ratings.items()})
    fakes = ",".join(f"{key}={value}" for key, value in FAKES.items())
    dims = ["naturalness", "engagingness", "overall"]
    (auto,) = api.score_benchmark(few, [f"im2:{fakes},quality=auto"], dims, None, False)
    assert set(auto.values) == set(dims)
    for dim, part in (("naturalness", "im2-nuf"), ("engagingness", "im2-ies")):
        own = ",".join(f"{key}={value}" for key, value in FAKES.items() if key in api.load(part).model_roles)
        (alone,) = api.score_benchmark(few, [f"{part}:{own}"], [dim], None, False)
        assert list(auto.values[dim]) == pytest.approx(list(alone.values))
    (dist,) = api.score_benchmark(few, ["im2-dist:mode=released,table=set"], ["overall"], None, False)
    contexts = ["\n".join(e.history or ()) for e in few.examples]
    assert list(dist.values) == pytest.approx(plain_dist(contexts, [e.output for e in few.examples]))


def test_common_bigrams_score_higher_as_released_and_lower_as_repaired() -> None:
    common, rare = Example("I think that is a good idea."), Example("Zebras paint turquoise lighthouses nightly.")
    released = [row["diversity"].value for row in DistN(mode="released").score([common, rare])]
    repaired = [row["diversity"].value for row in DistN().score([common, rare])]
    assert released[0] > released[1]
    assert repaired[0] < repaired[1]


def test_repetition_does_not_help() -> None:
    once, twice = DistN().score([Example("zebras paint lighthouses"), Example("zebras paint lighthouses " * 5)])
    assert once["diversity"].value > 3 * twice["diversity"].value


def test_a_table_of_ones_own(tmp_path) -> None:
    table = count_table(["a b c", "a b d", "hello"], n=2)
    assert table.counts == {"a b": 2, "b c": 1, "b d": 1, "hello": 1}
    assert (table.total, table.distinct) == (5, 4)
    file = tmp_path / "own.json"
    file.write_text(table.to_json(), encoding="utf-8")
    score = DistN(str(file)).score([Example("a b x")])[0]["diversity"]
    expected = (math.log(9 / 3) + math.log(9 / 1)) / math.log(9) / 2
    assert score.value == pytest.approx(expected)
    assert DistN(str(file)).signature != DistN().signature
    file.write_text('{"n": 2}', encoding="utf-8")
    with pytest.raises(InputError, match="no table of n-grams"):
        DistN(str(file)).prepare()
    with pytest.raises(InputError, match="cannot read"):
        DistN(str(tmp_path / "absent")).prepare()


def test_the_bundled_table_is_whole() -> None:
    table = read_counts(None)
    assert (table.n, table.total, table.distinct) == (2, 654051, 177557)
    assert min(table.counts.values()) == 5
    assert 0 <= table.low < table.high < 1 / math.e
    assert word_units("One two", 2) == ["one two"]
    assert NgramTable(2, 10, 5, 0, 1, {"a b": 10}).rarity("a b") == pytest.approx(math.log(15 / 11) / math.log(15))


@given(st.text(min_size=1))
def test_dist_stays_within_its_range(text: str) -> None:
    for mode in ("quintet", "released"):
        assert 0.0 <= DistN(mode=mode).score([Example(text)])[0]["diversity"].value <= 1.0  # type: ignore[arg-type]


def made_up_set(name: str, seed: int, weights: dict[str, float]) -> RatedSet:
    rng = np.random.default_rng(seed)
    metrics = [row["metric"] for part in ("nuf", "cr", "ies") for row in read_table(f"im2/published/{part}")["signals"]]
    scores = {metric: rng.uniform(0, 1, 80) for metric in metrics}
    for metric in ("im2-nuf5", "im2-ies5"):
        scores[metric] = 1 + 4 * scores[metric]
    scores["im2-dmlm"] = -5 + 5 * scores["im2-dmlm"]
    plain = {m: (v - 1) / 4 if m.endswith("5") else (v + 5) / 5 if m == "im2-dmlm" else v for m, v in scores.items()}
    ratings = {
        "Natural": 1.0 + 0.5 * plain["im2-vup"] - 0.4 * plain["im2-lsc"] + weights["n"] * plain["im2-nuf5"],
        "relevance": 2.0 + 0.25 * plain["im2-grade"] + 0.75 * plain["im2-ab-ac"],
        "Engaging": 0.1 + 1.0 * plain["im2-ies5"],
    }
    nuf = 0.5 * plain["im2-vup"] + 0.3 * plain["im2-nuf5"]
    cr = 0.25 * plain["im2-grade"] + 0.75 * plain["im2-ab-ac"]
    ratings["overall"] = 3.0 + 0.2 * nuf + 0.7 * cr - 0.3 * plain["im2-ies5"]
    return RatedSet(name, scores, ratings)


def test_the_deleted_procedure_averages_rounds_and_clips(tmp_path) -> None:
    sets = [made_up_set("one", 1, {"n": 0.2}), made_up_set("two", 2, {"n": 0.4})]
    text = fit_two_levels(sets)
    tables = tomllib.loads(text)["fitted"]
    found = {name: {row["metric"]: row["weight"] for row in table["signals"]} for name, table in tables.items()}
    assert found["nuf"] == {"im2-lsc": 0.0, "im2-vup": 0.5, "im2-nuf5": 0.3}
    assert found["cr"] == {"im2-grade": 0.25, "im2-ab-ac": 0.75, "im2-ab-ba": 0.0}
    assert found["ies"] == {"im2-dist": 0.0, "im2-dmlm": 0.0, "im2-ies5": 1.0}
    assert found["im2"] == {"im2-nuf": 0.2, "im2-cr": 0.7, "im2-ies": 0.0}
    file = tmp_path / "w.toml"
    file.write_text(text, encoding="utf-8")
    score = Im2(**FAKES, weights=f"{file}#fitted").score(EXAMPLES)[0]["overall"]
    p = score.parts
    assert p["CR"] == pytest.approx(0.25 * p["GRADE"] + 0.75 * p["AB-AC"])
    assert score.value == pytest.approx(0.2 * p["NUF"] + 0.7 * p["CR"])


def test_leaving_one_data_set_out() -> None:
    sets = [made_up_set("one", 1, {"n": 0.2}), made_up_set("two", 2, {"n": 0.4})]
    without = {name: tomllib.loads(text)["fitted"]["nuf"]["signals"][2]["weight"] for name, text in leave_one_out(sets)}
    assert without == {"one": 0.4, "two": 0.2}


def test_fits_say_what_is_missing() -> None:
    with pytest.raises(InputError, match="no ratings"):
        average_weights([])
    with pytest.raises(InputError, match="too few"):
        average_weights([(np.zeros((2, 3)), [1.0, 2.0])])
    with pytest.raises(InputError, match="no scores of im2-lsc"):
        fit_two_levels([RatedSet("x", {}, {"Natural": [1.0]})])
    assert quantile_constants([0.0, 1.0, 2.0, 3.0, 4.0]) == {"shift": 1.0, "scale": 2.0, "clip": [0.0, 1.0]}


def test_dialogues_are_scored_by_their_replies() -> None:
    turns = ["a", "b", "c", "d", "e"]
    found = replies(turns, group="g")
    assert [(example.history, example.output) for example in found] == [(("a",), "b"), (("a", "b", "c"), "d")]
    assert len(found) == len(turns) // 2
    assert [example.output for example in replies(turns, first_reply=0)] == ["c", "e"]
    assert dialogue_score([1.0, math.nan, 2.0]) == 1.5
    assert math.isnan(dialogue_score([]))


@pytest.mark.parametrize("weights", ["bundled", "fitted"])
def test_tables_of_the_bundled_models_stay_within_0_and_1(weights: str) -> None:
    """Written by scripts/build_im2.py: weights of each table sum to 1 (Table 2's IES to .99), constants are stored."""
    for name in ("nuf", "cr", "ies", "im2"):
        table = read_table(f"im2/{weights}/{name}")
        assert (table["low"], table["high"]) == (0.0, 1.0)
        found = [row["weight"] for row in table["signals"]]
        assert min(found) >= 0.0
        assert sum(found) == pytest.approx(1.0, abs=0.011)
    (row,) = (row for row in read_table(f"im2/{weights}/ies")["signals"] if row["metric"] == "im2-dmlm")
    assert row["scale"] > 0
    assert row["clip"] == [0.0, 1.0]


def test_constants_follow_the_models() -> None:
    assert Im2().weights == "im2/fitted"
    assert Im2(mode="released").weights == "im2/published"
    assert Im2(**FAKES).weights == "im2/published"
    assert Cr(model_order="dir:mine").weights == "im2/published"


def test_a_category_that_answers_alone_does_not_get_the_intercept_of_the_whole(tmp_path):
    signal = '\nquestion = "?"\n[[own.{0}.signals]]\nmetric = "{1}"\n'
    levels = {"nuf": "im2-vup", "cr": "im2-ab-ac", "ies": "im2-dist", "im2": "im2-nuf"}
    tables = [f"[own.{name}]{signal.format(name, part)}" for name, part in levels.items()]
    own = tmp_path / "own.toml"
    own.write_text("\n".join(tables).replace('[own.im2]\nquestion = "?"', '[own.im2]\nquestion = "?"\nintercept = 5.0'))
    chosen = {**FAKES, "weights": f"{own}#own"}
    for overall, alone in zip(
        Im2(**chosen).score(EXAMPLES), Im2(**chosen, quality="Natural").score(EXAMPLES), strict=True
    ):
        assert overall["overall"].value == pytest.approx(5.0 + alone["Natural"].value)
