"""Predictive Engagement (Ghazarian et al. 2020): how engaging is a reply to one query?

predictive_engagement: 300 DailyDialog queries with a generated and a true reply, three ratings from 1 to 5.
predictive_engagement/convai: 297 pairs of human-bot chats, engaging or not.
"""

from __future__ import annotations

from collections import defaultdict

from quintet.core.example import Example
from quintet.data.rated import Rated, from_lists, from_means
from quintet.data.raw_files import RawFolder

FOLDER = "predictive_engagement/"
GENERATED_ROWS = 900
"""The published table lists the ratings of generated replies first, then those of the true ones."""


def read(raw: RawFolder, name: str, variant: str) -> Rated:
    return _convai(raw) if name.endswith("/convai") else _dailydialog(raw)


def _dailydialog(raw: RawFolder) -> Rated:
    ratings: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for n, row in enumerate(raw.csv(f"{FOLDER}Eng_Scores_queries_gen_gtruth_replies.csv")):
        system = "generated" if n < GENERATED_ROWS else "ground truth"
        ratings[(row["query"].strip(), row["response"].strip(), system)].append(row["human_score"])
    queries = {query: f"{n:03d}" for n, query in enumerate(dict.fromkeys(query for query, _, _ in ratings))}
    truth = {query: reply for query, reply, system in ratings if system == "ground truth"}
    examples = [
        Example(
            output=reply,
            references=(truth[query],),
            history=(query,),
            id=f"{n:03d}",
            system=system,
            group=queries[query],
        )
        for n, (query, reply, system) in enumerate(ratings)
    ]
    return from_lists(examples, [{"engaging": people} for people in ratings.values()])


def _convai(raw: RawFolder) -> Rated:
    rows = raw.csv(f"{FOLDER}humanAMT_engscores_utt.csv")
    examples = [Example(row["reply"].strip(), history=(row["query"].strip(),), id=row["id"]) for row in rows]
    return from_means(examples, [{"engaging": row["label"]} for row in rows])
