"""What the papers and the authors' own files say about the benchmarks, read through our loaders."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from quintet.data.benchmark import Benchmark, load
from quintet.data.published import NAMES, author_scores
from quintet.data.rated import RawFolder
from quintet.errors import UnknownName

GROUND_TRUTH = "Original Ground Truth"


def correlations(scores: object, ratings: np.ndarray) -> list[float]:
    return [round(float(measure(scores, ratings)[0]), 4) for measure in (pearsonr, spearmanr, kendalltau)]


def test_topical_chat_items(benchmarks: Path) -> None:
    benchmark = load("topical_chat", benchmarks)
    assert Counter(example.system for example in benchmark.examples) == dict.fromkeys(benchmark.systems, 60)
    assert sum(example.system != GROUND_TRUTH for example in benchmark.examples) == 300
    assert sum(example.context == "_nofact" for example in benchmark.examples) == 48
    assert all(table.shape == (360, 3) for table in benchmark.annotators.values())
    truth = {e.group: e.output for e in benchmark.examples if e.system == GROUND_TRUTH}
    assert all(e.references == (truth[e.group],) for e in benchmark.examples)
    assert max(len(e.history) for e in benchmark.examples if e.history) == 19


def test_persona_chat_items(benchmarks: Path) -> None:
    benchmark = load("persona_chat", benchmarks)
    assert sum(example.system != GROUND_TRUTH for example in benchmark.examples) == 240
    assert all(example.context and example.context.startswith("your persona: ") for example in benchmark.examples)
    rows = RawFolder(benchmarks).json("persona_chat_usr/persona_chat_ctc.json")
    assert [row["response"].strip() for row in rows] == [example.output for example in benchmark.examples]
    published = np.array([row["maintains_context"] for row in rows])
    np.testing.assert_allclose(benchmark.ratings["coherence"], published, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "dimension", "expected"),
    [
        ("persona_chat", "engagingness", [0.3910, 0.4220, 0.3267]),
        ("persona_chat", "groundedness", [0.3171, 0.3051, 0.2467]),
        ("topical_chat", "engagingness", [0.4079, 0.4089, 0.3053]),
        ("topical_chat", "groundedness", [0.2624, 0.2681, 0.2084]),
    ],
)
def test_response_length_gives_ctc_tables_f1_to_f4(
    name: str, dimension: str, expected: list[float], benchmarks: Path
) -> None:
    benchmark = load(name, benchmarks)
    words = [len(example.output.split()) for example in benchmark.examples]
    assert correlations(words, benchmark.ratings[dimension]) == expected


@pytest.mark.parametrize(
    ("name", "dimension", "spearman", "pearson"),
    [
        # USR Table 1, which prints .4318 for the Spearman of PersonaChat's Interesting where the data give .4138.
        ("topical_chat", "understandability", 0.5102, 0.5102),
        ("topical_chat", "overall", 0.7183, 0.7096),
        ("persona_chat", "engagingness", 0.4138, 0.4288),
        ("persona_chat", "overall", 0.6577, 0.6603),
    ],
)
def test_annotator_columns_give_usr_table_1(
    name: str, dimension: str, spearman: float, pearson: float, benchmarks: Path
) -> None:
    columns = load(name, benchmarks).annotators[dimension].T
    pairs = list(combinations(columns, 2))
    assert round(float(np.mean([spearmanr(a, b)[0] for a, b in pairs])), 4) == spearman
    assert round(float(np.mean([pearsonr(a, b)[0] for a, b in pairs])), 4) == pearson


@pytest.mark.parametrize(
    ("name", "metric", "dimension", "expected"),
    [
        ("topical_chat", "UniEval", "overall", [0.6328, 0.6626, 0.4873]),
        ("qags_cnn", "UniEval", "consistency", [0.6817, 0.6623, 0.5316]),
        ("qags_xsum", "UniEval", "consistency", [0.4614, 0.4879, 0.3992]),
        ("sfres", "UniEval", "naturalness", [0.3673, 0.3334, 0.2471]),
        ("sfres", "UniEval", "informativeness", [0.2821, 0.2249, 0.1693]),
        ("sfhot", "UniEval", "naturalness", [0.3974, 0.3198, 0.2376]),
        ("sfhot", "UniEval", "informativeness", [0.3574, 0.2493, 0.1912]),
        ("summeval", "CTC(D)(CNN/DM)", "consistency", [0.5342, 0.4014, 0.3194]),
        ("summeval", "CTC(E)(RoBERTa-large)", "relevance", [0.5160, 0.4904, 0.3593]),
    ],
)
def test_authors_scores_give_the_published_correlations(
    name: str, metric: str, dimension: str, expected: list[float], benchmarks: Path
) -> None:
    scores = author_scores(name, benchmarks)[metric][dimension]
    assert correlations(scores, load(name, benchmarks).ratings[dimension]) == expected


def test_every_set_of_author_scores_is_aligned(benchmarks: Path) -> None:
    for name in NAMES:
        benchmark = load(name, benchmarks)
        # USR's authors scored what systems and a second person wrote, not the ground truth.
        unscored = np.array([example.system == "Original Ground Truth" for example in benchmark.examples])
        for metric, dimensions in author_scores(name, benchmarks).items():
            missing = unscored if metric.startswith("USR") else np.zeros(len(benchmark), bool)
            assert all(np.array_equal(np.isnan(values), missing) for values in dimensions.values()), metric
    with pytest.raises(UnknownName, match="authors' scores"):
        author_scores("bagel", benchmarks)


def test_summeval_variants(benchmarks: Path) -> None:
    original, tokenised, unieval = (load("summeval", benchmarks, v) for v in ("", "tokenised", "unieval"))
    assert {len(e.references) for e in original.examples} == {11}
    assert {len(e.references) for e in unieval.examples} == {1}
    assert original.variant == "original"
    scored, first = (load("summeval", benchmarks, v) for v in ("scored", "scored-first"))
    assert not [text for e in scored.examples for text in e.references if "``" in text or "''" in text]
    assert [e.references[:1] for e in scored.examples] == [e.references for e in first.examples]
    assert [e.output for e in scored.examples] == [e.output for e in original.examples]
    assert "team's" in (original.examples[0].source or "")
    assert "team 's" in (tokenised.examples[0].source or "")
    rows = RawFolder(benchmarks).json("summeval/summeval_unieval_format.json")
    for example, row in zip(unieval.examples, rows, strict=True):
        assert (example.output, example.source, example.references[0]) == (
            row["system_output"], row["source"], row["reference"],
        )  # fmt: skip
    np.testing.assert_allclose(unieval.ratings["overall"], [row["scores"]["overall"] for row in rows])


def test_qags_ratings_from_single_votes_equal_unievals(benchmarks: Path) -> None:
    for name, part in (("qags_cnn", "cnndm"), ("qags_xsum", "xsum")):
        rows = RawFolder(benchmarks).json(f"qags/qags_{part}_unieval_with_predictions.json")
        np.testing.assert_array_equal(
            load(name, benchmarks).ratings["consistency"], [row["scores"]["consistency"] for row in rows]
        )


@pytest.mark.parametrize(("part", "name", "shuffled"), [("cnndm", "qags_cnn", 192), ("xsum", "qags_xsum", 0)])
def test_qags_as_ctc_read_it(benchmarks: Path, part: str, name: str, shuffled: int) -> None:
    """CTC's file has the items, and the sentences of most summaries, in another order; each keeps its rating."""
    original, theirs = (load(name, benchmarks, variant) for variant in ("original", "ctc"))
    rows = RawFolder(benchmarks).json(f"qags/qags_{part}_ctc.json")
    own = {row["summary"]: (row["document"], row["consistency"]) for row in rows}
    for example, rating in zip(theirs.examples, theirs.ratings["consistency"], strict=True):
        document, consistency = own[example.output]
        assert example.source == document
        assert rating == pytest.approx(consistency)
    pairs = zip(original.examples, theirs.examples, strict=True)
    letters = [[re.sub("[^a-z0-9]", "", e.output.lower()) for e in pair] for pair in pairs]
    assert sum(a != b for a, b in letters) == shuffled
    assert all(sorted(a) == sorted(b) for a, b in letters)


