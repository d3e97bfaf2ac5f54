"""What USR's models are shown: the released strings, DialEvalMetrics' variant of them, or the texts as they stand."""

from __future__ import annotations

from typing import Literal

from quintet.core.example import Example
from quintet.metrics.role_metric import last_turns
from quintet.text.usr_lines import (
    EOS,
    GO,
    NO_FACT,
    context_text,
    csv_field,
    fact_text,
    mlm_line,
    response_text,
    spaced,
)

MLM_MODEL = "bundled:evaluator"
CONTEXT_MODEL = "bundled:evaluator#sel"
FACT_MODEL = "bundled:evaluator#gro"

Mode = Literal["quintet", "paper", "released", "dialeval"]
DIALEVAL_WORDS = 52
"""DialEvalMetrics keeps so many words of the context, the last ones."""


def has_fact(example: Example) -> bool:
    return example.text("context").strip() not in ("", NO_FACT)


def fact_of(example: Example) -> str:
    return example.text("context").strip()


def last_turn(example: Example) -> str:
    return "".join(last_turns(example))


def masked_line(example: Example, mode: Mode) -> tuple[str, int, int]:
    """The line that the language model reads, and where the words of the response start and end in it."""
    if mode == "quintet":
        before = f"{last_turn(example)}\n" if example.history else ""
        return f"{before}{example.output}", len(before), len(before) + len(example.output)
    if mode == "released":
        line = mlm_line(last_turn(example), example.output)
    elif mode == "dialeval":
        line = f"{_dialeval_context(example)} {EOS} {response_text(example.output)}"
    else:
        line = f"{_every_turn(example)}{response_text(example.output)}"
    start = len(line) - len(response_text(example.output)) + len(GO) + 1
    return line, start, len(line) - len(EOS) - 1


def context_pair(example: Example, mode: Mode, turns: int) -> tuple[str, str]:
    """DR(x=c): the history and the fact, then the response."""
    if mode == "released":
        return csv_field(context_text(last_turn(example), fact_of(example))), csv_field(response_text(example.output))
    if mode == "paper":
        return f"{_every_turn(example)}{fact_text(fact_of(example))}", response_text(example.output)
    if mode == "dialeval":
        context = _dialeval_context(example)
        return f"{context} {EOS}  {EOS} {_dialeval_fact(example)} {EOS}", response_text(example.output)
    facts = [fact_of(example)] if has_fact(example) else []
    # A line is a fact or a turn: a break inside of one is no border.
    return "\n".join(" ".join(text.splitlines()) for text in (*facts, *last_turns(example, turns))), example.output


def fact_pair(example: Example, mode: Mode) -> tuple[str, str]:
    """DR(x=f): the fact alone, then the response."""
    if mode == "released":
        return csv_field(fact_text(fact_of(example))), csv_field(response_text(example.output))
    if mode == "paper":
        return fact_text(fact_of(example)), response_text(example.output)
    if mode == "dialeval":
        return f"{_dialeval_fact(example)} {EOS}", response_text(example.output)
    return fact_of(example) if has_fact(example) else "", example.output


def _every_turn(example: Example) -> str:
    """The paper's c is the whole history; each turn ends as in the data the models were trained on."""
    return "".join(f"{spaced(turn)} {EOS} " for turn in last_turns(example, None))


def _dialeval_context(example: Example) -> str:
    return " ".join(spaced(" ".join(last_turns(example, None))).split()[-DIALEVAL_WORDS:])


def _dialeval_fact(example: Example) -> str:
    """Without a fact, the context stands in for it."""
    return spaced(fact_of(example)) if has_fact(example) else _dialeval_context(example)
