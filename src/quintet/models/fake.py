"""Models without weights, for tests: deterministic, instant, and sensible enough that equal words match.

    open_model("fake:embedder")
    open_model("fake:masked-lm", "masked-lm")

Nothing here is learnt; scores made with a fake say nothing about a text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError, UnknownName
from quintet.models.memo import Memo
from quintet.models.roles import (
    FIRST_WHOLE,
    WHOLE,
    Grades,
    Judgement,
    Limits,
    Logits,
    Long,
    Mode,
    Pair,
    Reading,
    TokenScores,
    TokenVectors,
    Value,
    WordClasses,
)
from quintet.models.subwords import shares

# The fakes of the roles that judge: rules of thumb about words, no weights.
#
# Common words are likely, a word said twice is not, words that stand in the other text are supported by it.

VERSION = "1"
_TOKEN = re.compile(r"\w+|[^\w\s]")
_COMMON = (
    "a about after all also am an and any are as at be because been but by can could did do does for from good had has"
    " have he her him his how i if in into is it its just like me more my no not now of on one only or other our out"
    " people said she so some than that the their them then there these they this time to up us was we well were what"
    " when which who will with would yes you your"
)
_CONNECTIVES = "and but so then they he she it this these that later however therefore also"
COMMON = frozenset(_COMMON.split())
CONNECTIVES = frozenset(_CONNECTIVES.split())

QUESTIONS = ("sel", "coh", "cohd", "acc", "con", "adq", "rel", "cov", "d2t", "gro", "ord", "abba", "abac")
ALONE = frozenset({"coh", "acc"})
"""Questions about the output by itself."""
OF_THE_GROUNDS = frozenset({"cov", "adq", "rel", "d2t"})
"""Questions that ask what the output says of its context; the others ask what the context says of the output."""

Spans = list[tuple[int, int]]


def tokens(text: str) -> Spans:
    """Words and single punctuation marks as (start, end)."""
    return [match.span() for match in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    return [text[start:end].lower() for start, end in tokens(text)]


def content(text: str) -> set[str]:
    return {word for word in words(text) if word not in COMMON and word[0].isalnum()}


def log_prob(word: str, before: str) -> float:
    """A likelihood by looks: common words, then words one can pronounce, then the rest; never a word twice in a row."""
    noise = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] / 512
    if word == before and word[0].isalnum():
        return -10.0 - noise
    if not word[0].isalnum():
        return -1.0 - noise
    if word in COMMON:
        return -1.5 - noise
    if word.isalpha() and len(word) <= 14 and re.search("[aeiouy]", word):
        return -4.0 - 0.1 * len(word) - noise
    return -9.0 - noise


def support(text: str, other: str) -> float:
    """The share of a text's content words that the other text has; of all its words if it has none."""
    mine = content(text) or set(words(text))
    return len(mine & set(words(other))) / len(mine) if mine else 0.0


def supported_words(text: str, spans: Spans, other: str) -> NDArray[np.float32]:
    """Of each word: surely if the other text has it, likely if it is common."""
    known = set(words(other))
    names = [text[start:end].lower() for start, end in spans]
    return np.array([0.95 if name in known else 0.8 if name in COMMON else 0.1 for name in names], np.float32)


def entailment(text: str, other: str) -> NDArray[np.float32]:
    """Entailed, neutral, contradicted: by the share of words that the other text has."""
    share = 0.05 + 0.9 * support(text, other)
    return np.array([share, 0.95 - share, 0.05], np.float32)


def backed(text: str, other: str) -> float:
    """Log-odds that a fluent text whose words the other text has is good beside it."""
    return 0.5 * fluency(text) + 4 * support(text, other) - 2


def fluency(text: str) -> float:
    """Mean log-probability of the words, moved so that plain sentences lie above 0."""
    found = words(text)
    pairs = zip(found, ["", *found[:-1]], strict=True)
    return 4.5 + sum(log_prob(word, before) for word, before in pairs) / len(found) if found else -5.0


def answer(question: str, text: str, context: str) -> float:
    """Log-odds: fluent texts whose words stand in their context are good; each question is moved a little, by its
    name."""
    moved = hashlib.blake2b(question.encode(), digest_size=1).digest()[0] / 512
    if question in ALONE or not context:
        return fluency(text) + moved
    if question in OF_THE_GROUNDS:
        return 0.5 * fluency(text) + 4 * support(context, text) - 2 + moved
    return backed(text, context) + moved


class _Fake:
    max_tokens = 512

    def __init__(self, role: str) -> None:
        self.identity = f"fake-{role}@{VERSION}"


