"""Names that columns have in other people's files, and which field each one claims.

UniEval system_output/source/reference/context, Hugging Face predictions/references, deepeval
input/actual_output/expected_output/retrieval_context, MLflow inputs/outputs/expectations, CTC
hypo/doc/refs/input_sent/fact/dialog_history/grounding, and names people give by themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

STRONG, WEAK, LAST = 3, 2, 1


@dataclass(frozen=True, slots=True)
class Claim:
    """A column wants to be `field`. Stronger claims win; equal ones are ambiguous."""

    field: str
    strength: int = STRONG


_OUTPUT = """output outputs system_output system_outputs model_output actual_output prediction predictions pred preds
hypothesis hypo hyp candidate response system_response generated_response reply output_sent
summary system_summary generated_summary model_summary decoded generated generated_text generation completion
rewrite rewritten simplification paraphrase transferred"""
_SOURCE = """source sources src document documents doc docs article articles input_sent source_text source_document
input_text original original_text mr meaning_representation triples table_text"""
_REFERENCES = """reference references ref refs reference_summary reference_response expected_output expectations
expected_response gold_summary gold_response ground_truth groundtruth human_reference highlights target_text"""
_CONTEXT = "fact facts knowledge context contexts retrieval_context grounding"
_HISTORY = "history dialogue_history dialog_history conversation_history chat_history previous_turns messages"
_FALLBACKS = {  # names that say little: taken only when nothing clearer is there
    "answer": "output",
    "claim": "output",
    "input": "source",
    "inputs": "source",
    "text": "source",
    "prompt": "source",
    "question": "source",
    "query": "source",
    "dialogue": "source",
    "dialog": "source",
    "target": "references",
    "targets": "references",
}

# Within these three a list of names is a list of preferences; a second name never makes them ambiguous.
PREFERRED = {
    "id": ("id", "example_id", "sample_id", "row_id", "uid", "item_id"),
    "system": ("system", "system_id", "system_name", "sys_name", "model", "model_id", "model_name"),
    "group": (
        "group", "doc_id", "docid", "document_id", "article_id", "source_id", "dialogue_id", "dialog_id", "context_id",
        "input_id", "segment_id", "sent_id",
    ),
}  # fmt: skip

CLAIMS: dict[str, tuple[Claim, ...]] = {
    **{name: (Claim("output"),) for name in _OUTPUT.split()},
    **{name: (Claim("source"),) for name in _SOURCE.split()},
    **{name: (Claim("references"),) for name in _REFERENCES.split()},
    **{name: (Claim("context"),) for name in _CONTEXT.split()},
    **{name: (Claim("history"),) for name in _HISTORY.split()},
    **{name: (Claim(field, LAST),) for name, field in _FALLBACKS.items()},
    # In the plural these are often raw lists beside the one output.
    **{name: (Claim("output", WEAK),) for name in ("hypotheses", "hyps", "candidates", "responses")},
    # deepeval rows carry both; what was retrieved is what the output was made from.
    "context": (Claim("context", WEAK),),
    "contexts": (Claim("context", WEAK),),
}

_SPEECH = (Claim("history", WEAK), Claim("source", WEAK))
TASK_CLAIMS: dict[str, dict[str, tuple[Claim, ...]]] = {
    # UniEval keeps the turns in `source` and the fact in `context`; USR keeps the turns in `context` beside a `fact`.
    "dialogue": {
        "source": _SPEECH,
        "src": _SPEECH,
        "context": (Claim("context", WEAK), Claim("history", LAST)),
        "contexts": (Claim("context", WEAK), Claim("history", LAST)),
        "dialogue": (Claim("history"),),
        "dialog": (Claim("history"),),
        "conversation": (Claim("history"),),
        "turns": (Claim("history"),),
        **{name: (Claim("history", LAST),) for name in ("input", "inputs", "prompt", "question", "query", "text")},
    },
    # What a claim is checked against is its source, whatever it is called.
    "fact": {
        "claim": (Claim("output"),),
        "sentence": (Claim("output", WEAK),),
        "premise": (Claim("source"),),
        "grounding": (Claim("source"),),
        "evidence": (Claim("source", LAST),),  # our own output has a column of this name too
        "knowledge": (Claim("source"),),
        "fact": (Claim("source"),),
        "facts": (Claim("source"),),
        "retrieval_context": (Claim("source", WEAK),),
        "context": (Claim("source", LAST),),
    },
    "text": {"text": (Claim("output"),), "paragraph": (Claim("output"),)},
    "data2text": {"data": (Claim("source"),), "table": (Claim("source"),), "utterance": (Claim("output"),)},
    "rewriting": {
        "sentence": (Claim("source", WEAK),),
        "complex": (Claim("source"),),
        "orig_sent": (Claim("source"),),
        "simple": (Claim("output"),),
        "simp_sent": (Claim("output"),),
    },
    "summarization": {"dialogue": (Claim("source"),), "dialog": (Claim("source"),)},
}

# With nothing else that could be the turns, what people call the context of a response is the turns.
LONE_CONTEXT = ("context", "contexts")
# With no output and no task named, the text is what is judged: `--metric gruen` on a file of texts.
LONE_TEXT = ("text",)

NUMBERED_REFERENCE = re.compile(r"(?:ref|reference|gold)_?(\d+)\Z")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAPS = re.compile(r"[\s\-_.]+")


def plain_name(column: str) -> str:
    """`System Output`, `systemOutput` and `system-output` are one name."""
    return _GAPS.sub("_", _WORD_START.sub("_", column.strip())).strip("_").lower()


def claims(column: str, task: str | None) -> tuple[Claim, ...]:
    name = plain_name(column)
    own = TASK_CLAIMS.get(task or "", {})
    return own[name] if name in own else CLAIMS.get(name, ())