def test_newsroom_markup_is_gone(benchmarks: Path) -> None:
    texts = [t for e in load("newsroom", benchmarks).examples for t in (e.output, e.source or "")]
    assert not any("<p>" in text or "&quot;" in text or "&#x27;" in text for text in texts)


def test_xsum_faithfulness_is_the_authors(benchmarks: Path) -> None:
    benchmark = load("xsum_faith", benchmarks)
    names = {"bert_withckpt": "BERTS2S", "ptgen": "PtGen", "tconvs2s": "TConvS2S", "bert_nockpt": "TranS2S"}
    place = {example.id: n for n, example in enumerate(benchmark.examples)}
    rows = RawFolder(benchmarks).csv("xsum_faith/eval_scores_xsum_summaries.csv")
    keys = [row["system_bbcid"].rpartition("_") for row in rows]
    index = [place[f"{bbcid}/{names[system]}"] for system, _, bbcid in keys]
    faithful = np.abs(benchmark.ratings["faithfulness"][index] - [float(row["Faithful"]) for row in rows])
    factual = np.abs(benchmark.ratings["factuality"][index] - [float(row["Factual"]) for row in rows])
    assert np.mean(faithful < 1e-6) > 0.95
    assert np.mean(factual < 1e-6) > 0.99
    gold = np.array([example.system == "Gold" for example in benchmark.examples])
    assert np.isnan(benchmark.ratings["factuality"][gold]).all()


