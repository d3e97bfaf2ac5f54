"""Other roles from a judge's heads: what the papers' single models do, done by one shared pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.judge_questions import JudgeYesNo
from quintet.models.onnx_judge import Asked, OnnxJudge
from quintet.models.onnx_masked import JudgeMaskedLM
from quintet.models.pairs import shares
from quintet.models.roles import FIRST_WHOLE, WHOLE, Judgement, Limits, Logits, Pair, Value, WordClasses
from quintet.models.subwords import Pieces
from quintet.models.words import words_of

ENTAILMENT = "nli"
WORDS = "words"
ORDER = "ord"
_EMPTY = Pieces(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


def adapt(judge: OnnxJudge, role: str, head: str, identity: str, spec: str) -> Any:
    """The judge in another role; `head` chooses among its questions where the role asks only one."""
    if role not in _ROLES:
        raise ModelError(f"{spec} cannot fill the role {role}; it fills {', '.join(['judge', *_ROLES])}")
    return _ROLES[role](judge, head, identity, spec)


def _question(judge: OnnxJudge, head: str, spec: str) -> str:
    """The head that is meant; in words which there are, if it is none of them."""
    named = judge.aliases.get(head, head)
    if named in judge.questions:
        return named
    there = ", ".join([*judge.questions, ENTAILMENT])
    if not head:
        raise ModelError(f"{spec} answers several questions; name one as {spec}#HEAD (its heads: {there})")
    raise ModelError(f"{spec} has no head {head!r} (its heads: {there})")


def _no_head(head: str, allowed: str, spec: str, role: str) -> None:
    if head not in ("", allowed):
        raise ModelError(f"{spec} has one way to be a {role}; write {spec} instead of {spec}#{head}")


class PairsThroughJudge:
    """Pairs of texts, cut as `Limits` say, through the judge; `output_at` says which of the two is judged."""

    output_at = 1
    by_line = False
    """Whether the lines of the grounds are turns of a dialogue, with the judge's separator between them."""
    together = False
    """Whether the two texts are read as one."""

    def __init__(self, judge: OnnxJudge, identity: str) -> None:
        self._judge = judge
        self.identity, self.max_tokens = identity, judge.max_tokens

    def _judged(self, pairs: Sequence[Pair], limits: Limits) -> list[tuple[Judgement, tuple[int, int], Pieces]]:
        """For each pair what the judge says, what was cut of either text, and the sub-words of the output seen."""
        rows = [self._row(pair, limits) for pair in pairs]
        found = self._judge.judge_asked([asked for asked, _ in rows])
        return [(one, cut, asked.output) for one, (asked, cut) in zip(found, rows, strict=True)]

    def _logits(
        self, pairs: Sequence[Pair], limits: Limits, order: str, read: Callable[[Judgement], NDArray[np.float32]]
    ) -> list[Logits]:
        if order == "ab":
            return [Logits(read(one), cut) for one, cut, _ in self._judged(pairs, limits)]
        turned: list[Pair] = [pair if pair[1] is None else (pair[1], pair[0]) for pair in pairs]
        found = self._logits(turned, limits, "ab", read)
        return [
            one if pair[1] is None else Logits(one.values, (one.cut[1], one.cut[0]))
            for one, pair in zip(found, pairs, strict=True)
        ]

    def _row(self, pair: Pair, limits: Limits) -> tuple[Asked, tuple[int, int]]:
        own = 0 if pair[1] is None else self.output_at
        whole = [_EMPTY if text is None else self._judge.split(text) for text in pair]
        whole[own] = self._judge.split_output(str(pair[own]))
        if self.by_line and pair[1 - own] is not None:
            whole[1 - own] = self._turns(str(pair[1 - own]))
        longest = [limits.first, limits.second]
        longest[own] = min(longest[own] or self._judge.longest_output, self._judge.longest_output)
        keep = (limits.keep_first, limits.keep_second)
        kept = [_part(pieces, size, end) for pieces, size, end in zip(whole, longest, keep, strict=True)]
        sizes = [len(kept[0]), len(kept[1])]
        if limits.total is not None:
            # A joint limit is a rule of the metric, whatever the judge itself can read.
            sizes = list(shares(sizes[0], sizes[1], limits.total - 3, limits.strategy))
        sizes[1 - own] = min(sizes[1 - own], self._judge.longest_grounds(sizes[own], self.together))
        kept = [_part(pieces, size, end) for pieces, size, end in zip(kept, sizes, keep, strict=True)]
        asked = Asked(kept[own], kept[1 - own].ids, together=self.together)
        return asked, (len(whole[0]) - len(kept[0]), len(whole[1]) - len(kept[1]))

    def _turns(self, text: str) -> Pieces:
        parts = [self._judge.split(line) for line in text.split("\n") if line.strip()]
        if len(parts) < 2:
            return self._judge.split(text)
        between = np.array([self._judge.separator], np.int64)
        ids = np.concatenate([one for part in parts for one in (between, part.ids)][1:])
        # Where grounds stand in their text is never asked for.
        nowhere = np.zeros(len(ids), np.int32)
        return Pieces(ids, nowhere, nowhere)


