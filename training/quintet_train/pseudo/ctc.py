"""CTC's weak supervision: a text y1 known to be grounded, phrases masked, filled by a model that never saw the context.

Relations (paper §3.3, released construction script):
    doc_to_summ               y1 = 1 to 3 sentences of a TextRank summary, paraphrased; context = document
                              (y1 = "reference": the gold summary instead, the paper's ablation)
    summ_to_ref               y1 = reference, paraphrased; context = the same reference
    sent_to_sent              y1 = a sentence, paraphrased; context = the same sentence
    fact_history_to_response  y1 = gold response, as it is; context = fact and history
    fact_to_response          y1 = one line of the fact as it is (facts = "topical"), or one to three of its sentences,
                              paraphrased ("persona"); context = fact
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet.text.sentences import sentences
from quintet_train.infill import Infiller, ngram_infiller
from quintet_train.items import TargetItem, WordItem
from quintet_train.pseudo.rewrite import Paraphraser, identity_paraphraser, open_paraphraser
from quintet_train.rows import Dialogue, Document, Marked, Record
from quintet_train.text import chunks, masks
from quintet_train.text.textrank import summarize

Pair = tuple[str, str]
"""y1 and its context."""
DOCUMENT_WORDS = 1000
SUMMARY_RATIO = 0.9
"""The release loops over ratios up to 0.9 without a break, so the last one counts."""


FACT_PREFIXES: Mapping[str, str] = {"topical": "fact: ", "persona": "your persona: "}
"""How each corpus writes the lines of a fact."""


@dataclass(frozen=True)
class Choices:
    """What a recipe may choose where the release has one way per corpus."""

    paraphrase: Paraphraser
    y1: str = "extractive"
    facts: str = "topical"


def _split(text: str) -> list[str]:
    return [piece.text for piece in sentences(text)]


def _rewritten(text: str, rng: Random, paraphrase: Paraphraser) -> str:
    return " ".join(paraphrase(part, rng) for part in _split(text))


def _summaries(records: Sequence[Record], rng: Random, choices: Choices) -> Iterator[Pair]:
    for record in records:
        if not isinstance(record, Document):
            continue
        document = " ".join(record.text.split()[:DOCUMENT_WORDS])
        if choices.y1 == "reference":
            if record.summary.strip():
                yield _rewritten(record.summary, rng, choices.paraphrase), document
            continue
        parts = _split(document)
        ranked = summarize(parts, SUMMARY_RATIO)
        count = rng.randint(1, 3)
        if len(ranked) >= count:
            chosen = sorted(rng.sample(ranked, count))
            yield " ".join(choices.paraphrase(parts[i], rng) for i in chosen), document


def _references(records: Sequence[Record], rng: Random, choices: Choices) -> Iterator[Pair]:
    for record in records:
        if isinstance(record, Document) and record.summary.strip():
            yield _rewritten(record.summary, rng, choices.paraphrase), record.summary


def _single_sentences(records: Sequence[Record], rng: Random, choices: Choices) -> Iterator[Pair]:
    for record in records:
        texts = [record.text] if isinstance(record, Document) else getattr(record, "turns", ())
        for text in texts:
            for sentence in _split(text):
                yield choices.paraphrase(sentence, rng), sentence


def _responses(records: Sequence[Record], rng: Random, choices: Choices) -> Iterator[Pair]:
    """Gold responses as they are: the release does not paraphrase them."""
    for record in records:
        if isinstance(record, Dialogue):
            for turn in range(1, len(record.turns)):
                history = "\n".join(record.turns[:turn])
                fact = _fact_lines(record.fact(turn), choices.facts).strip()
                yield record.turns[turn], f"{fact}\n\n\n{history.strip()}"


def _facts(records: Sequence[Record], rng: Random, choices: Choices) -> Iterator[Pair]:
    seen: set[str] = set()
    for record in records:
        for fact in record.facts if isinstance(record, Dialogue) else ():
            parts = _split(fact) if choices.facts == "persona" else [line for line in fact.splitlines() if line.strip()]
            if fact in seen or not parts:
                continue
            seen.add(fact)
            most, paraphrase = (3, choices.paraphrase) if choices.facts == "persona" else (1, identity_paraphraser)
            chosen = sorted(rng.sample(range(len(parts)), rng.randint(1, min(most, len(parts)))))
            yield " ".join(paraphrase(parts[i], rng) for i in chosen), _fact_lines(fact, choices.facts)


def _fact_lines(fact: str, corpus: str = "topical") -> str:
    """Each line after the corpus' prefix; a missing fact reads `nofact`."""
    prefix = FACT_PREFIXES[corpus]
    return "".join(f"{prefix}{line}\n" for line in fact.splitlines() if line.strip()) or "nofact\n"


RELATIONS: Mapping[str, tuple[Callable[..., Iterator[Pair]], str]] = {
    "doc_to_summ": (_summaries, "mean"),
    "summ_to_ref": (_references, "mean"),
    "sent_to_sent": (_single_sentences, "mean"),
    "fact_history_to_response": (_responses, "sum"),
    "fact_to_response": (_facts, "sum"),
}
"""Relation: source of y1, how R's target is summed up (sums leave stop words out)."""


