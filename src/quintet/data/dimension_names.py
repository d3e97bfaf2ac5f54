"""One name for one question: how the qualities of each data set are called here.

`canonical("Maintains Context")` is "coherence", whatever the file calls it. A name not in the table stays as it is,
in lower case with spaces for underscores.
"""

from __future__ import annotations

from collections.abc import Collection

CANONICAL = {
    # USR (Table 1), DSTC10, CTC, UniEval
    "natural": "naturalness",
    "understandable": "understandability",
    "maintains context": "coherence",
    "coherent": "coherence",
    "engaging": "engagingness",
    "interesting": "engagingness",
    "uses knowledge": "groundedness",
    # FED (Table 1)
    "specific": "specificity",
    "relevant": "relevance",
    "correct": "correctness",
    "semantically appropriate": "appropriateness",
    "fluent": "fluency",
    "consistent": "consistency",
    "diverse": "diversity",
    "likeable": "likeability",
    "flexible": "flexibility",
    "informative": "informativeness",
    "inquisitive": "inquisitiveness",
    # See et al. 2019 (persona-see)
    "avoid rep": "non-repetition",
    "enjoy": "enjoyment",
    "interest": "engagingness",
    "listen": "listening",
    "make sense": "sensibleness",
    "persona guess": "persona recognition",
    "turing": "humanness",
    # linguistic quality, rewriting
    "grammar": "grammaticality",
    "redundancy": "non-redundancy",
    "non-redun": "non-redundancy",
    "meaning": "preservation",
    "content preservation": "preservation",
    "faithful": "faithfulness",
    "factual": "factuality",
}

# FED asks both questions of the same response, so there they keep two names.
EXCEPTIONS = {("fed", "interesting"): "interestingness"}


def canonical(name: str, source: str = "") -> str:
    """The name used here for what a file of `source` (or a user) calls `name`."""
    plain = " ".join(name.replace("_", " ").lower().split())
    return EXCEPTIONS.get((source, plain)) or CANONICAL.get(plain, plain)


def own_name(name: str, dimensions: Collection[str]) -> str:
    """What a column of somebody's scores is called here, if it names one of `dimensions`; else its own name."""
    plain = canonical(name)
    if name in dimensions or plain in dimensions:
        return name if name in dimensions else plain
    # UniEval files the `quality` of Novikova et al. under `overall`.
    return "quality" if plain == "overall" and "quality" in dimensions else name
