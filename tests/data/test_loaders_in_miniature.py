"""Every published format, with a few made-up rows: runs without the real files, and shows what each looks like."""

# ruff: noqa: E501 (made-up rows read best on one line)

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quintet.data.benchmark import Benchmark, load
from quintet.data.catalog import catalog, entry
from quintet.errors import InputError

USR_QUALITIES = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")


def usr_means(value: float) -> dict[str, float]:
    return {quality.lower().replace(" ", "_"): value for quality in USR_QUALITIES}


def usr_lists(values: list[int]) -> dict[str, list[int]]:
    return dict.fromkeys(USR_QUALITIES, values)


TURNS = "hi \n how are you ? \n\n"
TOPICAL_CTC = [
    {
        "model": "Original Ground Truth",
        "response": "fine \n",
        "dialog_history": TURNS,
        "fact": "_nofact\n",
        **usr_means(1),
    },
    {"model": "Argmax Decoding", "response": "same \n", "dialog_history": TURNS, "fact": "_nofact\n", **usr_means(2)},
    {
        "model": "New Human Generated",
        "response": "same \n",
        "dialog_history": TURNS,
        "fact": "_nofact\n",
        **usr_means(3),
    },
]
TOPICAL_SINGLE = [
    {"context": "hi   how are you ?", "response": "same", "annotations": usr_lists([3, 3, 3])},
    {"context": "hi   how are you ?", "response": "same", "annotations": usr_lists([1, 2, 3])},
    {"context": "hi   how are you ?", "response": "fine", "annotations": usr_lists([1, 1, 1])},
]
PERSONA = [
    {
        "context": "hi\nhello\n",
        "fact": "your persona: i like tea.\n",
        "responses": [
            {"response": "tea ?\n", "model": "Original Ground Truth", **usr_lists([1, 2, 3])},
            {"response": "no\n", "model": "Seq2Seq", **usr_lists([1, 1, 1])},
        ],
    }
]
SUMM_SCORES = {"coherence": 1.0, "consistency": 2.0, "fluency": 3.0, "relevance": 4.0}
NEWS_SCORES = {"coherence": 1.0, "fluency": 2.0, "informativeness": 3.0, "relevance": 4.0}
VOTES = [{"worker_id": 7, "response": "yes"}, {"worker_id": 3, "response": "no"}, {"worker_id": 5, "response": "yes"}]
AGAINST = [{"worker_id": 7, "response": "no"}, {"worker_id": 3, "response": "no"}, {"worker_id": 5, "response": "yes"}]
QAGS = [
    {
        "article": "A b. C.",
        "summary_sentences": [{"sentence": "A.", "responses": VOTES}, {"sentence": "B.", "responses": AGAINST}],
    }
]
D2T = [
    {"system_id": "LOLS", "source": "inform(name=x)", "system_output": "X .", "system_output_raw": "x.", "references": ["It is X ."],
     "scores": {"informativeness": 6.0, "naturalness": 5.0, "quality": 4.5}},
    {"system_id": "LOLS", "source": "inform(name=x)", "system_output": "X !", "system_output_raw": "x!", "references": ["It is X ."],
     "scores": {"informativeness": 1.0, "naturalness": 1.0, "quality": 1.0}},
]  # fmt: skip
YELP_HUMAN = {
    "content_preservation": {"A": [5.0, 4.0], "B": [1.0, 2.0]},
    "naturalness": {"input_texts": {"absolute": [5.0, 5.0]}, "A": {"relative": ["A", None], "absolute": [3.0, 2.0]}},
    "style_transfer_intensity": {"A": [1.0, 2.0], "B": [3.0, 4.0]},
}
YELP = [
    {"model": m, "input_sent": f"in {i}", "output_sent": f"out {m}{i}", "preservation": YELP_HUMAN["content_preservation"][m][i]}
    for m in "AB" for i in (0, 1)
]  # fmt: skip


def lqual(system: str, overall: list[int], **more: list[float]) -> dict[str, Any]:
    lists = {"overall": overall, "grammar": overall, "redundancy": overall, "hter": [0.5] * len(overall), **more}
    scores = {name: sum(values) / len(values) if values else None for name, values in lists.items()}
    return {
        "doc_id": "1", "system_id": system, "system_output": "A b.", "reference": "A c.", "scores": scores,
        "responses": {**lists, "worker_ids": []},
    }  # fmt: skip