class JudgeClassifier(PairsThroughJudge):
    """The second text is judged beside the first (response beside context, hypothesis beside premise), or one alone.

    A question has two labels, no and yes: the logits [0, x], so that the second has probability sigmoid(x). The head
    `nli` has three: entailed, neutral, contradicted. Lines of the first text are turns, except for `nli`.
    """

    def __init__(self, judge: OnnxJudge, head: str, identity: str, spec: str) -> None:
        super().__init__(judge, identity)
        self._head = head if head == ENTAILMENT else _question(judge, head, spec)
        self.by_line = head != ENTAILMENT
        self.together = self._head in judge.together
        self.labels = 3 if head == ENTAILMENT else 2

    def logits(self, pairs: Sequence[Pair], limits: Limits = WHOLE, order: Literal["ab", "ba"] = "ab") -> list[Logits]:
        return self._logits(pairs, limits, order, self._values)

    def _values(self, one: Judgement) -> NDArray[np.float32]:
        if self._head == ENTAILMENT:
            return np.log(np.maximum(one.entailment, np.float32(1e-12)))
        return np.array([0.0, one.heads[self._head]], np.float32)


class JudgeRegressor(PairsThroughJudge):
    """P(yes) of one head for the second text beside the first, as CTC-R reads context and candidate."""

    def __init__(self, judge: OnnxJudge, head: str, identity: str, spec: str) -> None:
        super().__init__(judge, identity)
        self._head = _question(judge, head, spec)
        self.together = self._head in judge.together

    def values(self, pairs: Sequence[Pair], limits: Limits = WHOLE) -> list[Value]:
        return [Value(_probability(one.heads[self._head]), cut) for one, cut, _ in self._judged(pairs, limits)]


class JudgeOrder(PairsThroughJudge):
    """Log-odds that the second text follows the first."""

    output_at = 0

    def __init__(self, judge: OnnxJudge, head: str, identity: str, spec: str) -> None:
        super().__init__(judge, identity)
        self._head = _question(judge, head or ORDER, spec)
        self.together = self._head in judge.together

    def log_odds(self, pairs: Sequence[tuple[str, str]], limits: Limits = WHOLE) -> list[Value]:
        return [Value(one.heads[self._head], cut) for one, cut, _ in self._judged(pairs, limits)]


class JudgeTagger(PairsThroughJudge):
    """Supported or not, for each word of the first text beside the second; a word is the mean of its sub-words."""

    output_at = 0
    labels = 2

    def __init__(self, judge: OnnxJudge, head: str, identity: str, spec: str) -> None:
        super().__init__(judge, identity)
        _no_head(head, WORDS, spec, "token-tagger")

    def tag(self, pairs: Sequence[Pair], limits: Limits = FIRST_WHOLE) -> list[WordClasses]:
        found = self._judged(pairs, limits)
        return [self._words(pair[0], *one, limits) for pair, one in zip(pairs, found, strict=True)]

    @staticmethod
    def _words(text: str, one: Judgement, cut: tuple[int, int], seen: Pieces, limits: Limits) -> WordClasses:
        spans, owner = words_of(text, seen, cut[0] > 0 and limits.keep_first == "start")
        inside = owner >= 0
        sums = np.bincount(owner[inside], one.words[inside], len(spans))
        supported = (sums / np.maximum(np.bincount(owner[inside], minlength=len(spans)), 1)).astype(np.float32)
        starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
        return WordClasses(text, starts, ends, np.stack([supported, 1 - supported], axis=1), cut)


def _part(pieces: Pieces, size: int | None, end: str) -> Pieces:
    if size is None or len(pieces) <= size:
        return pieces
    return pieces[:size] if end == "start" else pieces[len(pieces) - size :]


def _probability(logit: float) -> float:
    return float(0.5 * (1.0 + np.tanh(0.5 * logit)))


def _masked(judge: OnnxJudge, head: str, identity: str, spec: str) -> Any:
    _no_head(head, "mlm", spec, "masked-lm")
    return JudgeMaskedLM(judge, identity)


def _yes_no(judge: OnnxJudge, head: str, identity: str, spec: str) -> Any:
    return JudgeYesNo(judge, identity, spec, _question(judge, head, spec) if head else "")


_ROLES: dict[str, Callable[[OnnxJudge, str, str, str], Any]] = {
    "pair-classifier": JudgeClassifier,
    "regressor": JudgeRegressor,
    "sentence-order": JudgeOrder,
    "token-tagger": JudgeTagger,
    "masked-lm": _masked,
    "yes-no": _yes_no,
}
