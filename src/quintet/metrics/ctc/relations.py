"""CTC's tables: which model serves which pair of texts, how facts are written, and bert_score's baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from quintet.metrics.ctc.alignment import Aggregate

Relation = Literal["doc_to_summ", "summ_to_ref", "sent_to_sent", "fact_to_response", "fact_history_to_response"]
"""The released names, "context to text": doc_to_summ is align(summary -> document). In summ_to_ref the scored text is
the reference and the context is the summary."""

TRAINED_ON: Mapping[Relation, Aggregate] = {
    "doc_to_summ": "mean",
    "summ_to_ref": "mean",
    "sent_to_sent": "mean",
    "fact_to_response": "sum",
    "fact_history_to_response": "sum",
}
"""What aligner R was trained to predict."""

DEFAULT_MODELS = {"E": "bundled:gte-small", "D": "bundled:evaluator", "R": "bundled:evaluator#{relation}"}
"""`{relation}` in the name of a model is replaced by the relation, where there is one model (or head) for each. For R
the bundled evaluator lends the head that comes nearest: a probability, never a sum."""

FactForm = Literal["plain", "lines", "persona", "prefix", "trained"]
"""How a fact is written before it is aligned with.

trained: plain for E, lines for D and R, prefix in mode paper. plain: as it stands (the package). lines: each line after
`fact: `, none at all as `nofact` (Topical-Chat training data). persona: each line after `your persona: `. prefix: one
`fact: ` before everything but a persona (the paper's test script).
"""

LINE_PREFIX: Mapping[FactForm, str] = {"lines": "fact: ", "persona": "your persona: "}
WHOLE_PREFIX: Mapping[FactForm, str] = {"prefix": "fact: "}
EMPTY_FACT: Mapping[FactForm, str] = {"lines": "nofact"}

NO_FACT = frozenset({"_nofact", "nofact"})
"""What stands in Topical-Chat data where there is no fact (48 of its 360 rated responses)."""
BETWEEN = "\n\n\n"
"""Between fact and history."""

BERT_SCORE_BASELINES: Mapping[tuple[str, int], float] = {
    ("roberta-large", 17): 0.83122575,
    ("bert-base-uncased", 9): 0.35219112,
    ("roberta-large-mnli", 9): 0.76359564,
}
"""F of unrelated English sentences, by model and layer; the package subtracts it on request."""