LQUAL = [lqual("ml", []), lqual("ml", [1, 0]), lqual("reference", [1, 1]), lqual("pointer", [-1, 0], focus=[1, 1])]
FED = [
    {"context": "User: Hi!\nSystem: Yo: hey\nUser: ok", "response": "System: Bye.", "system": "Meena",
     "annotations": {"Interesting": [2, 1], "Engaging": [0, "N/A (hm)"], "Correct": ["N/A", "N/A"], "Overall": [4, 3]}},
    {"context": "User: Hi!\nSystem: Hey\nUser: ok\nSystem: Bye.", "system": "Meena",
     "annotations": {"Coherent": [2, 1], "Error recovery": ["N/A (none)", 1], "Overall": [4, 3]}},
]  # fmt: skip
DSTC10_ROWS = [
    {"dialogue_id": " d-000", "model": "human", "context": "hi\nhello there", "response": "how are you ?",
     "reference": ["fine ?", "well ?"], "annotations": {"appropriateness": [5, 4, 3], "relevance": [1, 2, 3]}},
    {"dialogue_id": "d-001", "model_name": "bot", "context": "hi\nhello there", "response": "no",
     "annotations": {"appropriateness": [1, 1], "relevance": [1]}},
]  # fmt: skip
HALLUCINATED = [
    {"bbcid": "1", "system": system, "summary": "bob\\'s cat sat", "hallucination_type": kind, "hallucinated_span": span,
     "hallucinated_span_start": start, "hallucinated_span_end": end, "worker_id": worker}
    for system, worker, kind, span, start, end in (
        ("PtGen", "wid_0", "extrinsic", "bob\\'s", 1, 6),
        ("PtGen", "wid_1", "NULL", "NULL", -1, -1),
        ("PtGen", "wid_2", "intrinsic", "cat sat\\n", 0, 8),
        ("Gold", "wid_0", "NULL", "NULL", -1, -1),
    )
]  # fmt: skip
FACTUAL = [
    {"bbcid": "1", "system": "PtGen", "summary": "", "is_factual": vote, "worker_id": f"wid_{n}"}
    for n, vote in enumerate(("yes", "no", "NULL"))
]
GRADE_LINES = {
    "convai2/bert_ranker/human_ctx.txt": ["a|||b"],
    "convai2/bert_ranker/human_hyp.txt": ["c  d"],
    "convai2/bert_ranker/human_ref.txt": ["e"],
}
GRADE = [
    {
        "ID": 7,
        "Dataset": "convai2",
        "DialogModel": "bert_ranker",
        "Context": "a|||b",
        "Response": "c d",
        "HumanScores": "[3, 5]",
    }
]
GUPTA = [
    {
        "model": "human",
        "context_id": "73_4",
        "human_average_rating": "4.8",
        "response": "great .",
        "all_references": "a\tb",
        "context": 'x||||y, "z"',
    }
]
ENGAGING = [
    *({"query": "q", "response": "gen", "human_score": str(n)} for n in (1, 2, 3) for _ in range(300)),
    *({"query": "q", "response": "true\n", "human_score": str(n)} for n in (5, 5, 4)),
]
DA = [{"sent_id": "1", "sys_name": "S", "orig_sent": "A, b", "simp_sent": "b", "fluency": "50", "fluency_zscore": "-0.5",
       "meaning": "60", "meaning_zscore": "0.1", "simplicity": "70", "simplicity_zscore": "0.2"}]  # fmt: skip
DA_SINGLE = [
    {"sent_id": "1", "sys_name": "S", "rater_id": str(n), "simplicity": str(v)} for n, v in enumerate((60, 80))
]
STRUCTURAL = [{"sent_id": "1", "sys_name": "S", "orig_sent": "a", "simp_sent": "b", "grammaticality": "5", "meaning": "4",
               "simplicity": "-1", "structural_simplicity": "0.5"}]  # fmt: skip
STRUCTURAL_SINGLE = [{"sent_id": "1", "sys_name": "S", "rater_id": n, "structural_simplicity": n} for n in ("0", "1")]
CLAIM = {"claim": "c", "document": "d", "label": 1, "annotations": [1]}
POLYTOPE = {
    **CLAIM,
    "ID": "b1-10",
    "label": 0,
    "inaccuracy_label": 1,
    "duplication_label": 1,
    "omission_label": 0,
    "addition_label": 0,
}
WICE = [
    {"label": label, "claim": "c", "evidence": ["e", "f"], "meta": {"id": f"dev{label}"}}
    for label in ("supported", "partially_supported")
]
PC = "predictive_engagement/"
SI = "simplification_alvamanchego2021/"

