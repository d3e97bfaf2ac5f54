"""UniEval's pseudo data: for each dimension a rule that turns a good text into a bad one (paper §3.2, Appendix A.2).

Two modes where paper and release differ:
    paper      positives are reference summaries, for relevance, which is judged beside the reference, the first three
               sentences of the article; relevance replaces several sentences; groundedness asks Table 7's question; a
               negative always differs from its positive
    released   positives are the first three sentences; relevance takes the neighbour's whole lead; groundedness asks
               the question of the released scorer; span noise may leave a text unchanged
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from quintet.errors import InputError, UnknownName
from quintet.text.sentences import sentences
from quintet_train.items import YesNoItem
from quintet_train.pseudo.rewrite import Paraphraser, Responder, dull_responder, open_paraphraser
from quintet_train.pseudo.usr import other_turn
from quintet_train.rows import Dialogue, Document, Record
from quintet_train.text import claims
from quintet_train.text.bm25 import Bm25
from quintet_train.text.corrupt import Mode, replace_sentences, span_noise

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "fluency": ("question: Is this a fluent paragraph?", "paragraph: {output}"),
    "coherence": ("question: Is this a coherent summary to the document?", "summary: {output}", "document: {source}"),
    "consistency": ("question: Is this claim consistent with the document?", "claim: {output}", "document: {source}"),
    "relevance": (
        "question: Is this summary relevant to the reference?",
        "summary: {output}",
        "reference: {reference}",
    ),
    "dialogue-naturalness": ("question: Is this a natural response in the dialogue?", "response: {output}"),
    "dialogue-coherence": (
        "question: Is this a coherent response given the dialogue history?",
        "response: {output}",
        "dialogue history: {source}",
    ),
    "dialogue-engagingness": (
        "question: Is this an engaging and informative response according to the dialogue history and fact?",
        "response: {output}",
        "dialogue history: {source}",
        "fact: {context}",
    ),
    "dialogue-groundedness": (
        "question: Is this response consistent with knowledge in the fact?",
        "response: {output}",
        "fact: {context}",
    ),
}
DIALOGUE_DIMENSIONS = ("coherence", "naturalness", "groundedness", "engagingness")
"""In the order they are learnt."""
GROUNDEDNESS_IN_PAPER = "question: Does this response use knowledge from the fact?"
NEIGHBOURS = 100
"""BM25 neighbours looked up per article in the release."""
KEPT = 10
"""Of these, the nearest that differ; which one gives its sentences is drawn at random."""


def ask(dimension: str, yes: bool, texts: Mapping[str, str], mode: Mode = "released") -> YesNoItem:
    """The prompt in parts; `</s>` between them is the network's business, so texts cannot forge it."""
    parts = list(PROMPTS[dimension])
    if dimension == "dialogue-groundedness" and mode == "paper":
        parts[0] = GROUNDEDNESS_IN_PAPER
    filled = []
    for part in parts:
        head, brace, name = part.partition("{")
        filled.append(head + texts[name.rstrip("}")] if brace else part)
    return YesNoItem(tuple(filled), yes, dimension.removeprefix("dialogue-"))


def _split(text: str) -> list[str]:
    return [piece.text for piece in sentences(text)]


class Summaries:
    """A corpus with its neighbours: what each summarisation rule needs."""

    def __init__(self, documents: Sequence[Document], rng: Random, mode: Mode, antonyms: str = "") -> None:
        self.rng, self.mode = rng, mode
        self.table = claims.read_antonyms(Path(antonyms)) if antonyms else claims.ANTONYMS
        self.documents = [d for d in documents if d.text.strip() and (mode == "released" or d.summary.strip())]
        self.good = [_split(d.text)[:3] if mode == "released" else _split(d.summary) for d in self.documents]
        self.lead = [_split(d.text)[:3] for d in self.documents]
        queries = [d.text if mode == "released" else d.summary for d in self.documents]
        self.queries = [query.split() for query in queries]
        self.index = Bm25(self.queries)
        self.near: dict[int, list[int]] = {}

    def positive(self, dimension: str, own: int) -> list[str]:
        """A reference beside itself would teach relevance to look for equality (Table 7's positive is another text)."""
        return self.lead[own] if dimension == "relevance" else self.good[own]

    def neighbour(self, own: int, dimension: str = "") -> list[str]:
        """Sentences of a similar text, one of the nearest that differ; empty if there is none."""
        if own not in self.near:
            near = self.index.top(self.queries[own], NEIGHBOURS, skip=frozenset((own,)))
            self.near[own] = [i for i in near if self.good[i] and self.good[i] != self.good[own]][:KEPT]
        usable = self.near[own]
        return self.positive(dimension, self.rng.choice(usable)) if usable else []

    def coherence(self, own: int) -> str | None:
        changed = replace_sentences(self.good[own], self.neighbour(own), self.rng, 1)
        return " ".join(changed) if changed else None

    def relevance(self, own: int) -> str | None:
        other = self.neighbour(own, "relevance")
        if self.mode == "released":
            return " ".join(other) or None
        size = len(self.lead[own])
        changed = replace_sentences(self.lead[own], other, self.rng, self.rng.randint(min(2, size), size))
        return " ".join(changed) if changed else None

    def fluency(self, own: int) -> str | None:
        return " ".join(span_noise(" ".join(self.good[own]).split(), self.rng, 5.0, self.mode))

    def consistency(self, own: int) -> str | None:
        sentence = self.rng.choice(self.good[own])
        edit = claims.falsify(sentence, self.documents[own].text, self.rng, self.table)
        return edit.text if edit else None


