"""The names of the baselines."""

from __future__ import annotations

from quintet.core.registry import Registry

_HERE = "quintet.metrics.baselines"


def register(registry: Registry) -> None:
    for n in range(1, 5):
        registry.add(f"bleu-{n}", f"{_HERE}.sacre:Bleu", f"n-gram precision up to {n}, sentence level", order=n)
    registry.add("rouge-1", f"{_HERE}.rouge:Rouge", "words shared with a reference", variant="rouge1")
    registry.add("rouge-2", f"{_HERE}.rouge:Rouge", "pairs of words shared with a reference", variant="rouge2")
    registry.add("rouge-l", f"{_HERE}.rouge:Rouge", "longest common subsequence with a reference", variant="rougeL")
    registry.add("meteor", f"{_HERE}.meteor:Meteor", "aligned words and stems, with a penalty on fragments")
    registry.add("chrf", f"{_HERE}.sacre:Chrf", "F-score over character n-grams")
    registry.add("ter", f"{_HERE}.sacre:Ter", "edits and shifts per 100 reference words")
    registry.add("cider", f"{_HERE}.cider:Cider", "tf-idf cosine of n-grams, mean over references")
    registry.add("cider-d", f"{_HERE}.cider:Cider", "cider with clipped counts and length penalty", robust=True)
    registry.add("token-f1", f"{_HERE}.token_f1:TokenF1", "words in common after SQuAD's normalisation")
    registry.add("distinct-1", f"{_HERE}.diversity:Distinct", "share of different words", n=1)
    registry.add("distinct-2", f"{_HERE}.diversity:Distinct", "share of different pairs of words", n=2)
    registry.add("ngram-entropy", f"{_HERE}.diversity:NgramEntropy", "entropy of the output's pairs of words")
    registry.add("response-length", f"{_HERE}.diversity:ResponseLength", "white-space words")
    _register_embedding(registry)


def _register_embedding(registry: Registry) -> None:
    vectors = f"{_HERE}.word_vectors:WordVectors"
    registry.add("embedding-average", vectors, "cosine of the mean word vectors", how="average")
    registry.add("greedy-matching", vectors, "each word with its nearest, both ways", how="greedy")
    registry.add("vector-extrema", vectors, "cosine of the most extreme values per axis", how="extrema")
    registry.add("wmd", f"{_HERE}.movers:MoversDistance", "least travel between the words", units="words")
    registry.add("smd", f"{_HERE}.movers:MoversDistance", "least travel between the sentences", units="sentences")
    for part, meaning in (("p", "precision"), ("r", "recall"), ("f", "F-score")):
        summary = f"{meaning} of greedy matching of contextual vectors"
        registry.add(f"bertscore-{part}", f"{_HERE}.bertscore:BertScore", summary, part=part)
    registry.add("moverscore", f"{_HERE}.moverscore:MoverScore", "transport between contextual vectors")