MINIATURES: dict[str, dict[str, Any]] = {
    "im2/nuf": {
        "dstc10_dev/dailydialog-zhao.jsonl": [{"context": "a", "response": "b", "annotations": {"grammar": [1, 5]}}],
        **{f"dstc10_dev/{part}-usr.jsonl": [{"context": "a", "response": "b", "annotations": {"Natural": [3], "Understandable": [0]}}]
           for part in ("persona", "topical")},
        "dstc10_dev/fed-turn.jsonl": [{"context": "a", "response": "b", "annotations": {"Correct": [2], "Understandable": [1], "Fluent": [0]}}],
    },
    "topical_chat": {"topical_chat_usr/topical_chat_ctc.json": TOPICAL_CTC,
                     "topical_chat_usr/topical-usr_per_annotator_dstc10.jsonl": TOPICAL_SINGLE},
    "persona_chat": {"persona_chat_usr/pc_usr_data.json": PERSONA},
    "summeval": {"summeval/summeval_docs.jsonl": [{"doc_id": "d", "source": "It's.", "source_tok": "It 's .", "references_tok": ["r 1", "r 2"]}],
                 "summeval/summeval_outputs.jsonl": [{"doc_id": "d", "system_id": "M1", "system_output": "it's.", "system_output_tok": "It 's .", "scores": SUMM_SCORES}]},
    "newsroom": {"newsroom_ner18/newsroom_ner18_docs.jsonl": [{"doc_id": "d", "source": "A . B .", "ref_summ": "R ."}],
                 "newsroom_ner18/newsroom_ner18_outputs.jsonl": [{"doc_id": "d", "system_id": "lede3", "system_output": "A .", "scores": NEWS_SCORES}],
                 "newsroom_ner18/newsroom_original_text.jsonl": [{"doc_id": "d", "source": "A&#x27;s.</p><p>B &lt;p&gt;.", "system_output": "A.", "scores": NEWS_SCORES}]},
    "dialsummeval": {"dialsummeval/human_judgment.jsonl": [{"id": "1", "dialogue": "| A: hi | B: yo", "summary": "s", "model_id": "A",
                     "annotations": [{"consistency": 5, "fluency": 1}, {"consistency": 2, "fluency": 1}]}]},
    "qags_cnn": {"qags/mturk_cnndm.jsonl": QAGS},
    "qags_xsum": {"qags/mturk_xsum.jsonl": QAGS},
    "sfres": {"novikova2017_d2t/sfres.jsonl": D2T},
    "yelp": {"yelp_mir2019/yelp_ctc.json": YELP, "yelp_mir2019/mir2019_human_scores.json": YELP_HUMAN},
    "cnndm_quality": {"chaganty2018_cnndm_lqual/lqual.jsonl": LQUAL},
    "fed_turn": {"fed/fed_data.json": FED},
    "fed_dialog": {"fed/fed_data.json": FED},
    "xsum_faith": {"xsum_faith/hallucination_annotations_xsum_summaries.csv": HALLUCINATED,
                   "xsum_faith/factuality_annotations_xsum_summaries.csv": FACTUAL,
                   "xsum_faith/xsum_docs.jsonl": [{"bbcid": "1", "document": "Doc."}]},
    "dstc10/dailydialog-zhao": {"dstc10_dev/dailydialog-zhao_eval.json": DSTC10_ROWS},
    "dstc10/dstc6": {"dstc10_dev/dstc6.jsonl": [{"context": None, "response": "r", "annotations": {"overall": [1.0, 2.0]}}]},
    "dstc10/fed-dial": {"dstc10_dev/fed-dial_turns.jsonl": [{"context": "Hi!", "response": "Hey"}, {"context": "ok", "response": "Bye."}],
                        "dstc10_dev/fed-dial_anno.jsonl": [{"Overall": [3, 4]}], "fed/fed_data.json": FED},
    "dstc10_hidden/jsalt": {"dstc10_hidden/jsalt.json": DSTC10_ROWS},
    "grade/convai2": {"grade/human_judgement.json": GRADE, "grade/eval_data_ctx_ref_hyp.json": GRADE_LINES},
    "gupta_multiref": {"gupta2019_multiref/mturk_rating_processed_output.csv": GUPTA},
    "predictive_engagement": {f"{PC}Eng_Scores_queries_gen_gtruth_replies.csv": ENGAGING},
    "predictive_engagement/convai": {f"{PC}humanAMT_engscores_utt.csv": [{"id": "0", "query": "q", "reply": "r .", "label": "1"}]},
    "simplicity_da": {f"{SI}simplicity_DA.csv": DA, f"{SI}ratings_per_annotator__simplicity_DA_ratings.csv": DA_SINGLE},
    "structural_simplicity": {f"{SI}structural_simplicity.csv": STRUCTURAL,
                              f"{SI}ratings_per_annotator__structural_simplicity_ratings.csv": STRUCTURAL_SINGLE},
    "summac/factcc": {"summac_parts/factcc.jsonl": [CLAIM]},
    "summac/polytope": {"summac_parts/polytope.jsonl": [POLYTOPE]},
    "wice_dev": {"wice/claim_dev.jsonl": WICE},
}  # fmt: skip


