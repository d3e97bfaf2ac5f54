"""Judged texts as a language model reads them: `[start] CONTEXT output [line break]`.

The context has the form in which the product asks for likelihoods, by head: `DOCUMENT\\n\\nTL;DR:` for what stands
beside a document (or alone), `- turn\\n- turn\\n-` for replies, `FACT\\n\\n-` for replies and their fact, `SLOTS\\n=>`
for descriptions. Half of the replies of which both are known stand after fact and turns, as the product has them. The
line break is where the model has read all of the output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quintet_train.evaluator.groups import TURN_MARK, Group, Judged
from quintet_train.evaluator.language_texts import data_form, dialogue_form, summary_form
from quintet_train.evaluator.packing import Framed, marks_of

LEAST_TOKENS = 64
"""A shorter limit leaves no room for the forms themselves."""
_AFTER_TURNS = frozenset({"sel", "abac", "abba"})


class Context(NamedTuple):
    text: str
    grounds: int
    """So many of its first characters are grounds, and may give way; what follows is form."""
    keeps_start: bool
    """Whether grounds that are too long lose their end; else their start."""


def context_of(head: str, grounds: str, beside: str = "") -> Context:
    """`beside`: the fact before turns, the turns behind a fact."""
    if head in _AFTER_TURNS or beside:
        turns, fact = (grounds, beside) if head in _AFTER_TURNS else (beside, grounds)
        text = dialogue_form(turns.split(TURN_MARK) if turns else (), fact)
        return Context(text, len(text) - 1, False)
    form = {"gro": lambda fact: dialogue_form((), fact), "d2t": data_form}.get(head, summary_form)
    return Context(form(grounds), len(grounds.strip()), True)


def shown_beside(group: Group) -> str:
    """What stands beside the grounds of half of the groups, by chance but the same in every run."""
    chance = hashlib.blake2b(group.texts[0].output.encode(), digest_size=1).digest()[0]
    return group.beside if chance % 2 else ""


def same_case(group: Group) -> Group:
    """If one output is all lower case, all are. Builders write single texts so, which the encoder does not see; here it
    would tell right from wrong."""
    outputs = [text.output.lower() for text in group.texts]
    # Few letters become longer, and then the wrong characters stand elsewhere.
    if any(len(one) != len(text.output) for one, text in zip(outputs, group.texts, strict=True)):
        return group
    if not any(text.output.islower() for text in group.texts):
        return group
    return group._replace(texts=[text._replace(output=one) for one, text in zip(outputs, group.texts, strict=True)])


@dataclass(frozen=True)
class LanguageFrame:
    tokenizer: Any
    first: str
    """The token before every text."""
    max_tokens: int

    def texts(self, groups: Sequence[Group]) -> Iterator[Framed]:
        """The output's tokens and the line break count as the output; the line break has no mark."""
        every = [(group, text) for group in map(same_case, groups) for text in group.texts]
        outputs = self._encoded([f" {text.output.strip()}" for _, text in every])
        asked = [context_of(group.head, text.grounds, shown_beside(group)) for group, text in every]
        contexts = self._contexts(list(dict.fromkeys(asked)))
        first, last = self.tokenizer.token_to_id(self.first), self._line_break()
        for context, (_, text), found in zip(asked, every, outputs, strict=True):
            grounds, form = contexts[context]
            size = self.max_tokens * 2 // 3 if grounds else self.max_tokens - 2 - len(form)
            output = found.ids[:size]
            room = max(0, self.max_tokens - 2 - len(form) - len(output))
            kept = grounds[:room] if context.keeps_start else grounds[max(0, len(grounds) - room) :]
            ids = [first, *kept, *form, *output, last]
            marks = marks_of(_characters(found.offsets[:size], text), text, len(ids) - 1 - len(output), len(ids))
            yield Framed(ids, marks, len(output) + 1)

    def _contexts(self, contexts: Sequence[Context]) -> Mapping[Context, tuple[list[int], list[int]]]:
        """Tokens of the grounds and of the form behind them. Both are tokenised as one text, as the product does."""
        out = {}
        for context, found in zip(contexts, self._encoded([one.text for one in contexts]), strict=True):
            size = sum(start < context.grounds for start, _ in found.offsets)
            out[context] = (found.ids[:size], found.ids[size:])
        return out

    def _line_break(self) -> int:
        """Behind a word: some tokenizers put a blank before what stands alone."""
        return int(self._encoded([" a\n"])[0].ids[-1])

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        found: list[Any] = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return found


def _characters(offsets: Sequence[tuple[int, int]], text: Judged) -> list[tuple[int, int]]:
    """Characters of the output as it was before it was stripped and got its blank. A blank that is a token of its
    own (before a number, say) begins the word behind it, as it does inside other tokens."""
    shift = len(text.output) - len(text.output.lstrip()) - 1
    moved = [(start + shift, end + shift) for start, end in offsets]
    return [(start, end if text.output[max(0, start) : end].strip() else end + 1) for start, end in moved]
