"""Rated simplifications, rewrites and texts from records. Each function reads one collection."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from quintet.core.example import Example
from quintet.core.plain import JsonObject
from quintet.data.rated import Rated, RawFolder, annotator_table, canonical, from_means

# Data-to-text ratings of Novikova et al. 2017: BAGEL, SFHOT, SFRES; medians of three raters.
#
# Variants: `tokenised` and truecased text as UniEval and BARTScore use it; `raw` text of the published table.


def novikova(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.jsonl(f"novikova2017_d2t/{name}.jsonl")
    meanings = {source: f"{n:03d}" for n, source in enumerate(dict.fromkeys(row["source"] for row in rows))}
    examples = [
        Example(
            output=row["system_output" if variant == "tokenised" else "system_output_raw"],
            source=row["source"],
            references=tuple(row["references"]),
            # A system may have several outputs for one meaning, so ids count rows.
            id=f"{n:04d}",
            system=row["system_id"],
            group=meanings[row["source"]],
        )
        for n, row in enumerate(rows)
    ]
    return from_means(examples, [row["scores"] for row in rows])


# Sentence simplification rated by people (Alva-Manchego et al. 2021; Sulem et al. 2018 for structural simplicity).
#
# simplicity_da has two variants: `raw` ratings from 0 to 100, and `zscore`, means after each rater was standardised.

FOLDER = "simplification_alvamanchego2021/"
QUALITIES = {
    "simplicity_da": ("fluency", "meaning", "simplicity"),
    "structural_simplicity": ("grammaticality", "meaning", "simplicity", "structural_simplicity"),
}
RATED_SINGLY = {"simplicity_da": "simplicity", "structural_simplicity": "structural_simplicity"}
"""The one quality of each set for which single ratings were published."""


def simplification(raw: RawFolder, name: str, variant: str) -> Rated:
    table = "simplicity_DA" if name == "simplicity_da" else name
    rows = raw.csv(f"{FOLDER}{table}.csv")
    suffix = "_zscore" if variant == "zscore" else ""
    examples = [
        Example(
            output=row["simp_sent"],
            source=row["orig_sent"],
            id=f"{row['sent_id']}/{row['sys_name']}",
            system=row["sys_name"],
            group=row["sent_id"],
        )
        for row in rows
    ]
    rated = from_means(examples, [{quality: row[quality + suffix] for quality in QUALITIES[name]} for row in rows])
    if variant == "zscore":
        return replace(rated, rescaled=True)
    single = defaultdict(list)
    quality = RATED_SINGLY[name]
    for row in raw.csv(f"{FOLDER}ratings_per_annotator__{table}_ratings.csv"):
        single[f"{row['sent_id']}/{row['sys_name']}"].append(row[quality])
    return replace(rated, annotators={canonical(quality): annotator_table([single[e.id] for e in examples])})


# Sentiment transfer on Yelp (Mir et al. 2019): 244 sentences, 12 settings of three systems, means of three raters.
#
# Variant referenced: the input stands as the reference, too, beside which CTC's Table E.1 held its baselines.


def yelp(raw: RawFolder, name: str, variant: str) -> Rated:
    human = raw.json("yelp_mir2019/mir2019_human_scores.json")
    seen: Counter[str] = Counter()
    examples, ratings = [], []
    for row in raw.json("yelp_mir2019/yelp_ctc.json"):
        system = row["model"]
        place = seen[system]
        seen[system] += 1
        group = f"{place:03d}"
        given = row["input_sent"]
        references = (given,) if variant == "referenced" else ()
        examples.append(
            Example(
                row["output_sent"], given, references=references, id=f"{group}/{system}", system=system, group=group
            )
        )
        ratings.append(_ratings(human, system, place))
    return from_means(examples, ratings)


def _ratings(human: JsonObject, system: str, place: int) -> dict[str, float | None]:
    """Naturalness was rated on the absolute scale for nine of the twelve settings."""
    natural = human["naturalness"].get(system)
    return {
        "content_preservation": human["content_preservation"][system][place],
        "naturalness": natural["absolute"][place] if natural else None,
        "style_transfer_intensity": human["style_transfer_intensity"][system][place],
    }