def as_bytes(path: str, content: Any) -> bytes:
    if path.endswith(".jsonl"):
        return "".join(json.dumps(row) + "\n" for row in content).encode()
    if path.endswith(".json"):
        return json.dumps(content).encode()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(content[0]))
    writer.writeheader()
    writer.writerows(content)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def made(name: str, folder: Path, variant: str = "") -> Benchmark:
    for path, content in MINIATURES[name].items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(path, content))
    return load(name, folder, variant)


def test_every_loader_has_a_miniature() -> None:
    assert {entry(name).loader for name in MINIATURES} == {facts.loader for facts in catalog().values()}


@pytest.mark.parametrize("name", MINIATURES)
def test_examples_and_ratings_are_aligned(name: str, tmp_path: Path) -> None:
    benchmark = made(name, tmp_path)
    assert len(benchmark) > 0
    assert len({example.id for example in benchmark.examples}) == len(benchmark)
    for values in (*benchmark.ratings.values(), *benchmark.annotators.values()):
        assert len(values) == len(benchmark)


def test_im2s_categories_put_sets_and_qualities_one_after_the_other(tmp_path: Path) -> None:
    benchmark = made("im2/nuf", tmp_path)
    assert [e.id.rpartition("/")[0] for e in benchmark.examples][:3] == [
        "dailydialog-zhao/grammar", "persona-usr/Natural", "persona-usr/Understandable"
    ]  # fmt: skip
    assert benchmark.ratings["nuf"].tolist() == [0.5, 1, 0, 1, 0, 1, 1, 0], "every scale becomes 0 to 1"


@pytest.mark.parametrize("name", MINIATURES)
def test_other_rows_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    made(name, tmp_path)
    for wrong in ([], [{"x": "1"}], ["text"]):
        for path in MINIATURES[name]:
            if path.endswith(".csv"):
                (tmp_path / path).write_text("x\n1\n")
            else:
                (tmp_path / path).write_bytes(as_bytes(path, wrong))
        with pytest.raises(InputError) as caught:
            load(name, tmp_path)
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("broken", [b"\xff\xfe\x00 not text", b'[{"a": 1', b""])
def test_broken_bytes_are_refused(broken: bytes, tmp_path: Path) -> None:
    made("persona_chat", tmp_path)
    path = tmp_path / "persona_chat_usr" / "pc_usr_data.json"
    path.write_bytes(broken)
    with pytest.raises(InputError, match=r"pc_usr_data\.json"):
        load("persona_chat", tmp_path)


def test_cut_gzip_is_refused(tmp_path: Path) -> None:
    made("gupta_multiref", tmp_path)
    plain = tmp_path / "gupta2019_multiref" / "mturk_rating_processed_output.csv"
    whole = gzip.compress(plain.read_bytes())
    plain.unlink()
    packed = plain.with_name(plain.name + ".gz")
    packed.write_bytes(whole)
    assert len(load("gupta_multiref", tmp_path)) == 1
    packed.write_bytes(whole[:-12])
    with pytest.raises(InputError, match="fetch the file again"):
        load("gupta_multiref", tmp_path)


def test_broken_line_is_named(tmp_path: Path) -> None:
    made("summac/factcc", tmp_path)
    path = tmp_path / "summac_parts" / "factcc.jsonl"
    path.write_text(path.read_text() + "{oops\n")
    with pytest.raises(InputError, match="line 2"):
        load("summac/factcc", tmp_path)


def test_topical_chat_tells_equal_responses_apart_by_their_means(tmp_path: Path) -> None:
    benchmark = made("topical_chat", tmp_path)
    assert benchmark.annotators["coherence"].tolist() == [[1, 1, 1], [1, 2, 3], [3, 3, 3]]
    assert benchmark.ratings["overall"].tolist() == [1, 2, 3]
    first = benchmark.examples[1]
    assert (first.history, first.context, first.references) == (("hi", "how are you ?"), "_nofact", ("fine",))