class FakeMaskedLM(_Fake):
    def log_probs(
        self,
        texts: Sequence[str],
        mode: Mode = "each",
        *,
        last: int | None = None,
        specials: bool = False,
        long: Long = "window",
        after: Sequence[int] | None = None,
    ) -> list[TokenScores]:
        jobs = zip(texts, after or [-1] * len(texts), strict=True)
        return [self._one(text, mode, last, specials and mode == "none", long, start) for text, start in jobs]

    def _one(self, text: str, mode: Mode, last: int | None, specials: bool, long: Long, start: int) -> TokenScores:
        spans = [(0, 0), *tokens(text), (len(text), len(text))]
        names = [text[start:end].lower() for start, end in spans]
        values = [-0.1, *(log_prob(names[i], names[i - 1]) for i in range(1, len(names) - 1)), -0.1]
        if mode == "none":
            values = [value / 10 for value in values]
        kept = list(range(len(spans)))
        cut = 0
        if last is not None:
            kept = kept[-max(2, last) :]
            cut = max(0, len(spans) - len(kept) - 1)
        elif long == "cut" and len(spans) > self.max_tokens:
            kept = [*kept[: self.max_tokens - 1], kept[-1]]
            cut = len(spans) - self.max_tokens
        kept = [i for i in (kept if specials else kept[1:-1]) if spans[i][1] > start]
        return _scores(text, [spans[i] for i in kept], [values[i] for i in kept], cut)


class FakeCausalLM(_Fake):
    """A word of the context is likelier than it would be alone, and backed by it. Heads answer as the fake judge."""

    taught: tuple[str, ...] = (*QUESTIONS, "nli", "words")

    def log_probs(self, pairs: Sequence[tuple[str | tuple[str, ...], str]]) -> list[TokenScores]:
        return [self._one(context if isinstance(context, str) else "\n".join(context), text) for context, text in pairs]

    def _one(self, context: str, text: str) -> TokenScores:
        spans = tokens(text)
        before = words(context)
        room = max(0, self.max_tokens - 1 - len(spans))
        cut = max(0, len(before) - room)
        seen = before[cut:]
        names = [*seen[-1:], *words(text)]
        known = set(seen)
        values = []
        for i in range(len(names) - len(spans), len(names)):
            value = log_prob(names[i], names[i - 1] if i else "")
            values.append(min(-0.5, value + 2) if names[i] in known and value > -9 else value)
        context = " ".join(seen)
        starts, ends = _columns(spans)
        judged = Judgement(
            {name: answer(name, text, context) for name in QUESTIONS if name in self.taught},
            entailment(text, context), starts, ends, supported_words(text, spans, context),
            np.zeros(0, np.float32), (0, cut),
        )  # fmt: skip
        return TokenScores(text, starts, ends, np.array(values, np.float32), cut, judged)


class FakePairClassifier(_Fake):
    """One text: is it fluent? Two: does the second have the words of the first? More than two labels are grades."""

    def __init__(self, labels: int = 2) -> None:
        super().__init__("pair-classifier" if labels == 2 else f"pair-classifier-{labels}")
        self.labels = labels

    def logits(self, pairs: Sequence[Pair], limits: Limits = WHOLE, order: Literal["ab", "ba"] = "ab") -> list[Logits]:
        return [self._one(pair, limits) for pair in pairs]

    def _one(self, pair: Pair, limits: Limits) -> Logits:
        (first, second), cut = _cut(pair, limits, self.max_tokens)
        strength = fluency(first) if second is None else 4 * _likeness(first, second) - 1
        if self.labels == 2:
            return Logits(np.array([-strength / 2, strength / 2], np.float32), cut)
        grade = (self.labels - 1) / (1 + math.exp(-strength))
        return Logits(np.array([-((k - grade) ** 2) for k in range(self.labels)], np.float32), cut)


class FakeTokenTagger(_Fake):
    labels = 2

    def tag(self, pairs: Sequence[Pair], limits: Limits = FIRST_WHOLE) -> list[WordClasses]:
        return [self._one(pair, limits) for pair in pairs]

    def _one(self, pair: Pair, limits: Limits) -> WordClasses:
        (first, second), cut = _cut(pair, limits, self.max_tokens)
        known = set(words(second or ""))
        spans = [match.span() for match in re.finditer(r"\S+", first) if words(match.group())]
        aligned = [self._aligned(first[start:end], known) for start, end in spans]
        starts, ends = _columns(spans)
        return WordClasses(
            pair[0], starts, ends, np.array([[p, 1 - p] for p in aligned], np.float32).reshape(-1, 2), cut
        )

    @staticmethod
    def _aligned(word: str, known: set[str]) -> float:
        parts = words(word)
        if all(part in known for part in parts if part[0].isalnum()):
            return 0.95
        return 0.8 if any(part in COMMON for part in parts) else 0.1


