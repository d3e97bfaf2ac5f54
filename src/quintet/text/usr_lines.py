"""USR's strings, as in its released data: lower-case words with blanks between them, `_eos` after each turn, `_go`
before the response. The metric and its training share them; `_go` and `_eos` are plain text, not special tokens."""

from __future__ import annotations

import re

from quintet.text.tokens import words

GO, EOS, NO_FACT = "_go", "_eos", "_nofact"
_CLITIC = re.compile(r"(?i)^(.+?)(n['’]t|['’](?:s|m|d|ll|re|ve))$")
_LONE = re.compile(r"(?i)(?<!\S)(?:[.,!?;:]|n['’]t|['’](?:s|m|d|ll|re|ve))(?!\S)")
"""A mark or the tail of a contraction between blanks: nobody writes so, tokenizers do."""


def spaced(text: str) -> str:
    """Lower-case tokens with single blanks, contractions cut as spaCy does: `do n't`, `it 's`.

    A text that has been through a tokenizer, as USR's released data have, keeps its tokens.
    """
    lower = " ".join(text.lower().split())
    if _LONE.search(lower):
        return lower
    out: list[str] = []
    for piece in words(lower, punctuation=True):
        match = _CLITIC.match(piece.text)
        out += match.groups() if match else [piece.text]
    return " ".join(out)


def csv_field(text: str) -> str:
    """A field of the released DR files as the model saw it: written by a CSV writer, read by one that knows no quotes.

    Fields that hold a quotation mark therefore stand in quotes, with their own marks doubled.
    """
    return '"' + text.replace('"', '""') + '"' if '"' in text else text


def fact_words(fact: str) -> str:
    """The fact, or `_nofact` where there is none, as in the released files."""
    return NO_FACT if fact.strip() == NO_FACT else spaced(fact) or NO_FACT


def response_text(response: str) -> str:
    return f"{GO} {spaced(response)} {EOS}"


def context_text(last_turn: str, fact: str) -> str:
    """DR(x=c): the last turn and the fact."""
    return f"{spaced(last_turn)} {EOS} {fact_words(fact)} {EOS}"


def fact_text(fact: str) -> str:
    return f"{fact_words(fact)} {EOS}"


def mlm_line(last_turn: str, response: str) -> str:
    """One line of the released MLM files."""
    return f"{spaced(last_turn)} {EOS} {response_text(response)}"