def test_qags_majority_and_workers(tmp_path: Path) -> None:
    benchmark = made("qags_cnn", tmp_path)
    assert benchmark.examples[0].output == "A. B."
    assert benchmark.ratings["consistency"].tolist() == [0.5]
    assert benchmark.annotators["consistency"].tolist() == [[0.5, 0.0, 1.0]]


def test_fed_strips_speakers_and_skips_na(tmp_path: Path) -> None:
    turn = made("fed_turn", tmp_path)
    assert turn.examples[0].output == "Bye."
    assert turn.examples[0].history == ("Hi!", "Yo: hey", "ok")
    assert turn.ratings["engagingness"].tolist() == [0.0]
    assert turn.ratings["interestingness"].tolist() == [1.5]
    assert math.isnan(turn.ratings["correctness"][0])
    whole, turns = made("fed_dialog", tmp_path), made("fed_dialog", tmp_path, "turns")
    assert (whole.examples[0].output, whole.examples[0].history) == ("Hey\nBye.", ("Hi!", "ok"))
    assert [example.history for example in turns.examples] == [("Hi!",), ("Hi!", "Hey", "ok")]
    assert turns.per_unit(np.array([1.0, 2.0])).tolist() == [1.5]


def test_xsum_spans(tmp_path: Path) -> None:
    benchmark = made("xsum_faith", tmp_path)
    generated, gold = benchmark.examples
    assert generated.output == "bob's cat sat"
    assert generated.references == (gold.output,)
    np.testing.assert_allclose(benchmark.annotators["faithfulness"][0], [2 / 3, 1, 1 / 3])
    np.testing.assert_allclose(benchmark.ratings["factuality"], [0.5, np.nan])


def test_hidden_files_of_dstc10(tmp_path: Path) -> None:
    benchmark = made("dstc10_hidden/jsalt", tmp_path)
    first, second = benchmark.examples
    assert (first.id, first.system, first.history) == ("d-000", "human", ("hi", "hello there"))
    assert first.references == ("fine ?", "well ?")
    assert (second.id, second.system, second.references) == ("d-001", "bot", ())
    assert first.group == second.group
    assert benchmark.ratings["appropriateness"].tolist() == [4.0, 1.0]
    np.testing.assert_array_equal(benchmark.annotators["relevance"], [[1, 2, 3], [1, np.nan, np.nan]])
    assert benchmark.split == "test"


def test_shared_dialogue_ids_are_told_apart_by_system(tmp_path: Path) -> None:
    rows = [{**row, "dialogue_id": "same"} for row in DSTC10_ROWS]
    target = tmp_path / "dstc10_hidden" / "esl.json"
    target.parent.mkdir()
    target.write_text(json.dumps(rows))
    assert [e.id for e in load("dstc10_hidden/esl", tmp_path).examples] == ["same/human", "same/bot"]
    target.write_text(json.dumps([*rows, rows[0]]))
    assert [e.id for e in load("dstc10_hidden/esl", tmp_path).examples] == ["00000", "00001", "00002"]


def test_small_differences_of_form(tmp_path: Path) -> None:
    assert made("newsroom", tmp_path).examples[0].source == "A's.\nB <p>."
    assert made("dialsummeval", tmp_path).examples[0].source == "A: hi\nB: yo"
    assert made("gupta_multiref", tmp_path).examples[0].history == ("x", 'y, "z"')
    assert made("predictive_engagement", tmp_path).ratings["engagingness"].tolist() == pytest.approx([2.0, 14 / 3])
    assert made("simplicity_da", tmp_path, "zscore").scales == {}
    assert made("simplicity_da", tmp_path).annotators["simplicity"].tolist() == [[60, 80]]
    assert made("wice_dev", tmp_path).ratings["consistency"].tolist() == [1.0, 0.5]
    polytope = made("summac/polytope", tmp_path)
    assert (polytope.ratings["overall"][0], polytope.ratings["consistency"][0]) == (0, 1)
    quality = made("cnndm_quality", tmp_path)
    assert [(e.id, e.system) for e in quality.examples] == [("0001", "ml"), ("0003", "pointer")]
    assert quality.original_names["non-redundancy"] == "redundancy"
    natural = made("yelp", tmp_path).ratings["naturalness"]
    np.testing.assert_array_equal(natural, [3, 2, np.nan, np.nan])
