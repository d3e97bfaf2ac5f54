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

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError, UnknownName
from quintet.models.masked import joined
from quintet.models.memo import Memo
from quintet.models.roles import (
    EACH,
    WHOLE,
    YES_NO,
    Answer,
    Context,
    Limits,
    Long,
    Masking,
    Model,
    Pair,
    PairModel,
    PairScore,
    PromptModel,
    Reading,
    TokenLM,
    TokenScores,
    TokenVectors,
    one_text,
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
OF_THE_CONTEXT = frozenset({"cov", "adq", "rel", "d2t"})
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
    if question in OF_THE_CONTEXT:
        return 0.5 * fluency(text) + 4 * support(context, text) - 2 + moved
    return backed(text, context) + moved


class _Fake:
    max_tokens = 512

    def __init__(self, role: str) -> None:
        self.identity = f"fake-{role}@{VERSION}"


class FakeMaskedLM(_Fake, TokenLM):
    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        return [self._one(*joined(*pair), masking) for pair in pairs]

    def _one(self, text: str, start: int, masking: Masking) -> TokenScores:
        spans = [(0, 0), *tokens(text), (len(text), len(text))]
        names = [text[start:end].lower() for start, end in spans]
        values = [-0.1, *(log_prob(names[i], names[i - 1]) for i in range(1, len(names) - 1)), -0.1]
        if masking.mode == "none":
            values = [value / 10 for value in values]
        kept = list(range(len(spans)))
        cut = 0
        if masking.last is not None:
            kept = kept[-max(2, masking.last) :]
            cut = max(0, len(spans) - len(kept) - 1)
        elif masking.long == "cut" and len(spans) > self.max_tokens:
            kept = [*kept[: self.max_tokens - 1], kept[-1]]
            cut = len(spans) - self.max_tokens
        specials = masking.specials and masking.mode == "none"
        kept = [i for i in (kept if specials else kept[1:-1]) if spans[i][1] > start]
        return _scores(text, [spans[i] for i in kept], [values[i] for i in kept], cut)


class FakeCausalLM(_Fake, TokenLM):
    """A word of the context is likelier than it would be alone, and backed by it. Heads answer as the fake judge."""

    taught: tuple[str, ...] = (*QUESTIONS, "nli", "words")

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        return [self._one(one_text(context) or "", text) for context, text in pairs]

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
        judged = PairScore(
            {name: answer(name, text, context) for name in QUESTIONS if name in self.taught},
            (0, cut), starts, ends, supported_words(text, spans, context), entailment(text, context),
        )  # fmt: skip
        return TokenScores(text, starts, ends, np.array(values, np.float32), cut, judged)


Numbers = Sequence[float] | NDArray[np.float32]
Rule = Callable[[str, str | None], Numbers]


class FakePairs(_Fake, PairModel):
    """Both texts as far as the limits let them through, and a rule about their words."""

    def __init__(self, role: str, labels: tuple[str, ...], rule: Rule) -> None:
        super().__init__(role)
        self.labels, self._rule = labels, rule

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        return [self._one((first, one_text(second)), limits) for first, second in pairs]

    def _one(self, pair: tuple[str, str | None], limits: Limits) -> PairScore:
        (first, second), cut = _cut(pair, limits, self.max_tokens)
        return PairScore(dict(zip(self.labels, map(float, self._rule(first, second)), strict=True)), cut)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]


def classifier(labels: int = 2) -> FakePairs:
    """One text: is it fluent? Two: does the second have the words of the first? More than two labels are grades."""

    def logits(first: str, second: str | None) -> Numbers:
        strength = fluency(first) if second is None else 4 * _likeness(first, second) - 1
        if labels == 2:
            return np.array([-strength / 2, strength / 2], np.float32)
        grade = (labels - 1) / (1 + math.exp(-strength))
        return np.array([-((k - grade) ** 2) for k in range(labels)], np.float32)

    named = ("no", "yes") if labels == 2 else tuple(str(number) for number in range(1, labels + 1))
    return FakePairs("pair-classifier" if labels == 2 else f"pair-classifier-{labels}", named, logits)


def contained(first: str, second: str | None) -> Sequence[float]:
    """The share of the second text's content words that the first has (CTC-R reads context, then candidate)."""
    return (support(second or "", first),)


