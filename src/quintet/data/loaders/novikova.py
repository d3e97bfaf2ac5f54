"""Data-to-text ratings of Novikova et al. 2017: BAGEL, SFHOT, SFRES; medians of three raters.

Variants: `tokenised` and truecased text as UniEval and BARTScore use it; `raw` text of the published table.
"""

from __future__ import annotations

from quintet.core.example import Example
from quintet.data.rated import Rated, from_means
from quintet.data.raw_files import RawFolder


def read(raw: RawFolder, name: str, variant: str) -> Rated:
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
