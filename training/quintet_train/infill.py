"""Who fills the masks: an interface, and an n-gram model without weights that learns from the corpus at hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random

from quintet_train.text.corrupt import poisson
from quintet_train.text.masks import MASK, Template

Infiller = Callable[[Template, Random], str | None]
"""Template with masks to filled text; None if nothing could be put there. It must not see the context."""

_START, _END = "<start>", "<end>"


def ngram_infiller(sentences: Sequence[Sequence[str]], copy: float = 0.15) -> Infiller:
    """Walks a bigram chain from the word before the mask, for about as many words as were taken out, and prefers an
    ending that the word after the mask has followed. Now and then (`copy`) the old words come back, as with BART."""
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for words in sentences:
        for left, right in zip([_START, *words], [*words, _END], strict=True):
            after[left.lower()][right] += 1
    # Sorted, so that equal seeds give equal text; running sums, so that a draw costs a binary search.
    table = {left: _cumulated(Counter({w: n for w, n in c.items() if w.isalnum()})) for left, c in after.items()}
    every = _cumulated(Counter(word for words in sentences for word in words if word.isalnum()))
    before: dict[str, set[str]] = defaultdict(set)
    for left, counts in after.items():
        for right in counts:
            before[right].add(left)

    def walk(left: str, right: str, length: int, rng: Random) -> list[str]:
        out: list[str] = []
        while len(out) < length:
            words, sums = table.get(left.lower(), every)
            if not words:
                words, sums = every
            joining = [word for word in words if word.lower() in before[right]] if len(out) == length - 1 else []
            left = rng.choice(joining) if joining else rng.choices(words, cum_weights=sums)[0]
            out.append(left)
        return out

    def fill(template: Template, rng: Random) -> str | None:
        if not every[0]:
            return None
        out: list[str] = []
        answers = iter(template.answers)
        for index, word in enumerate(template.words):
            if word != MASK:
                out.append(word)
                continue
            answer = next(answers)
            right = template.words[index + 1] if index + 1 < len(template.words) else _END
            length = max(1, poisson(rng, len(answer.split())))
            out += answer.split() if rng.random() < copy else walk(out[-1] if out else _START, right, length, rng)
        return " ".join(out)

    return fill


def _cumulated(counts: Counter[str]) -> tuple[list[str], list[int]]:
    words = sorted(counts)
    return words, list(accumulate(counts[word] for word in words))
