"""Phrases taken out of a sentence, other words put in, and which words are now unsupported: CTC's training labels.

CTC paper §3.2 and Appendix A; probabilities, retries and rejections as in the released construction script.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from quintet.errors import InputError
from quintet.text.content_words import ENGLISH
from quintet_train.text import chunks

MASK = "<mask>"
_TRIES = 5
_CLOSING = re.compile(r"[.,;:!?%)\]}”’'…]+")
_OPENING = re.compile(r"[(\[{“‘$£#]+")


@dataclass(frozen=True)
class Template:
    """Words with `<mask>` in place of phrases, and the phrases that stood there, in order."""

    words: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class Labelled:
    """Words and one label each: 0 stands in the original, 1 was made up (the class order of the released D models)."""

    words: tuple[str, ...]
    labels: tuple[int, ...]


def mask_phrases(words: Sequence[str], rng: Random, parser: chunks.Parser = chunks.parse) -> Template | None:
    """Masks phrases of one sentence: a node goes with chance (its words / all words) / (height + 1), a masked node
    swallows the masks below it. Up to five tries; None if each gives no mask, two in a row, or nothing else."""
    if not words:
        return None
    tree = parser(words)
    for _ in range(_TRIES):
        spans = _masked_spans(tree, words, rng)
        template = _template(words, spans)
        if spans and len(template.words) > 1 and f"{MASK} {MASK}" not in template.text:
            return template
    return None


def mask_text(sentences: Sequence[Sequence[str]], rng: Random, parser: chunks.Parser = chunks.parse) -> Template | None:
    """Masks every sentence; as in the release, one that cannot be masked drops the whole text."""
    parts = [mask_phrases(words, rng, parser) for words in sentences]
    kept = [part for part in parts if part is not None]
    if not kept or len(kept) < len(parts):
        return None
    return Template(tuple(w for part in kept for w in part.words), tuple(a for part in kept for a in part.answers))


def _masked_spans(node: chunks.Phrase, words: Sequence[str], rng: Random) -> list[tuple[int, int]]:
    below = [span for child in node.children for span in _masked_spans(child, words, rng)]
    span_words = words[node.start : node.end]
    chance = len(span_words) / len(words) / (node.height + 1)
    plain = " ".join(span_words)
    if plain.lower() in ENGLISH or not any(character.isalnum() for character in plain):
        chance = 0.0
    return [(node.start, node.end)] if rng.random() < chance else below


def _template(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> Template:
    out: list[str] = []
    answers: list[str] = []
    last = 0
    for start, end in spans:
        out += [*words[last:start], MASK]
        answers.append(" ".join(words[start:end]))
        last = end
    return Template((*out, *words[last:]), tuple(answers))


def read_fillings(template: Template, filled: str) -> tuple[str, ...] | None:
    """What stands at each mask of a filled text, matched greedily and without regard to case; None if it cannot."""
    literal = [r"\s*(.*)\s*" if word == MASK else re.escape(word) for word in template.words]
    pattern = r"\s*".join(literal)
    match = re.fullmatch(pattern, " ".join(filled.split()), re.IGNORECASE | re.DOTALL)
    if match is None:
        return None
    return tuple(group.strip() for group in match.groups())


def label_words(template: Template, fillings: Sequence[str]) -> Labelled:
    """A filling equal to what stood there (case and outer blanks aside) is 0, any other has 1 on all its words."""
    if len(fillings) != len(template.answers):
        raise InputError(f"{len(template.answers)} masks but {len(fillings)} fillings")
    words: list[str] = []
    labels: list[int] = []
    pending = iter(zip(template.answers, fillings, strict=True))
    for word in template.words:
        if word != MASK:
            words.append(word)
            labels.append(0)
            continue
        answer, filling = next(pending)
        fresh = filling.split()
        words += fresh
        labels += [int(filling.strip().lower() != answer.strip().lower())] * len(fresh)
    return Labelled(tuple(words), tuple(labels))


def attach_marks(labelled: Labelled) -> Labelled:
    """Marks go back to the word they touch, which keeps its label: whitespace words as raw text has them.

    Closing marks join the word before, opening ones the word after; straight quotes open and close in turn.
    """
    words: list[str] = []
    labels: list[int] = []
    waiting, quoted = "", False
    for word, label in zip(labelled.words, labelled.labels, strict=True):
        closes = _CLOSING.fullmatch(word) is not None or (word == '"' and quoted)
        opens = not closes and (_OPENING.fullmatch(word) is not None or word == '"')
        quoted = quoted != (word == '"')
        if opens:
            waiting += word
        elif closes and words and not waiting:
            words[-1] += word
        else:
            words.append(waiting + word)
            labels.append(label)
            waiting = ""
    if waiting:
        words.append(waiting)
        labels.append(0)
    return Labelled(tuple(words), tuple(labels))


def supported_share(labelled: Labelled, total: str = "mean", drop_stopwords: bool = False) -> float | None:
    """R's target: mean or sum of (1 - label); stop words left out first where asked; None if no word is left."""
    kept = [
        1 - label
        for word, label in zip(labelled.words, labelled.labels, strict=True)
        if not (drop_stopwords and word.lower() in ENGLISH)
    ]
    if total == "sum":
        return float(sum(kept))
    return sum(kept) / len(kept) if kept else None