class FakeRegressor(_Fake):
    """The share of the second text's content words that the first has (CTC-R reads context, then candidate)."""

    def values(self, pairs: Sequence[Pair], limits: Limits = WHOLE) -> list[Value]:
        found = []
        for pair in pairs:
            (first, second), cut = _cut(pair, limits, self.max_tokens)
            found.append(Value(support(second or "", first), cut))
        return found


class FakeSentenceOrder(_Fake):
    """A text that opens with a connective or a pronoun comes second."""

    def log_odds(self, pairs: Sequence[tuple[str, str]], limits: Limits = WHOLE) -> list[Value]:
        found = []
        for pair in pairs:
            (first, second), cut = _cut(pair, limits, self.max_tokens)
            opens = [bool(set(words(text or "")[:1]) & CONNECTIVES) for text in (first, second)]
            found.append(Value(0.5 + 2.0 * (opens[1] - opens[0]), cut))
        return found


class FakeYesNo(_Fake):
    """Yes if the second segment is fluent and, where there are more, they have its words."""

    def probabilities(self, prompts: Sequence[Sequence[str]], max_tokens: int | None = None) -> list[Value]:
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        return [self._one(list(prompt), limit) for prompt in prompts]

    @staticmethod
    def _one(prompt: list[str], limit: int) -> Value:
        seen, cut = [], 0
        for segment in prompt:
            spans = tokens(segment)
            kept = spans[:limit]
            limit -= len(kept)
            cut += len(spans) - len(kept)
            seen.append(segment[: kept[-1][1]] if kept else "")
        asked = seen[1] if len(seen) > 1 else seen[0]
        strength = fluency(asked)
        if len(seen) > 2:
            strength += 4 * support(asked, " ".join(seen[2:])) - 2
        return Value(1 / (1 + math.exp(-strength)), (cut, 0))


class FakeGrader(FakeYesNo):
    """The yes of FakeYesNo spread over the grades: the surer, the nearer to the top."""

    def grades(self, prompts: Sequence[Sequence[str]], low: int, high: int, samples: int = 1) -> list[Grades]:
        return [self._spread(self._one(list(prompt), self.max_tokens), high - low) for prompt in prompts]

    @staticmethod
    def _spread(yes: Value, steps: int) -> Grades:
        p = yes.value
        return Grades(tuple(math.comb(steps, k) * p**k * (1 - p) ** (steps - k) for k in range(steps + 1)), yes.cut[0])


def _likeness(first: str, second: str) -> float:
    return max(support(first, second), support(second, first))


def _cut(pair: Pair, limits: Limits, max_tokens: int) -> tuple[Pair, tuple[int, int]]:
    """Both texts as far as the limits let them through, and how many words each lost."""
    spans = [tokens(text or "") for text in pair]
    sizes = [
        len(one) if most is None else min(len(one), most)
        for one, most in zip(spans, (limits.first, limits.second), strict=True)
    ]
    room = min(limits.total or max_tokens, max_tokens) - (2 if pair[1] is None else 3)
    kept = shares(sizes[0], sizes[1], room, limits.strategy)
    texts = []
    for text, one, size, end in zip(pair, spans, kept, (limits.keep_first, limits.keep_second), strict=True):
        part = one[:size] if end == "start" else one[len(one) - size :]
        texts.append(text if text is None or size == len(one) else text[part[0][0] : part[-1][1]] if part else "")
    return (texts[0] or "", texts[1]), (len(spans[0]) - kept[0], len(spans[1]) - kept[1])


def _columns(spans: Spans) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    return starts, ends


def _scores(text: str, spans: Spans, values: list[float], cut: int) -> TokenScores:
    return TokenScores(text, *_columns(spans), np.array(values, np.float32), cut)


# The fake of the role that answers every question at once: rules of thumb about words, no weights.


