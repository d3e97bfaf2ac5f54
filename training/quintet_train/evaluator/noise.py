"""Mistakes as neural generators make them: repetition, lost and wrong words, broken-off and run-on sentences.

Every function takes words (detokenised, split at blanks), a random generator and texts to borrow from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

Words = list[str]
Mistake = Callable[[Words, Random, Sequence[str]], Words]

FUNCTION_WORDS = frozenset({
    "a", "an", "the", "of", "in", "on", "at", "to", "for", "with", "by", "from", "is", "are", "was", "were", "be",
    "been", "has", "have", "had", "that", "which", "who", "and", "or", "but", "it", "he", "she", "they", "as", "will",
    "would", "do", "does", "did", "i", "you", "we", "my", "your", "not",
})  # fmt: skip
DISAGREEING = {
    "is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has", "do": "does", "does": "do",
    "this": "these", "these": "this", "that": "those", "i": "me", "he": "him", "they": "them", "we": "us", "his": "he",
    "their": "they", "my": "me", "a": "an", "an": "a", "don't": "doesn't", "doesn't": "don't", "am": "is",
}  # fmt: skip
PREPOSITIONS = ("of", "in", "on", "at", "to", "for", "with", "by", "from", "about", "into", "as")
HANGING = (
    FUNCTION_WORDS | set(PREPOSITIONS) | {"", "his", "her", "their", "its", "our", "this", "these", "more", "most"}
)
"""Words that no sentence ends with."""
STRAY_ENDS = (". .", ". . .", ", ,", ". ,", "? .", ".. ", "and.", "the.", "of.")
_END_MARKS = ".,!?"
FALLBACK = ("and", "the")
"""Where an earlier mistake left a sentence without words."""


def repeat_span(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    length = rng.choice([1, 1, 2, 2, 3, 4])
    start = rng.randrange(max(1, len(words) - length + 1))
    times = 1 if rng.random() < 0.8 else 2
    return words[: start + length] + words[start : start + length] * times + words[start + length :]


def repeat_later(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    length = rng.choice([2, 3, 4, 5])
    start = rng.randrange(max(1, len(words) - length))
    place = rng.randrange(start, len(words) + 1)
    return words[:place] + words[start : start + length] + words[place:]


def drop_function_words(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    places = [index for index, word in enumerate(words) if word.lower() in FUNCTION_WORDS]
    if not places:
        return drop_words(words, rng, pool)
    gone = set(rng.sample(places, min(len(places), rng.choice([1, 1, 2, 3]))))
    return [word for index, word in enumerate(words) if index not in gone]


def drop_words(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    if len(words) < 3:
        return words
    length = rng.choice([1, 1, 2, 3])
    start = rng.randrange(0, max(1, len(words) - length))
    return words[:start] + words[start + length :]


def break_off(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    if len(words) < 4:
        return words
    words = words[: rng.randrange(max(2, len(words) // 3), len(words))]
    words[-1] = words[-1].rstrip(_END_MARKS)
    if words[-1].lower() in FUNCTION_WORDS and rng.random() < 0.6:
        words[-1] += "."
    return words


def foreign_fragment(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    other = rng.choice(pool).split()
    length = rng.randrange(1, 5)
    start = rng.randrange(max(1, len(other) - length + 1))
    fragment = other[start : start + length]
    return words + fragment if rng.random() < 0.6 else fragment + words


def stray_end(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    return [*words, rng.choice(STRAY_ENDS)]


def swap_spans(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    if len(words) < 4:
        return words[::-1]
    n = rng.choice([1, 1, 2, 3])
    start = rng.randrange(0, max(1, len(words) - 2 * n + 1))
    middle, end = start + n, start + 2 * n
    return words[:start] + words[middle:end] + words[start:middle] + words[end:]


def shuffle_span(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    length = min(len(words), rng.choice([3, 4, 5, 6]))
    start = rng.randrange(max(1, len(words) - length + 1))
    span = words[start : start + length]
    rng.shuffle(span)
    return words[:start] + span + words[start + length :]


def disagree(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    """A wrong form of a small word, or a wrong ending."""
    places = [index for index, word in enumerate(words) if word.lower() in DISAGREEING]
    if places and rng.random() < 0.7:
        place = rng.choice(places)
        return [*words[:place], DISAGREEING[words[place].lower()], *words[place + 1 :]]
    places = [index for index, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not places:
        return swap_spans(words, rng, pool)
    place = rng.choice(places)
    word = words[place]
    ending = next((end for end in ("s", "ed", "ing") if word.endswith(end)), "")
    word = word[: -len(ending)] if ending else word + rng.choice(["s", "ing", "ed"])
    return [*words[:place], word, *words[place + 1 :]]


def wrong_preposition(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    places = [index for index, word in enumerate(words) if word.lower() in PREPOSITIONS]
    if not places:
        return insert_word(words, rng, pool)
    place = rng.choice(places)
    other = rng.choice([name for name in PREPOSITIONS if name != words[place].lower()])
    return [*words[:place], other, *words[place + 1 :]]


def insert_word(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    other = rng.choice(pool).split()
    place = rng.randrange(len(words) + 1)
    return [*words[:place], rng.choice(other).strip(_END_MARKS), *words[place:]]


def replace_words(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    other = rng.choice(pool).split()
    for _ in range(rng.choice([1, 1, 2])):
        place = rng.randrange(len(words))
        words = [*words[:place], rng.choice(other).strip(_END_MARKS), *words[place + 1 :]]
    return words


def copy_own_word(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    if len(words) < 4:
        return words + words
    place, taken = rng.randrange(len(words)), rng.randrange(len(words))
    return [*words[:place], words[taken].strip(_END_MARKS), *words[place + 1 :]]


def run_into_other(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    other = rng.choice(pool).split()
    return words[: max(2, rng.randrange(1, len(words) + 1))] + other[rng.randrange(len(other)) :]


def begin_late(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    return words[rng.randrange(1, max(2, len(words) // 2)) :] if len(words) > 4 else words


def loop(words: Words, rng: Random, pool: Sequence[str]) -> Words:
    """A phrase that comes back two or three times, as from decoders that fall into a loop."""
    length = rng.choice([2, 3, 4, 5, 6])
    start = rng.randrange(max(1, len(words) - length + 1))
    phrase = words[start : start + length]
    out = words[: start + length] + rng.choice([["and"], [","], []]) + phrase
    if rng.random() < 0.4:
        out += rng.choice([["and"], [","], []]) + phrase
    return out + words[start + length :] if rng.random() < 0.6 else out


MISTAKES: tuple[Mistake, ...] = (
    repeat_span, repeat_later, drop_function_words, drop_words, break_off, foreign_fragment, stray_end, swap_spans,
    shuffle_span, disagree, disagree, wrong_preposition, insert_word, replace_words, copy_own_word, run_into_other,
    begin_late, loop, break_off, drop_function_words,
)  # fmt: skip
"""Drawn from evenly; what stands here twice is twice as frequent."""


def corrupt(text: str, rng: Random, pool: Sequence[str], count: int = 0) -> str:
    """`count` mistakes (drawn if 0); never the text itself, but for case."""
    words = text.split()
    if not words:
        return text
    for _ in range(count or rng.choice([1, 1, 1, 2, 2, 3])):
        words = rng.choice(MISTAKES)(list(words), rng, pool) or words
    out = " ".join(words)
    return out if out.lower() != text.lower() else " ".join(reversed(text.split()))


def corrupt_sentences(sentences: Sequence[str], rng: Random, pool: Sequence[str], count: int) -> str:
    """`count` mistakes inside sentences or between them."""
    out = list(sentences)
    for _ in range(count):
        draw = rng.random()
        place = rng.randrange(len(out))
        if len(out) > 1 and draw < 0.12:
            out.insert(rng.randrange(len(out) + 1), out[place])
        elif len(out) > 1 and draw < 0.22:
            _run_together(out, rng)
        elif draw < 0.3:
            words = out[-1].split()
            least = len(words) // 3
            kept = max(1, rng.randrange(least, max(least + 1, len(words))))
            out[-1] = " ".join(words[:kept]).rstrip(_END_MARKS) + rng.choice(["", "", "."])
        else:
            words = out[place].split() or list(FALLBACK)
            out[place] = " ".join(rng.choice(MISTAKES)(list(words), rng, pool) or words)
    return " ".join(out)


def _run_together(sentences: list[str], rng: Random) -> None:
    """Two neighbours become one: the start of the first, the rest of the second."""
    place = rng.randrange(len(sentences) - 1)
    first, second = sentences[place].split(), sentences[place + 1].split()
    least = max(1, len(first) // 2)
    kept = rng.randrange(least, max(least, len(first)) + 1)
    skipped = rng.randrange(0, max(1, len(second) // 2))
    joined = " ".join(first[:kept]).rstrip(_END_MARKS) + " " + " ".join(second[skipped:])
    sentences[place : place + 2] = [joined]
