"""Made-up rows for tests of the report: texts written here, scores and evidence computed by plain word matching."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.metric import Metric, Row
from quintet.core.score import Score, Span
from quintet.runner.plan import Column, Plan

SOURCES = (
    "The council voted on Monday to repair the old bridge over the river Tarn. Work begins in May and will cost four "
    "million euros. The bridge was built in 1903 and has been closed to lorries since last autumn, when engineers "
    "found cracks in two of its arches. A footbridge will stay open while the work goes on, the mayor said.",
    "A team of biologists has counted more than nine thousand puffins on the island, twice as many as ten years ago. "
    "They credit a programme that removed rats in 2015. The birds nest in burrows, which rats used to raid. Visitors "
    "may land again from June, but must stay on the marked paths.",
    "The library will open on Sundays from September, after a trial in spring drew 1,200 readers a week. Two new "
    "librarians have been hired. The cafe on the ground floor will keep its hours. Borrowed books can still be "
    "returned at any time through the slot on Mill Lane.",
    "Heavy rain stopped the second day of the match after forty overs. The home side had reached 142 for three, with "
    "Okafor unbeaten on 61. The umpires inspected the ground at four and sent the players home. Play resumes at half "
    "past ten tomorrow, half an hour early, to make up for lost time.",
)
FAITHFUL = (
    "The council voted to repair the old bridge over the Tarn. Work begins in May.",
    "Biologists counted more than nine thousand puffins, twice as many as ten years ago.",
    "The library will open on Sundays from September after a trial in spring.",
    "Rain stopped the match after forty overs, with the home side on 142 for three.",
)
INVENTED = (
    "The government decided to demolish the old bridge. Trains will use a tunnel by December. "
    "The council decided to demolish the old bridge.",
    "Thousands of seagulls left the island because tourists brought cats and disease.",
    "The museum closes on Fridays, and three hundred employees lost their jobs.",
    "Okafor scored a century before lunch and the visitors celebrated a famous victory.",
)
SYSTEMS = ("pointer-lead", "bart-xl", "tiny-lm")

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Match(Metric):
    """Support by equal words, and repeated sentences: enough to have every kind of evidence."""

    name = "match"
    dimensions = (
        Dimension("consistency", "Is every word backed by the source?", ("source",)),
        Dimension("relevance", "Does it keep what matters?", ("source",)),
        Dimension("fluency", "Is this a fluent paragraph?"),
        Dimension("non-redundancy", "Does the text avoid saying a thing twice?", low=-math.inf, high=0.0),
    )

    def _score(self, examples: list[Example]) -> list[Row]:  # type: ignore[override]
        return [score_by_words(example) for example in examples]


def score_by_words(example: Example) -> Row:
    source = example.text("source")
    places = {m.group().lower(): m.span() for m in reversed(list(_WORD.finditer(source)))}
    spans = []
    for m in _WORD.finditer(example.output):
        word = m.group().lower()
        near = word if word in places else min(places, key=lambda w: (-_shared(w, word), w), default="")
        value = 1.0 if word in places else 0.8 * _shared(near, word) / max(1, len(word))
        other = ("source", *places[near]) if near else None
        spans.append(Span(*m.span(), round(value, 3), "word", other=other))
    mean = sum(s.value for s in spans) / max(1, len(spans))
    kept = len({m.group().lower() for m in _WORD.finditer(example.output)}) / max(1, len(places))
    fluency = 1 / (1 + abs(len(spans) - 14) / 20)
    return {
        "consistency": Score(
            mean, tuple(spans), {"words backed": mean, "names backed": mean**2, "numbers": 0.5 + mean / 2}
        ),
        "relevance": Score(mean * min(1, 4 * kept), tuple(spans), {"output in source": mean, "source in output": kept}),
        "fluency": Score(fluency, parts={"words": len(spans)}, cut={"output": 12} if len(spans) > 17 else {}),
        "non-redundancy": _redundancy(example.output),
    }


def _redundancy(text: str) -> Score:
    pieces = [m.span() for m in re.finditer(r"[^.]+\.", text)]
    pairs = [
        Span(*b, -0.4, "pair", note="ABCD", other=("output", *a))
        for i, a in enumerate(pieces)
        for b in pieces[i + 1 :]
        if len(set(text[slice(*a)].lower().split()) & set(text[slice(*b)].lower().split())) > 3
    ]
    return Score(-0.4 * len(pairs), tuple(pairs), {"sentences": len(pieces)})


def _shared(a: str, b: str) -> int:
    return sum(x == y for x, y in zip(a, b, strict=False))


def plan() -> Plan:
    metric = Match()
    return Plan(
        tuple(Column(d.name, metric, d.name) for d in metric.dimensions), {"coherence": "no bundled metric answers it"}
    )


def small_rows(repeats: int = 10) -> list[Scored]:
    """Every source with three systems, varied by a seed."""
    rng = random.Random(7)
    rows = []
    for k in range(repeats):
        for s, source in enumerate(SOURCES):
            for system in SYSTEMS:
                pool = (FAITHFUL, INVENTED) if system == "tiny-lm" else (FAITHFUL, FAITHFUL, FAITHFUL, INVENTED)
                text = rng.choice(pool)[s]
                if system == "pointer-lead" and rng.random() < 0.5:
                    text = source.split(". ")[0] + "."
                rows.append(
                    row(
                        Example(
                            _varied(text, rng), source, id=f"doc{k * 4 + s}-{system}", system=system, group=f"d{k}-{s}"
                        )
                    )
                )
    return rows


def _varied(text: str, rng: random.Random) -> str:
    """Now and then a word is swapped for one of another text."""
    words = text.split(" ")
    for place in range(len(words)):
        if words[place].isalpha() and rng.random() < 0.08:
            words[place] = rng.choice(rng.choice(SOURCES).rstrip(".").replace(",", "").split())
    return " ".join(words)


def row(example: Example) -> Scored:
    return Scored(Item(example), score_by_words(example))


def many_rows(count: int = 1000, source_words: int = 700, output_words: int = 60) -> list[Scored]:
    """As long as news articles and their summaries, every source different."""
    rng = random.Random(3)
    words = sorted({m.group() for text in (*SOURCES, *FAITHFUL, *INVENTED) for m in _WORD.finditer(text)})
    rows = []
    for k in range(count):
        source = " ".join(rng.choices(words, k=source_words)) + "."
        output = " ".join(rng.choices(words, k=output_words)) + "."
        rows.append(row(Example(output, source, id=f"news-{k}", system=SYSTEMS[k % 3], group=f"g{k // 3}")))
    return rows
