"""Sentence simplification rated by people (Alva-Manchego et al. 2021; Sulem et al. 2018 for structural simplicity).

simplicity_da has two variants: `raw` ratings from 0 to 100, and `zscore`, means after each rater was standardised.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from quintet.core.example import Example
from quintet.data.dimension_names import canonical
from quintet.data.rated import Rated, annotator_table, from_means
from quintet.data.raw_files import RawFolder

FOLDER = "simplification_alvamanchego2021/"
QUALITIES = {
    "simplicity_da": ("fluency", "meaning", "simplicity"),
    "structural_simplicity": ("grammaticality", "meaning", "simplicity", "structural_simplicity"),
}
RATED_SINGLY = {"simplicity_da": "simplicity", "structural_simplicity": "structural_simplicity"}
"""The one quality of each set for which single ratings were published."""


def read(raw: RawFolder, name: str, variant: str) -> Rated:
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
