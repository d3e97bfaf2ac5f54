"""The evaluator's rows in the table of metrics: its blends by task and dimension, and the signals they are made of."""

from __future__ import annotations

from quintet.core.registry import Registry

_HERE = "quintet.metrics.evaluator"

BLENDS = {
    "summarization": ("coherence", "consistency", "fluency", "relevance"),
    "dialogue": ("naturalness", "coherence", "engagingness", "groundedness", "understandability", "overall"),
    "data2text": ("naturalness", "informativeness"),
    "rewriting": ("preservation", "fluency"),
    "text": ("grammaticality", "focus", "structure", "quality"),
}

_SIGNALS = {
    "acceptability": ("judged_alone:Acceptability", "Does each sentence read well? Whole, mean and lowest"),
    "flow": ("judged_alone:Flow", "Does the text hang together?"),
    "order": ("judged_alone:Order", "Are its sentences in order?"),
    "document": ("judged_beside:DocumentFit", "The output beside its document: coherence, relevance, coverage"),
    "support": ("judged_support:Support", "Sentences and words backed by the document"),
    "response": ("judged_beside:Response", "Is it the response to these turns?"),
    "grounding": ("judged_beside:Grounding", "Does it use the fact?"),
    "input": ("judged_beside:InputFit", "A rewrite beside its input: adequacy"),
    "record": ("judged_beside:RecordFit", "A text beside its record"),
    "reference": ("judged_beside:ReferenceFit", "Means the same as the references"),
    "record-values": ("record_values:RecordValues", "Values of the record that are said"),
    "overlap": ("counted:Overlap", "Pairs of words that stand in the document"),
    "information": ("counted:Information", "How much is said, by the rarity of the words"),
    "fact-words": ("counted:FactWords", "Words shared with the fact, by their rarity"),
    "gain-fact": ("likelihood:FactGain", "How much likelier the fact makes the response"),
}
_READERS = {
    "reader": ("reader:Reader", "Backed by the document, coherent, relevant and covering"),
    "reader-alone": ("reader_beside:AloneReader", "Reads well and hangs together"),
    "reader-dialogue": ("reader_beside:DialogueReader", "Answers the turns and uses the fact"),
    "reader-record": ("reader_beside:RecordReader", "A text beside its record"),
    "reader-input": ("reader_beside:InputReader", "A rewrite beside its input"),
    "reader-reference": ("reader_beside:ReferenceReader", "Means the same as the references"),
}
"""Signals that ask the heads of the language model."""
_HELD = {
    "claims": ("claims:Claims", "what the output claims, held against the {}"),
    "coverage": ("claims:Coverage", "what the {} says, held against the output"),
}
"""Signals of the reader, and what they are held against."""
_SOURCES = {
    "claims": ("document", "fact", "dialogue", "record", "references", "input"),
    "coverage": ("document", "record", "references", "input"),
}
_GIVEN = ("document", "record", "history", "dialogue")
_BESIDE = ("document", "input", "references", "fact", "turn")


def register(registry: Registry) -> None:
    for task, dimensions in BLENDS.items():
        for dimension in dimensions:
            summary = f"The bundled evaluator: {dimension} ({task})"
            target = f"{_HERE}.blended:Evaluator"
            registry.add(f"evaluator-{task}-{dimension}", target, summary, recipe=f"{task}/{dimension}")
    for name, (target, summary) in _SIGNALS.items():
        registry.add(f"evaluator-{name}", f"{_HERE}.{target}", f"Signal of the evaluator: {_lower(summary)}")
    for name, (target, summary) in _READERS.items():
        says = f"Signal of the evaluator: {_lower(summary)}, as the language model reads it"
        registry.add(f"evaluator-{name}", f"{_HERE}.{target}", says)
    for name, (target, summary) in _HELD.items():
        for beside in _SOURCES[name]:
            says = f"Signal of the evaluator: {summary.format(beside)}"
            registry.add(f"evaluator-{name}-{beside}", f"{_HERE}.{target}", says, beside=beside)
    for given in _GIVEN:
        what = {"history": "the last turns", "dialogue": "fact and turns"}.get(given, f"the {given}")
        likely = f"Signal of the evaluator: likelihood given {what}"
        registry.add(f"evaluator-likelihood-{given}", f"{_HERE}.likelihood:Likelihood", likely, given=given)
        gain = f"Signal of the evaluator: how much likelier {what} makes the output"
        registry.add(f"evaluator-gain-{given}", f"{_HERE}.likelihood:Gain", gain, given=given)
    registry.add(
        "evaluator-likelihood-nothing",
        f"{_HERE}.likelihood:Likelihood",
        "Signal of the evaluator: likelihood of the text alone",
        given="nothing",
    )
    for beside in _BESIDE:
        matching = f"Signal of the evaluator: embedding matching with the {beside}"
        registry.add(f"evaluator-matching-{beside}", f"{_HERE}.matching:Matching", matching, beside=beside)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