def words(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    *,
    relation: str = "doc_to_summ",
    infiller: str = "ngram",
    mode: str = "paper",
    casefold: bool = True,
    rounds: int = 1,
    paraphraser: str | Paraphraser = "rules",
    y1: str = "extractive",
    facts: str = "topical",
    parser: chunks.Parser = chunks.parse,
) -> list[WordItem]:
    """Labelled words for D. `released` keeps punctuation as words of its own; otherwise marks go back to their word."""
    out = []
    choices = _choices(paraphraser, y1, facts)
    for labelled, context in _constructed(records, limit, rng, relation, infiller, parser, rounds, choices):
        final = labelled if mode == "released" else masks.attach_marks(labelled)
        texts = tuple(clean(word) if casefold else word for word in final.words)
        out.append(WordItem(texts, final.labels, clean(context) if casefold else context))
    return out


def targets(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    *,
    relation: str = "doc_to_summ",
    infiller: str = "ngram",
    mode: str = "paper",
    rounds: int = 1,
    paraphraser: str | Paraphraser = "rules",
    y1: str = "extractive",
    facts: str = "topical",
    total: str = "",
    parser: chunks.Parser = chunks.parse,
) -> list[TargetItem]:
    """R's pairs: context first, candidate second; `summ_to_ref` has them the other way round, as it was trained.

    `total`: mean or sum over the words, by default as the relation has it (Table 3 has both for dialogue)."""
    out = []
    if total not in ("", "mean", "sum"):
        raise UnknownName("total of a target", total, ("mean", "sum"))
    total = total or (RELATIONS[relation][1] if relation in RELATIONS else "")
    choices = _choices(paraphraser, y1, facts)
    for labelled, context in _constructed(records, limit, rng, relation, infiller, parser, rounds, choices):
        target = masks.supported_share(labelled, total, drop_stopwords=RELATIONS[relation][1] == "sum")
        final = labelled if mode == "released" else masks.attach_marks(labelled)
        candidate = " ".join(final.words)
        if target is not None:
            first, second = (candidate, context) if relation == "summ_to_ref" else (context, candidate)
            out.append(TargetItem(first, second, target))
    return out


def human_words(records: Sequence[Record], limit: int, rng: Random, *, casefold: bool = True) -> list[WordItem]:
    """Words as people marked them, for D to learn from (section 4.4): unsupported where most people say so."""
    by_text: dict[str, list[Marked]] = {}
    for record in records:
        if isinstance(record, Marked):
            by_text.setdefault(record.id, []).append(record)
    out = []
    for people in by_text.values():
        text, context = people[0].text, people[0].context
        places = [match.span() for match in re.finditer(r"\S+", text)]
        votes = [sum(any(s <= first and last <= e for s, e in one.spans) for one in people) for first, last in places]
        words = tuple(clean(text[first:last]) if casefold else text[first:last] for first, last in places)
        if words:
            labels = tuple(int(2 * count > len(people)) for count in votes)
            out.append(WordItem(words, labels, clean(context) if casefold else context))
    rng.shuffle(out)
    return out[:limit] if limit else out


def clean(text: str) -> str:
    """The release's cleaning: straight quotes, one blank between words, case folded; line breaks stay."""
    straight = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})
    return "\n".join(" ".join(line.split()) for line in straight.split("\n")).casefold().strip()


def _choices(paraphraser: str | Paraphraser, y1: str, facts: str) -> Choices:
    if y1 not in ("extractive", "reference"):
        raise UnknownName("y1", y1, ("extractive", "reference"))
    if facts not in FACT_PREFIXES:
        raise UnknownName("form of facts", facts, FACT_PREFIXES)
    opened = open_paraphraser(paraphraser) if isinstance(paraphraser, str) else paraphraser
    return Choices(opened, y1, facts)


def _constructed(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    relation: str,
    infiller: str,
    parser: chunks.Parser,
    rounds: int,
    choices: Choices,
) -> Iterator[tuple[masks.Labelled, str]]:
    if relation not in RELATIONS:
        raise UnknownName("relation", relation, RELATIONS)
    source, _ = RELATIONS[relation]
    fill = open_infiller(infiller, records)
    made = 0
    # The release goes over its corpus once; a small corpus gives other sentences and masks in another round.
    for _ in range(rounds):
        shuffled: list[Any] = list(records)
        rng.shuffle(shuffled)
        for y1, context in source(shuffled, rng, choices):
            labelled = construct(y1, fill, rng, parser)
            if labelled is not None:
                yield labelled, context
                made += 1
            if limit and made >= limit:
                return


def construct(y1: str, fill: Infiller, rng: Random, parser: chunks.Parser = chunks.parse) -> masks.Labelled | None:
    """Mask, fill, read back, label; None where a step of the release would drop the example."""
    template = masks.mask_text([chunks.split_words(sentence) for sentence in _split(y1)], rng, parser)
    if template is None:
        return None
    filled = fill(template, rng)
    fillings = masks.read_fillings(template, filled) if filled is not None else None
    if fillings is None or not all(fillings):
        return None
    split = [" ".join(chunks.split_words(filling)) for filling in fillings]
    labelled = masks.label_words(template, split)
    return labelled if labelled.words else None


def open_infiller(name: str, records: Sequence[Record]) -> Infiller:
    """`ngram` learns from the corpus itself and needs no weights; the others load a model folder."""
    if name == "ngram":
        texts = [t for r in records for t in _texts(r)]
        return ngram_infiller([chunks.split_words(sentence) for text in texts for sentence in _split(text)])
    kind, colon, model = name.partition(":")
    if not colon:
        raise InputError(f"infiller must be ngram, masked:MODEL, causal:MODEL or seq2seq:MODEL, not {name!r}")
    from quintet_train.generate import model_infiller

    return model_infiller(kind, model)


def _texts(record: Record) -> tuple[str, ...]:
    if isinstance(record, Document):
        return (record.text, record.summary)
    return record.turns + record.facts if isinstance(record, Dialogue) else ()