def in_order(first: str, second: str | None) -> Sequence[float]:
    """A text that opens with a connective or a pronoun comes second."""
    opens = [bool(set(words(text or "")[:1]) & CONNECTIVES) for text in (first, second)]
    return (0.5 + 2.0 * (opens[1] - opens[0]),)


class FakeTokenTagger(FakePairs):
    def __init__(self) -> None:
        super().__init__("token-tagger", (), lambda first, second: ())

    def _one(self, pair: tuple[str, str | None], limits: Limits) -> PairScore:
        (first, second), cut = _cut(pair, limits, self.max_tokens)
        known = set(words(second or ""))
        spans = [match.span() for match in re.finditer(r"\S+", first) if words(match.group())]
        aligned = [self._aligned(first[start:end], known) for start, end in spans]
        return PairScore({}, cut, *_columns(spans), np.array(aligned, np.float32))

    @staticmethod
    def _aligned(word: str, known: set[str]) -> float:
        parts = words(word)
        if all(part in known for part in parts if part[0].isalnum()):
            return 0.95
        return 0.8 if any(part in COMMON for part in parts) else 0.1


class FakePrompts(_Fake, PromptModel):
    """Yes if the second segment is fluent and, where there are more, they have its words. The yes is spread over
    grades: the surer, the nearer to the top."""

    def answers(
        self,
        prompts: Sequence[Sequence[str]],
        options: tuple[str, ...] = YES_NO,
        *,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> list[Answer]:
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        found = [self._one(list(prompt), limit) for prompt in prompts]
        return found if options == YES_NO else [self._spread(one, len(options) - 1) for one in found]

    @staticmethod
    def _one(prompt: list[str], limit: int) -> Answer:
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
        return Answer.yes(1 / (1 + math.exp(-strength)), cut)

    @staticmethod
    def _spread(yes: Answer, steps: int) -> Answer:
        p = yes.value
        return Answer(tuple(math.comb(steps, k) * p**k * (1 - p) ** (steps - k) for k in range(steps + 1)), yes.cut)


def _likeness(first: str, second: str) -> float:
    return max(support(first, second), support(second, first))


def _cut(
    pair: tuple[str, str | None], limits: Limits, max_tokens: int
) -> tuple[tuple[str, str | None], tuple[int, int]]:
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


class FakeJudge(PairModel):
    """Fluent outputs whose words stand in their context are good; each question is moved a little, by its name."""

    identity = f"fake-judge@{VERSION}"
    max_tokens = 512
    longest_output = 190
    width = 384
    labels = QUESTIONS

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens(text)) for text in texts]

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        return [self._one(output, (one,) if isinstance(one, str) else one or ()) for output, one in pairs]

    def _one(self, output: str, context: tuple[str, ...]) -> PairScore:
        spans = tokens(output)
        kept = spans[: self.longest_output]
        seen = output[: kept[-1][1]] if kept else ""
        places = tokens("\n".join(context))
        lost = max(0, len(places) - (self.max_tokens - 2))
        beside = "\n".join(context)
        if lost:
            beside = beside[places[lost][0] :] if len(context) > 1 else beside[: places[len(places) - lost - 1][1]]
        starts, ends = np.array(kept, np.int32).reshape(-1, 2).T
        return PairScore(
            {name: answer(name, seen, beside) for name in self.labels},
            (len(spans) - len(kept), lost),
            starts,
            ends,
            supported_words(output, kept, beside),
            entailment(seen, beside),
            self._pooled(seen, beside),
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


def fake(name: str, role: str) -> Model:
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


FAKES: dict[str, Callable[[], Model]] = {
    "embedder": lambda: Memo(FakeEncoder()),
    "judge": FakeJudge,
    "reader": FakeReader,
    "masked-lm": lambda: FakeMaskedLM("masked-lm"),
    "causal-lm": lambda: FakeCausalLM("causal-lm"),
    "seq2seq-lm": lambda: FakeCausalLM("seq2seq-lm"),
    "pair-classifier": classifier,
    "pair-classifier-3": lambda: classifier(3),
    "pair-classifier-5": lambda: classifier(5),
    "token-tagger": FakeTokenTagger,
    "regressor": lambda: FakePairs("regressor", ("value",), contained),
    "sentence-order": lambda: FakePairs("sentence-order", ("order",), in_order),
    "yes-no": lambda: FakePrompts("yes-no"),
    "grader": lambda: FakePrompts("grader"),
}