class FakeJudge:
    """Fluent outputs whose words stand in their context are good; each question is moved a little, by its name."""

    identity = f"fake-judge@{VERSION}"
    max_tokens = 512
    longest_output = 190
    width = 384
    questions = QUESTIONS
    together: frozenset[str] = frozenset()

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def foresee(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> None:
        """Rules of thumb need no plan."""

    def judge(self, pairs: Sequence[tuple[str, tuple[str, ...]]], together: bool = False) -> list[Judgement]:
        return [self._one(output, tuple(context)) for output, context in pairs]

    def _one(self, output: str, context: tuple[str, ...]) -> Judgement:
        spans = tokens(output)
        kept = spans[: self.longest_output]
        seen = output[: kept[-1][1]] if kept else ""
        places = tokens("\n".join(context))
        lost = max(0, len(places) - (self.max_tokens - 2))
        beside = "\n".join(context)
        if lost:
            beside = beside[places[lost][0] :] if len(context) > 1 else beside[: places[len(places) - lost - 1][1]]
        starts, ends = np.array(kept, np.int32).reshape(-1, 2).T
        return Judgement(
            {name: answer(name, seen, beside) for name in self.questions},
            entailment(seen, beside),
            starts,
            ends,
            supported_words(output, kept, beside),
            self._pooled(seen, beside),
            (len(spans) - len(kept), lost),
        )

    def _pooled(self, output: str, context: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        raw = hashlib.shake_128(f"{output}\0{context}".encode("utf-8", "surrogatepass")).digest(2 * self.width)
        return np.frombuffer(raw, "<u2").astype(np.float32) / np.float32(32767.5) - np.float32(1)


class FakeReader:
    """A claim is supported by the share of its words that the context has; a negation that the context lacks, or the
    other way round, contradicts."""

    identity = f"fake-reader@{VERSION}"
    max_tokens = 380

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def read(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[Reading, ...]]:
        return [tuple(self._one(context, claim) for claim in claims) for context, claims in asked]

    def _one(self, context: str, claim: str) -> Reading:
        places = tokens(context)
        lost = max(0, len(places) - self.max_tokens)
        seen = context[: places[self.max_tokens - 1][1]] if lost else context
        spans = tokens(claim)[:120]
        share = 0.02 + 0.96 * support(claim, seen) ** 3
        denied = (" not " in f" {claim.lower()} ") != (" not " in f" {seen.lower()} ")
        contradicted = (0.8 if denied else 0.3) * (1 - share)
        starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
        faults = 1 - supported_words(claim, spans, seen)
        common = np.array([claim[a:b].lower() in COMMON for a, b in spans], bool)
        faults[common] = 0.05
        cut = (lost, len(tokens(claim)) - len(spans))
        return Reading(share, contradicted, 1 - share - contradicted, share, starts, ends, faults, cut)


def fake(name: str, role: str) -> Any:
    """The fake called `name`, which is a role in words, or pair-classifier-5 for one with five labels."""
    if name not in FAKES:
        raise UnknownName("fake model", name, FAKES)
    if not name.startswith(role):
        raise ModelError(f"fake:{name} is a model for the role {name}, not {role}; write fake:{role}")
    return FAKES[name]()


class FakeEncoder:
    """A token's vector is a hash of the token in lower case, with a pinch of its neighbours: more in higher layers."""

    identity = f"fake-embedder@{VERSION}"
    layers = 12
    width = 64
    max_tokens = 512
    pinch = 0.01

    def embed_layers(self, texts: Sequence[str], layers: tuple[int, ...], long: Long) -> list[dict[int, TokenVectors]]:
        return [{layer: self._embed(text, layer, long) for layer in layers} for text in texts]

    def _embed(self, text: str, layer: int, long: Long) -> TokenVectors:
        spans = tokens(text)
        cut = max(0, len(spans) - (self.max_tokens - 2)) if long == "cut" else 0
        spans = [(0, 0), *spans[: len(spans) - cut], (len(text), len(text))]
        names = ["<start>", *(text[start:end].lower() for start, end in spans[1:-1]), "<end>"]
        own = np.stack([token_vector(name, self.width) for name in names])
        around = np.zeros_like(own)
        around[1:] += own[:-1]
        around[:-1] += own[1:]
        starts, ends = np.array(spans, np.int32).T
        return TokenVectors(text, starts, ends, own + np.float32(self.pinch * layer) * around, cut)


@lru_cache(maxsize=100_000)
def token_vector(name: str, width: int) -> NDArray[np.float32]:
    raw = hashlib.shake_128(name.encode("utf-8", "surrogatepass")).digest(2 * width)
    vector = np.frombuffer(raw, "<u2").astype(np.float32) / np.float32(32767.5) - np.float32(1)
    vector.flags.writeable = False
    return vector


FAKES: dict[str, Callable[[], Any]] = {
    "embedder": lambda: Memo(FakeEncoder()),
    "judge": FakeJudge,
    "reader": FakeReader,
    "masked-lm": lambda: FakeMaskedLM("masked-lm"),
    "causal-lm": lambda: FakeCausalLM("causal-lm"),
    "seq2seq-lm": lambda: FakeCausalLM("seq2seq-lm"),
    "pair-classifier": lambda: FakePairClassifier(2),
    "pair-classifier-3": lambda: FakePairClassifier(3),
    "pair-classifier-5": lambda: FakePairClassifier(5),
    "token-tagger": lambda: FakeTokenTagger("token-tagger"),
    "regressor": lambda: FakeRegressor("regressor"),
    "sentence-order": lambda: FakeSentenceOrder("sentence-order"),
    "yes-no": lambda: FakeYesNo("yes-no"),
    "grader": lambda: FakeGrader("grader"),
}
