"""Rated summaries and claims. Each function reads one collection."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from quintet.core.example import Example
from quintet.core.plain import JsonObject
from quintet.data.rated import Rated, RawFolder, annotator_table, from_lists, from_means, mean_of_rows

# Linguistic quality of CNN/DailyMail summaries (Chaganty et al. 2018), as GRUEN uses it; two or five raters.
#
# Variants: `outputs` of systems that were rated; `all`, the human references rated beside them included.

QUALITIES = ("overall", "grammar", "redundancy", "focus", "clarity", "hter")
HUMAN = "reference"


def cnndm_quality(raw: RawFolder, name: str, variant: str) -> Rated:
    numbered = enumerate(raw.jsonl("chaganty2018_cnndm_lqual/lqual.jsonl"))
    rows = [
        (n, row)
        for n, row in numbered
        if row["scores"]["overall"] is not None and (variant == "all" or row["system_id"] != HUMAN)
    ]
    examples = [
        Example(
            output=row["system_output"],
            references=() if row["system_id"] == HUMAN else (row["reference"],),
            # One summary was rated twice, so ids count rows of the file.
            id=f"{n:04d}",
            system=row["system_id"],
            group=row["doc_id"],
        )
        for n, row in rows
    ]
    return from_lists(examples, [{q: row["responses"].get(q, ()) for q in QUALITIES} for _, row in rows])


# DialSummEval (Gao and Wan 2022): 100 SAMSum dialogues, 14 systems, three annotators.


def dialsummeval(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.jsonl("dialsummeval/human_judgment.jsonl")
    examples = [
        Example(
            output=row["summary"],
            source=row["dialogue"].removeprefix("| ").replace(" | ", "\n"),
            id=f"{row['id']}/{row['model_id']}",
            system=row["model_id"],
            group=row["id"],
        )
        for row in rows
    ]
    ratings = [{d: [person[d] for person in row["annotations"]] for d in row["annotations"][0]} for row in rows]
    return from_lists(examples, ratings)


# Newsroom's human evaluation (Grusky et al. 2018): 60 articles, 7 systems, means of three raters.
#
# Variants: `original` text, its HTML undone; `tokenised` text as in BARTScore and CTC. References are tokenised.


def newsroom(raw: RawFolder, name: str, variant: str) -> Rated:
    documents = {row["doc_id"]: row for row in raw.jsonl("newsroom_ner18/newsroom_ner18_docs.jsonl")}
    rows = raw.jsonl("newsroom_ner18/newsroom_ner18_outputs.jsonl")
    if variant == "original":
        originals = raw.jsonl("newsroom_ner18/newsroom_original_text.jsonl")
        texts = [(_without_markup(row["system_output"]), _without_markup(row["source"])) for row in originals]
    else:
        texts = [(row["system_output"], documents[row["doc_id"]]["source"]) for row in rows]
    examples = [
        Example(
            output=output,
            source=source,
            references=(documents[row["doc_id"]]["ref_summ"],),
            id=f"{row['doc_id']}/{row['system_id']}",
            system=row["system_id"],
            group=row["doc_id"],
        )
        for row, (output, source) in zip(rows, texts, strict=True)
    ]
    return from_means(examples, [row["scores"] for row in rows])


def _without_markup(text: str) -> str:
    paragraphs = re.sub(r"\s*</p>\s*<p>\s*", "\n", text)
    return html.unescape(re.sub(r"</?p>", "", paragraphs)).strip()


# QAGS (Wang et al. 2020): is each sentence of the summary consistent with the article? Three workers, yes or no.
#
# The rating is the share of sentences that a majority called consistent; an annotator's is the share they said yes to.
# Variants: `original` text; `unieval` and `ctc`, the texts that these two scored. The ratings are the same. UniEval's
# file gives the document as the reference, too; CTC's has its items, and the sentences of most CNN/DailyMail
# summaries, in another order.

FILES = {"qags_cnn": ("cnndm", "Bottom-Up"), "qags_xsum": ("xsum", "BART")}


def qags(raw: RawFolder, name: str, variant: str) -> Rated:
    part, system = FILES[name]
    rows = raw.jsonl(f"qags/mturk_{part}.jsonl")
    texts = [(" ".join(s["sentence"] for s in row["summary_sentences"]), row["article"]) for row in rows]
    if variant == "unieval":
        other = raw.json(f"qags/qags_{part}_unieval_with_predictions.json")
        texts = [(row["system_output"], row["source"]) for row in other]
    if variant == "ctc":
        other = raw.json(f"qags/qags_{part}_ctc.json")
        theirs = {_letters(row["summary"]): (row["summary"], row["document"]) for row in other}
        texts = [theirs[_letters(output)] for output, _ in texts]
    examples = tuple(
        Example(
            output,
            source,
            references=(source,) if variant == "unieval" else (),
            id=f"{n:03d}",
            system=system,
            group=f"{n:03d}",
        )
        for n, (output, source) in enumerate(texts)
    )
    judged = [row["summary_sentences"] for row in rows]
    return Rated(
        examples,
        {"consistency": np.array([_majority_share(sentences) for sentences in judged])},
        {"consistency": annotator_table([_share_per_worker(sentences) for sentences in judged])},
        {"consistency": "consistency"},
    )


def _letters(text: str) -> str:
    """The same for a text and for one with its sentences in another order."""
    return "".join(sorted(re.sub("[^a-z0-9]", "", text.lower())))


def _majority_share(sentences: list[JsonObject]) -> float:
    yes = [[r["response"] == "yes" for r in sentence["responses"]] for sentence in sentences]
    return sum(2 * sum(votes) > len(votes) for votes in yes) / len(yes)


def _share_per_worker(sentences: list[JsonObject]) -> list[float]:
    votes = defaultdict(list)
    for sentence in sentences:
        for response in sentence["responses"]:
            votes[response["worker_id"]].append(response["response"] == "yes")
    return [sum(said) / len(said) for said in votes.values()]


# Parts of the SummaC benchmark (Laban et al. 2022): is the summary consistent with the document, yes or no?
#
# polytope: SummaC's label, 1 for a summary without any error, is `overall`; `consistency` is freedom from inaccuracies.

POLYTOPE = {
    "overall": "label",
    "consistency": "inaccuracy_label",
    "non-redundancy": "duplication_label",
    "coverage": "omission_label",
    "conciseness": "addition_label",
}


def summac(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    rows = raw.jsonl(f"summac_parts/{part}.jsonl")
    documents = {text: f"{n:03d}" for n, text in enumerate(dict.fromkeys(row["document"] for row in rows))}
    examples = [_summac_example(n, row, documents[row["document"]], part) for n, row in enumerate(rows)]
    labels = POLYTOPE if part == "polytope" else {"consistency": "label"}
    rated = from_means(examples, [{dimension: row[label] for dimension, label in labels.items()} for row in rows])
    if all("annotations" in row and len(row["annotations"]) > 1 for row in rows) and part == "summeval":
        return replace(rated, annotators={"consistency": annotator_table([row["annotations"] for row in rows])})
    return rated


def _summac_example(n: int, row: JsonObject, group: str, part: str) -> Example:
    # PolyTope's ids end with the number of the system.
    system = row["ID"].partition("-")[2] if part == "polytope" else row.get("model_name")
    return Example(row["claim"], row["document"], id=f"{n:03d}", system=system, group=group)


# SummEval (Fabbri et al. 2021): 100 CNN/DailyMail articles, 16 systems, means of three experts.
#
# Variants: `original` text with 11 references (these were published tokenised only), `tokenised` (every text so, as in
# BARTScore), `unieval` (tokenised, first reference only), `scored` and `scored-first` (original text; all references,
# or the first, with straight double quotes: what character n-grams see of SummEval's own file, from which the figures
# of CTC's Tables D.1 to D.3 come). Overall is the mean of the four dimensions, as in UniEval.


def summeval(raw: RawFolder, name: str, variant: str) -> Rated:
    documents = {row["doc_id"]: row for row in raw.jsonl("summeval/summeval_docs.jsonl")}
    rows = raw.jsonl("summeval/summeval_outputs.jsonl")
    examples = [_summeval_example(row, documents[row["doc_id"]], variant) for row in rows]
    scores = [{**row["scores"], "overall": round(sum(row["scores"].values()) / len(row["scores"]), 10)} for row in rows]
    return from_means(examples, scores)


def _summeval_example(row: JsonObject, document: JsonObject, variant: str) -> Example:
    suffix = "_tok" if variant in ("tokenised", "unieval") else ""
    references = document["references_tok"]
    if variant.startswith("scored"):
        references = [text.replace("``", '"').replace("''", '"') for text in references]
    return Example(
        output=row["system_output" + suffix],
        source=document["source" + suffix],
        references=tuple(references[:1] if variant in ("unieval", "scored-first") else references),
        id=f"{row['doc_id']}/{row['system_id']}",
        system=row["system_id"],
        group=row["doc_id"],
    )


# WiCE (Kamoi et al. 2023): claims of Wikipedia and the evidence they cite; supported 1, partially .5, not 0.

SUPPORT = {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0}


def wice(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.jsonl(f"wice/claim_{name.removeprefix('wice_')}.jsonl")
    examples = [
        Example(row["claim"], "\n".join(row["evidence"]), id=row["meta"]["id"], group=row["meta"]["id"]) for row in rows
    ]
    return from_means(examples, [{"consistency": SUPPORT[row["label"]]} for row in rows])


# XSum hallucinations (Maynez et al. 2020): 500 articles, 4 systems and the gold summary, three workers.
#
# Faithfulness of one worker: share of words that do not lie wholly inside a span they marked as hallucinated; of the
# summary: the mean over workers. This gives the values that the authors publish per summary (`Faithful`).
# Factuality: share of workers who called the summary factual. Only summaries with hallucinations were asked about; the
# others count as factual, as in the authors' table; the gold summaries were not asked about at all.

FOLDER = "xsum_faith/"
GOLD = "Gold"
Key = tuple[str, str]


def xsum_faith(raw: RawFolder, name: str, variant: str) -> Rated:
    documents = {row["bbcid"]: row["document"] for row in raw.jsonl(f"{FOLDER}xsum_docs.jsonl")}
    summaries: dict[Key, str] = {}
    spans: dict[Key, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for row in raw.csv(f"{FOLDER}hallucination_annotations_xsum_summaries.csv"):
        key = (row["bbcid"], row["system"])
        summaries[key] = row["summary"].replace("\\'", "'")
        marked = spans[key][row["worker_id"]]
        if row["hallucination_type"] != "NULL":
            marked.append(_span(row, summaries[key]))
    factual = _factual(raw)
    faithful = annotator_table([[_faithful(summaries[k], s) for s in spans[k].values()] for k in summaries])
    asked = annotator_table([factual.get(key, ()) for key in summaries])
    gold = np.array([system == GOLD for _, system in summaries])
    never_asked = np.isnan(asked).all(axis=1)
    factuality = np.where(never_asked, np.where(gold, np.nan, 1.0), mean_of_rows(asked))
    return Rated(
        tuple(_xsum_example(key, text, documents[key[0]], summaries) for key, text in summaries.items()),
        {"faithfulness": mean_of_rows(faithful), "factuality": factuality},
        {"faithfulness": faithful, "factuality": asked},
        {"faithfulness": "hallucinated_span", "factuality": "is_factual"},
        unsupported=[_by_most(summaries[key], list(spans[key].values())) for key in summaries],
    )


def _factual(raw: RawFolder) -> dict[Key, list[float]]:
    votes = defaultdict(list)
    for row in raw.csv(f"{FOLDER}factuality_annotations_xsum_summaries.csv"):
        vote = {"yes": 1.0, "no": 0.0}.get(row["is_factual"], float("nan"))
        votes[(row["bbcid"], row["system"])].append(vote)
    return votes


def _span(row: dict[str, str], summary: str) -> tuple[int, int]:
    """Offsets count characters from 1; a few are 0, where the span was published with an escaped newline."""
    start, end = int(row["hallucinated_span_start"]) - 1, int(row["hallucinated_span_end"]) - 1
    if start >= 0:
        return start, end
    text = row["hallucinated_span"].replace("\\n", "").replace("\\'", "'")
    found = max(summary.find(text), 0)
    return found, found + len(text)


def _faithful(summary: str, spans: Iterable[tuple[int, int]]) -> float:
    inside = _inside(summary, spans)
    return 1 - sum(inside.values()) / len(inside)


def _inside(summary: str, spans: Iterable[tuple[int, int]]) -> dict[tuple[int, int], bool]:
    """Each word by its place, and whether it lies wholly in a span."""
    words = [match.span() for match in re.finditer(r"\S+", summary)]
    return {(first, last): any(start <= first and last <= end for start, end in spans) for first, last in words}


def _by_most(summary: str, marked: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    by_worker = [_inside(summary, spans) for spans in marked]
    return [word for word in by_worker[0] if 2 * sum(own[word] for own in by_worker) > len(by_worker)]


def _xsum_example(key: Key, summary: str, document: str, summaries: dict[Key, str]) -> Example:
    bbcid, system = key
    gold = summaries.get((bbcid, GOLD))
    references = () if gold is None else (gold,)
    return Example(summary, document, references=references, id=f"{bbcid}/{system}", system=system, group=bbcid)
