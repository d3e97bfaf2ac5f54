"""Corpora of answers and claims that were checked against a text: pairs for entailment, mostly with long premises.

An answer is judged together with its question, as `Question? Answer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from quintet.text.detokenise import detokenise
from quintet_train.evaluator.tables import Document, Entailment, Record, Similarity

Row = Mapping[str, Any]
_YES = ("yes", "true", "1")
_SENTENCE_MARK = re.compile(r"\bSent \d+: ")
_ANSWERED = re.compile(r"(?:Paragraph-|Context:)\s*(.*?)\s*Question:\s*(.*?)\s*(?:Correct )?Answer:\s*(.*)", re.DOTALL)
_CLAIMED = re.compile(r"Paragraph:\s*(.*?)\s*Claim:\s*(.*)", re.DOTALL)
_TWO_FACTS = re.compile(r"Fact 1:\s*(.*?)\s*Fact 2:\s*(.*)", re.DOTALL)
_CHECKED = {"0": "contradiction", "1": "not_entailment", "2": "entailment"}


def _plain(text: str) -> str:
    return " ".join(detokenise(text).split()).strip("\"' ")


def _asked(question: str, answer: str) -> str:
    return f"{_plain(question).rstrip('?').strip()}? {_plain(answer)}"


def _yes_or_no(row: Row, name: str) -> Iterator[Record]:
    """BoolQ: the right answer follows, the other one is contradicted. A title stands before the passage."""
    passage = _plain(row["passage"])
    asked = [(row["question"], row["answer"]), *row.get("perturbed", ())]
    for question, answer in asked:
        right = str(answer).lower() in _YES
        for said, true in (("yes", right), ("no", not right)):
            label = "entailment" if true else "contradiction"
            yield Entailment(name, passage, _asked(question, said), label)


def _answer(row: Row, name: str) -> Iterator[Record]:
    """MultiRC (`text`, `correct`): a paragraph with numbered sentences, a question, an answer."""
    found = _ANSWERED.match(row["text"])
    if found:
        passage, question, answer = found.groups()
        label = "entailment" if row["correct"] else "not_entailment"
        yield Entailment(name, _plain(_SENTENCE_MARK.sub("", passage)), _asked(question, answer), label)


def _checked_claim(row: Row, name: str) -> Iterator[Record]:
    """Natural Instructions: health claims (task1366) and answers about tweets (task241); no other task."""
    task = row["t"].partition("_")[0]
    if task == "task1366" and (found := _CLAIMED.match(row["i"])):
        passage, claim = found.groups()
        yield Entailment("healthfact", _plain(passage), _plain(claim), _CHECKED[row["o"][0]])
    elif task == "task241" and (found := _ANSWERED.match(row["i"])):
        passage, question, answer = found.groups()
        label = "entailment" if row["o"][0].lower() in _YES else "not_entailment"
        yield Entailment("tweetqa", _plain(passage), _asked(question, answer), label)


def _explained(row: Row, name: str) -> Iterator[Record]:
    """CREAK: a claim and the reason why it is true or false."""
    label = "entailment" if row["label"] == "true" else "not_entailment"
    yield Entailment(name, _plain(row["premise"]), _plain(row["hypothesis"]), label)


def _combined(row: Row, name: str) -> Iterator[Record]:
    """Natural Instructions: two facts and what follows from both (task038)."""
    if row["t"].partition("_")[0] == "task038" and (found := _TWO_FACTS.match(row["i"])):
        yield Document("qasc", tuple(map(_plain, found.groups())), (_plain(row["o"][0]),))


def _rewritten(row: Row, name: str) -> Iterator[Record]:
    """The same, and simpler sentences (task111), whose licence was not seen."""
    yield from _combined(row, name)
    if row["t"].partition("_")[0] == "task111":
        for simple in row["o"][:4]:
            yield Similarity("asset", _plain(simple), _plain(row["i"]), 0.9)


VERIFIED_READERS: Mapping[str, Callable[[Row, str], Iterable[Record]]] = {
    "yes-no-questions": _yes_or_no,
    "checked-answers": _answer,
    "checked-claims": _checked_claim,
    "explained-claims": _explained,
    "combined-facts": _combined,
    "rewritten": _rewritten,
}
