"""CTC's weak supervision: a text y1 known to be grounded, phrases masked, filled by a model that never saw the context.

Relations (paper §3.3, released construction script):
    doc_to_summ               y1 = 1 to 3 sentences of a TextRank summary, paraphrased; context = document
    summ_to_ref               y1 = reference, paraphrased; context = the same reference
    sent_to_sent              y1 = a sentence, paraphrased; context = the same sentence
    fact_history_to_response  y1 = gold response, as it is; context = fact and history
    fact_to_response          y1 = sentences of the fact; context = fact
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet.text import chunks, masks
from quintet.text.sentences import sentences
from quintet.text.textrank import summarize
from quintet.train.infill import Infiller, ngram_infiller
from quintet.train.items import TargetItem, WordItem
from quintet.train.pseudo.rewrite import Paraphraser, identity_paraphraser, rule_paraphraser
from quintet.train.rows import Dialogue, Document, Record

Pair = tuple[str, str]
"""y1 and its context."""
DOCUMENT_WORDS = 1000
SUMMARY_RATIO = 0.9
"""The release loops over ratios up to 0.9 without a break, so the last one counts."""


def _split(text: str) -> list[str]:
    return [piece.text for piece in sentences(text)]


def _summaries(records: Sequence[Record], rng: Random, paraphrase: Paraphraser) -> Iterator[Pair]:
    for record in records:
        if not isinstance(record, Document):
            continue
        document = " ".join(record.text.split()[:DOCUMENT_WORDS])
        parts = _split(document)
        ranked = summarize(parts, SUMMARY_RATIO)
        count = rng.randint(1, 3)
        if len(ranked) >= count:
            chosen = sorted(rng.sample(ranked, count))
            yield " ".join(paraphrase(parts[i], rng) for i in chosen), document


def _references(records: Sequence[Record], rng: Random, paraphrase: Paraphraser) -> Iterator[Pair]:
    for record in records:
        if isinstance(record, Document) and record.summary.strip():
            yield " ".join(paraphrase(part, rng) for part in _split(record.summary)), record.summary


def _single_sentences(records: Sequence[Record], rng: Random, paraphrase: Paraphraser) -> Iterator[Pair]:
    for record in records:
        texts = [record.text] if isinstance(record, Document) else getattr(record, "turns", ())
        for text in texts:
            for sentence in _split(text):
                yield paraphrase(sentence, rng), sentence


def _responses(records: Sequence[Record], rng: Random, paraphrase: Paraphraser) -> Iterator[Pair]:
    for record in records:
        if isinstance(record, Dialogue):
            for turn in range(1, len(record.turns)):
                history = "\n".join(record.turns[:turn])
                yield record.turns[turn], f"{_fact_lines(record.fact(turn)).strip()}\n\n\n{history.strip()}"


def _facts(records: Sequence[Record], rng: Random, paraphrase: Paraphraser) -> Iterator[Pair]:
    seen: set[str] = set()
    for record in records:
        for fact in record.facts if isinstance(record, Dialogue) else ():
            parts = _split(fact)
            if fact in seen or not parts:
                continue
            seen.add(fact)
            chosen = sorted(rng.sample(range(len(parts)), rng.randint(1, min(3, len(parts)))))
            yield " ".join(paraphrase(parts[i], rng) for i in chosen), _fact_lines(fact)


def _fact_lines(fact: str) -> str:
    """Topical-Chat's form: each line begins with `fact: `; a missing one reads `nofact`."""
    return "".join(f"fact: {line}\n" for line in fact.splitlines() if line.strip()) or "nofact\n"


RELATIONS: Mapping[str, tuple[Callable[..., Iterator[Pair]], bool, str]] = {
    "doc_to_summ": (_summaries, True, "mean"),
    "summ_to_ref": (_references, True, "mean"),
    "sent_to_sent": (_single_sentences, True, "mean"),
    "fact_history_to_response": (_responses, False, "sum"),
    "fact_to_response": (_facts, True, "sum"),
}
"""Relation: source of y1, whether it is paraphrased, how R's target is summed up (sums leave stop words out)."""


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
    parser: chunks.Parser = chunks.parse,
) -> list[WordItem]:
    """Labelled words for D. `released` keeps punctuation as words of its own; otherwise marks go back to their word."""
    out = []
    for labelled, context in _constructed(records, limit, rng, relation, infiller, parser, rounds):
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
    parser: chunks.Parser = chunks.parse,
) -> list[TargetItem]:
    """R's pairs: context first, candidate second; `summ_to_ref` has them the other way round, as it was trained."""
    out = []
    total = RELATIONS[relation][2] if relation in RELATIONS else ""
    for labelled, context in _constructed(records, limit, rng, relation, infiller, parser, rounds):
        target = masks.supported_share(labelled, total, drop_stopwords=total == "sum")
        final = labelled if mode == "released" else masks.attach_marks(labelled)
        candidate = " ".join(final.words)
        if target is not None:
            first, second = (candidate, context) if relation == "summ_to_ref" else (context, candidate)
            out.append(TargetItem(first, second, target))
    return out


def clean(text: str) -> str:
    """The release's cleaning: straight quotes, one blank between words, case folded; line breaks stay."""
    straight = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})
    return "\n".join(" ".join(line.split()) for line in straight.split("\n")).casefold().strip()


def _constructed(
    records: Sequence[Record], limit: int, rng: Random, relation: str, infiller: str, parser: chunks.Parser, rounds: int
) -> Iterator[tuple[masks.Labelled, str]]:
    if relation not in RELATIONS:
        raise UnknownName("relation", relation, RELATIONS)
    source, rewritten, _ = RELATIONS[relation]
    fill = open_infiller(infiller, records)
    made = 0
    # The release goes over its corpus once; a small corpus gives other sentences and masks in another round.
    for _ in range(rounds):
        shuffled: list[Any] = list(records)
        rng.shuffle(shuffled)
        for y1, context in source(shuffled, rng, rule_paraphraser if rewritten else identity_paraphraser):
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
    from quintet.train.generate import model_infiller

    return model_infiller(kind, model)


def _texts(record: Record) -> tuple[str, ...]:
    if isinstance(record, Document):
        return (record.text, record.summary)
    return record.turns + record.facts if isinstance(record, Dialogue) else ()