def test_words_that_most_workers_marked(benchmarks: Path) -> None:
    """Two fifths of the words of XSum's summaries, the gold ones included; places are those of whole words."""
    benchmark = load("xsum_faith", benchmarks)
    words = sum(len(example.output.split()) for example in benchmark.examples)
    marked = sum(len(places) for places in benchmark.unsupported)
    assert (words, marked) == (47_949, 19_468)
    for example, places in zip(benchmark.examples[:50], benchmark.unsupported, strict=False):
        assert all(" " not in example.output[start:end] for start, end in places)


def test_fed_dialogues_average_over_turns(benchmarks: Path) -> None:
    whole, turns = (load("fed_dialog", benchmarks, variant) for variant in ("whole", "turns"))
    dstc10 = load("dstc10/fed-dial", benchmarks)
    for benchmark in (turns, dstc10):
        assert benchmark.unit == "group"
        assert len(benchmark) == 795
        assert len(benchmark.unit_examples()) == 125
        np.testing.assert_allclose(benchmark.per_unit(benchmark.ratings["overall"]), whole.ratings["overall"])
    lengths = np.array([float(len(e.output)) for e in turns.examples])
    assert turns.per_unit(lengths)[0] == pytest.approx(
        np.mean([len(e.output) for e in turns.examples if e.group == "000"])
    )


def test_fed_skips_na(benchmarks: Path) -> None:
    table = load("fed_dialog", benchmarks).annotators["error recovery"]
    assert table.shape == (125, 5)
    assert np.isfinite(table).sum() == 471


def same_ratings(one: Benchmark, other: Benchmark, dimensions: tuple[str, str]) -> None:
    def found(benchmark: Benchmark, dimension: str) -> Counter[tuple[str, float]]:
        pairs = zip(benchmark.examples, benchmark.ratings[dimension], strict=True)
        return Counter((" ".join(e.output.split()), round(float(r), 6)) for e, r in pairs)

    assert found(one, dimensions[0]) == found(other, dimensions[1])


def test_copies_of_one_set_agree(benchmarks: Path) -> None:
    for ours, theirs in (("convai2", "convai2"), ("dailydialog", "dailydialog"), ("empathetic", "empathetic")):
        grade, dstc10 = load(f"grade/{ours}", benchmarks), load(f"dstc10/{theirs}-grade", benchmarks)
        same_ratings(grade, dstc10, ("coherence", "relevance"))
    gupta, dstc10 = load("gupta_multiref", benchmarks), load("dstc10/dailydialog-gupta", benchmarks)
    same_ratings(gupta, dstc10, ("appropriateness", "overall"))
    for usr, part in (("topical_chat", "topical-usr"), ("persona_chat", "persona-usr")):
        same_ratings(load(usr, benchmarks), load(f"dstc10/{part}", benchmarks), ("overall", "overall"))


def test_yelp_has_ctcs_preservation(benchmarks: Path) -> None:
    benchmark = load("yelp", benchmarks)
    rows = RawFolder(benchmarks).json("yelp_mir2019/yelp_ctc.json")
    np.testing.assert_array_equal(benchmark.ratings["preservation"], [row["preservation"] for row in rows])
    assert np.isnan(benchmark.ratings["naturalness"]).sum() == 3 * 244


def test_cnndm_quality_with_references(benchmarks: Path) -> None:
    everything = load("cnndm_quality", benchmarks, "all")
    assert Counter(e.system for e in everything.examples)["reference"] == 513
    assert len(everything) == 2598