def summarization(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    *,
    mode: Mode = "paper",
    dimensions: Sequence[str] = ("coherence", "fluency", "consistency", "relevance"),
    negatives: int = 1,
    antonyms: str = "",
) -> list[YesNoItem]:
    """`limit` items per dimension, as many positives as negatives when `negatives` is 1."""
    corpus = Summaries([r for r in records if isinstance(r, Document)], rng, mode, antonyms)
    rules: dict[str, Callable[[int], str | None]] = {
        name: getattr(corpus, name) for name in ("coherence", "fluency", "consistency", "relevance")
    }
    items: list[YesNoItem] = []
    for dimension in dimensions:
        if dimension not in rules:
            raise UnknownName("dimension of summarization", dimension, rules)
        items += _of_dimension(corpus, dimension, rules[dimension], limit, negatives)
    return items


def _of_dimension(
    corpus: Summaries, dimension: str, rule: Callable[[int], str | None], limit: int, negatives: int
) -> list[YesNoItem]:
    order = [i for i, good in enumerate(corpus.good) if good]
    corpus.rng.shuffle(order)
    items: list[YesNoItem] = []
    for own in order:
        document = corpus.documents[own]
        texts = {"source": document.text, "reference": document.summary}
        if dimension == "relevance" and (not document.summary or corpus.lead[own] == _split(document.summary)):
            continue
        good = (
            corpus.rng.choice(corpus.good[own])
            if dimension == "consistency"
            else " ".join(corpus.positive(dimension, own))
        )
        bad = [text for text in (rule(own) for _ in range(negatives)) if text]
        if not bad:
            continue
        items.append(ask(dimension, True, {**texts, "output": good}))
        items += [ask(dimension, False, {**texts, "output": text}) for text in bad]
        if limit and len(items) >= limit:
            break
    return items[:limit] if limit else items


def history_text(turns: Sequence[str]) -> str:
    """Turns with ` \\n ` between them and an empty line at the end (Appendix A.3)."""
    return " \n ".join(turns) + "\n\n"


def dialogue(
    records: Sequence[Record],
    limit: int,
    rng: Random,
    *,
    mode: Mode = "paper",
    dimensions: Sequence[str] = DIALOGUE_DIMENSIONS,
    responder: str = "dull",
    paraphraser: str = "rules",
) -> list[YesNoItem]:
    """`limit` items per dimension. Dull replies come from the corpus unless `responder` names a causal model, facts are
    reworded by rules unless `paraphraser` names a model."""
    dialogues = [record for record in records if isinstance(record, Dialogue)]
    reply, reword = _responder(responder, dialogues), open_paraphraser(paraphraser)
    items: list[YesNoItem] = []
    for dimension in dimensions:
        if dimension not in DIALOGUE_DIMENSIONS:
            raise UnknownName("dimension of dialogue", dimension, DIALOGUE_DIMENSIONS)
        places = [(d, t) for d, whole in enumerate(dialogues) for t in range(1, len(whole.turns))]
        places = [(d, t) for d, t in places if dialogues[d].turns[t].strip()]
        rng.shuffle(places)
        own: list[YesNoItem] = []
        for d, t in places:
            own += _dialogue_pair(dialogues, d, t, dimension, mode, rng, (reply, reword))
            if limit and len(own) >= limit:
                break
        items += own[:limit] if limit else own
    return items


def _responder(name: str, dialogues: Sequence[Dialogue]) -> Responder:
    if name == "dull":
        return dull_responder([turn for whole in dialogues for turn in whole.turns])
    if name.startswith("causal:"):
        from quintet_train.generate import causal_responder

        return causal_responder(name.removeprefix("causal:"))
    raise InputError(f"responder must be dull or causal:MODEL, not {name!r}")


def _dialogue_pair(
    dialogues: Sequence[Dialogue],
    d: int,
    t: int,
    dimension: str,
    mode: Mode,
    rng: Random,
    writers: tuple[Responder, Paraphraser],
) -> list[YesNoItem]:
    """A positive and its negative, or nothing where the rule finds no negative."""
    reply, reword = writers
    own = dialogues[d]
    good, bad = own.turns[t], None
    texts = {"source": history_text(own.turns[:t]), "context": own.fact(t) + "\n" if own.fact(t) else ""}
    if dimension == "naturalness":
        bad = " ".join(span_noise(good.split(), rng, 3.0, mode))
    elif dimension == "coherence":
        bad = other_turn(dialogues, d, good, rng)
    elif dimension == "engagingness":
        bad = reply(own.turns[t - 1], rng)
    else:
        pair = grounded_pair(own.fact(t), [whole.fact(0) for whole in dialogues], rng, reword)
        if pair is None:
            return []
        good, bad = pair
    if not bad or (bad == good and mode == "paper"):
        return []
    name = f"dialogue-{dimension}"
    return [ask(name, True, {**texts, "output": good}, mode), ask(name, False, {**texts, "output": bad}, mode)]


def grounded_pair(fact: str, others: Sequence[str], rng: Random, paraphrase: Paraphraser) -> tuple[str, str] | None:
    """A sentence of the fact said in other words, and a sentence of another fact."""
    own = _split(fact)
    strangers = [other for other in others if other.strip() and other != fact]
    if not own or not strangers:
        return None
    wrong = _split(rng.choice(strangers))
    return (paraphrase(rng.choice(own), rng), rng.choice(wrong)) if wrong else None
