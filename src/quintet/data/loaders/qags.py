"""QAGS (Wang et al. 2020): is each sentence of the summary consistent with the article? Three workers, yes or no.

The rating is the share of sentences that a majority called consistent; an annotator's is the share they said yes to.
Variants: `original` text; `unieval` and `ctc`, the texts that these two scored. The ratings are the same. UniEval's
file gives the document as the reference, too; CTC's has the sentences of most CNN/DailyMail summaries in another
order.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from quintet.core.example import Example
from quintet.data.rated import Rated, annotator_table
from quintet.data.raw_files import RawFolder

FILES = {"qags_cnn": ("cnndm", "Bottom-Up"), "qags_xsum": ("xsum", "BART")}


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    part, system = FILES[name]
    rows = raw.jsonl(f"qags/mturk_{part}.jsonl")
    texts = [(" ".join(s["sentence"] for s in row["summary_sentences"]), row["article"]) for row in rows]
    if variant == "unieval":
        other = raw.json(f"qags/qags_{part}_unieval_with_predictions.json")
        texts = [(row["system_output"], row["source"]) for row in other]
    if variant == "ctc":
        other = raw.json(f"qags/qags_{part}_ctc.json")
        texts = [(row["summary"], row["document"]) for row in other]
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


def _majority_share(sentences: list[dict[str, Any]]) -> float:
    yes = [[r["response"] == "yes" for r in sentence["responses"]] for sentence in sentences]
    return sum(2 * sum(votes) > len(votes) for votes in yes) / len(yes)


def _share_per_worker(sentences: list[dict[str, Any]]) -> list[float]:
    votes = defaultdict(list)
    for sentence in sentences:
        for response in sentence["responses"]:
            votes[response["worker_id"]].append(response["response"] == "yes")
    return [sum(said) / len(said) for said in votes.values()]
