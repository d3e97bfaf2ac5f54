"""XSum hallucinations (Maynez et al. 2020): 500 articles, 4 systems and the gold summary, three workers.

Faithfulness of one worker: share of words that do not lie wholly inside a span they marked as hallucinated; of the
summary: the mean over workers. This gives the values that the authors publish per summary (`Faithful`).
Factuality: share of workers who called the summary factual. Only summaries with hallucinations were asked about; the
others count as factual, as in the authors' table; the gold summaries were not asked about at all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from quintet.core.example import Example
from quintet.data.rated import Rated, annotator_table, mean_of_rows
from quintet.data.raw_files import RawFolder

FOLDER = "xsum_faith/"
GOLD = "Gold"
Key = tuple[str, str]


def read(raw: RawFolder, name: str, variant: str) -> Rated:
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
        tuple(_example(key, text, documents[key[0]], summaries) for key, text in summaries.items()),
        {"faithfulness": mean_of_rows(faithful), "factuality": factuality},
        {"faithfulness": faithful, "factuality": asked},
        {"faithfulness": "hallucinated_span", "factuality": "is_factual"},
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
    words = [match.span() for match in re.finditer(r"\S+", summary)]
    inside = sum(any(start <= first and last <= end for start, end in spans) for first, last in words)
    return 1 - inside / len(words)


def _example(key: Key, summary: str, document: str, summaries: dict[Key, str]) -> Example:
    bbcid, system = key
    gold = summaries.get((bbcid, GOLD))
    references = () if gold is None else (gold,)
    return Example(summary, document, references=references, id=f"{bbcid}/{system}", system=system, group=bbcid)
