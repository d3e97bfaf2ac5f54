"""Rated replies and dialogues. Each function reads one collection."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from quintet.core.example import Example
from quintet.core.plain import JsonObject
from quintet.data.catalog import entry
from quintet.data.rated import Rated, RawFolder, canonical, from_lists, from_means

_T = TypeVar("_T")

# Development and hidden test sets of DSTC10 track 5.1 (Zhang et al. 2021): responses with lists of ratings by quality.
#
# Two forms: `NAME_eval.json` (turns separated by newlines, system, references), which the hidden test files share, and
# `NAME.jsonl` (context flattened to one line, so the history is one turn; no system).


def dstc10(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    if name.startswith("dstc10_hidden/"):
        rows = raw.json(f"{name}.json")
    elif raw.find(f"dstc10_dev/{part}_eval.json"):
        rows = raw.json(f"dstc10_dev/{part}_eval.json")
    else:
        rows = raw.jsonl(f"dstc10_dev/{part}.jsonl")
    if not isinstance(rows, list) or not rows:
        raise ValueError("expected a list of rated responses")
    contexts = {text: f"{n:04d}" for n, text in enumerate(dict.fromkeys(row.get("context") for row in rows))}
    ids = _ids(rows)
    examples = [_dstc10_example(row, name, contexts[row.get("context")]) for row, name in zip(rows, ids, strict=True)]
    return from_lists(examples, [row["annotations"] for row in rows], "fed" if part.startswith("fed") else "")


# IM2's categorical data (Jiang et al. 2022, Table 11): the sets above once more, one row per response and quality.

IM2: dict[str, dict[str, tuple[str, ...]]] = {
    "nuf": {
        "dailydialog-zhao": ("grammar",),
        "persona-usr": ("Natural", "Understandable"),
        "topical-usr": ("Natural", "Understandable"),
        "fed-turn": ("Correct", "Understandable", "Fluent"),
    },
    "cr": {
        "dailydialog-zhao": ("relevance",),
        "persona-usr": ("Maintains Context",),
        "topical-usr": ("Maintains Context",),
        "fed-turn": ("Relevant", "Semantically appropriate"),
        **dict.fromkeys(("convai2-grade", "empathetic-grade", "dailydialog-grade", "dstc7", "humod"), ("relevance",)),
    },
    "ies": {
        "dailydialog-zhao": ("content",),
        "persona-usr": ("Engaging",),
        "topical-usr": ("Engaging",),
        "fed-turn": ("Interesting", "Engaging", "Specific"),
        "dstc7": ("informativeness",),
    },
    "overall": dict.fromkeys(
        ("dailydialog-gupta", "dailydialog-zhao", "persona-usr", "topical-usr", "persona-zhao", "fed-turn", "dstc6",
         "dstc7"),
        ("overall",),
    ),
}  # fmt: skip


def im2(raw: RawFolder, name: str, variant: str) -> Rated:
    """Scales differ between the sets, and the paper does not say what it did about that: here all become 0 to 1."""
    category = name.partition("/")[2]
    examples: list[Example] = []
    values: list[float] = []
    for part, qualities in IM2[category].items():
        rated = dstc10(raw, f"dstc10/{part}", "")
        scales = entry(f"dstc10/{part}").scales
        for quality in qualities:
            own = canonical(quality, "fed" if part.startswith("fed") else "")
            low, high = scales[own]
            for example, value in zip(rated.examples, rated.ratings[own], strict=True):
                examples.append(replace(example, id=f"{part}/{quality}/{example.id}", group=None, system=None))
                values.append((float(value) - low) / (high - low))
    return Rated(tuple(examples), {category: np.array(values)}, original_names={category: category})


def _ids(rows: list[JsonObject]) -> list[str]:
    """The dialogue id where it tells rows apart, with the system where that helps, otherwise the row number."""
    plain = [str(row.get("dialogue_id", "")).strip() for row in rows]
    with_system = [f"{name}/{_system(row)}" for name, row in zip(plain, rows, strict=True)]
    for names in (plain, with_system):
        if "" not in plain and max(Counter(names).values()) == 1:
            return names
    return [f"{n:05d}" for n in range(len(rows))]


def _system(row: JsonObject) -> str | None:
    found = row.get("model", row.get("model_name"))
    return None if found is None else str(found)


def _dstc10_example(row: JsonObject, name: str, group: str) -> Example:
    context = row.get("context")
    references = row.get("reference") or ()
    return Example(
        output=row["response"].strip(),
        references=(references,) if isinstance(references, str) else tuple(references),
        history=None if context is None else tuple(turn.strip() for turn in context.strip().split("\n")),
        id=name,
        system=_system(row),
        # Without a context nothing says which responses belong together.
        group=None if context is None else group,
    )


# The two DSTC10 development sets that rate whole dialogues: fed-dial and persona-see.
#
# Each example is a turn pair; its group is the dialogue, whose ratings every turn repeats. A dialogue's score is the
# mean over its turns, as IM2 does it.

PERSONA_SEE_TURNS = 6


def dstc10_dialogues(raw: RawFolder, name: str, variant: str) -> Rated:
    part = name.partition("/")[2]
    turns = raw.jsonl(f"dstc10_dev/{part}_turns.jsonl")
    dialogues = raw.jsonl(f"dstc10_dev/{part}_anno.jsonl")
    lengths = _fed_lengths(raw) if part == "fed-dial" else [PERSONA_SEE_TURNS] * len(dialogues)
    if sum(lengths) != len(turns) or len(lengths) != len(dialogues):
        raise ValueError(f"{len(turns)} turns do not fill {len(dialogues)} dialogues")
    owners = [n for n, length in enumerate(lengths) for _ in range(length)]
    examples = [
        Example(row["response"].strip(), history=(row["context"].strip(),), id=f"{i:05d}", group=f"{owner:04d}")
        for i, (row, owner) in enumerate(zip(turns, owners, strict=True))
    ]
    ratings = [dialogues[owner] for owner in owners]
    return from_lists(examples, ratings, "fed" if part == "fed-dial" else "", unit="group")


def _fed_lengths(raw: RawFolder) -> list[int]:
    """Turn pairs per dialogue; the DSTC10 file does not say where a dialogue ends, FED's own does."""
    rows = raw.json("fed/fed_data.json")
    return [len(row["context"].split("\n")) // 2 for row in rows if "response" not in row]


# FED (Mehri and Eskenazi 2020): responses and whole dialogues of Meena, Mitsuku and people, five annotators.
#
# fed_dialog has two variants. `whole`: one example per dialogue, the output being all that the system said, the history
# all that the user said. `turns`: one example per system turn with what came before; a dialogue's score is their mean.

Turn = tuple[str, str]


def fed(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.json("fed/fed_data.json")
    kept = [row for row in rows if ("response" in row) == (name == "fed_turn")]
    if name == "fed_turn":
        return from_lists(_responses(kept), [row["annotations"] for row in kept], "fed")
    dialogues = [_turns(row["context"]) for row in kept]
    if variant == "whole":
        whole = [
            _whole(turns, row["system"], f"{n:03d}") for n, (turns, row) in enumerate(zip(dialogues, kept, strict=True))
        ]
        return from_lists(whole, [row["annotations"] for row in kept], "fed")
    examples, ratings = [], []
    for n, (turns, row) in enumerate(zip(dialogues, kept, strict=True)):
        for place in (i for i, (speaker, _) in enumerate(turns) if speaker == "System"):
            history = tuple(text for _, text in turns[:place])
            group = f"{n:03d}"
            examples.append(
                Example(turns[place][1], history=history, id=f"{group}/{place:02d}", system=row["system"], group=group)
            )
            ratings.append(row["annotations"])
    return from_lists(examples, ratings, "fed", unit="group")


def _responses(rows: list[JsonObject]) -> list[Example]:
    return [
        Example(
            output=_turns(row["response"])[0][1],
            history=tuple(text for _, text in _turns(row["context"])),
            id=f"{n:03d}",
            system=row["system"],
            # Three responses of each dialogue were rated.
            group=f"{n // 3:03d}",
        )
        for n, row in enumerate(rows)
    ]


def _whole(turns: list[Turn], system: str, name: str) -> Example:
    said = {who: tuple(text for speaker, text in turns if speaker == who) for who in ("System", "User")}
    return Example("\n".join(said["System"]), history=said["User"], id=name, system=system, group=name)


def _turns(text: str) -> list[Turn]:
    """`User: …` and `System: …` lines; a line without a speaker goes on with the turn before it."""
    turns: list[Turn] = []
    for line in text.split("\n"):
        speaker, colon, said = line.partition(":")
        if colon and speaker in ("User", "System"):
            turns.append((speaker, said.strip()))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]} {line.strip()}".strip())
        else:
            turns.append(("User", line.strip()))
    return turns


# GRADE (Huang et al. 2020): coherence of 1,200 responses, about ten ratings each; two turns of context.

PARTS = {"convai2": "convai2", "dailydialog": "dailydialog_EVAL", "empathetic": "empatheticdialogues"}


def grade(raw: RawFolder, name: str, variant: str) -> Rated:
    part = PARTS[name.partition("/")[2]]
    rows = [row for row in raw.json("grade/human_judgement.json") if row["Dataset"] == part]
    references = _references(raw, part.removesuffix("_EVAL"))
    contexts = {text: f"{n:03d}" for n, text in enumerate(dict.fromkeys(row["Context"] for row in rows))}
    examples = [
        Example(
            output=row["Response"].strip(),
            references=(references[_grade_key(row["DialogModel"], row["Context"], row["Response"])],),
            history=tuple(turn.strip() for turn in row["Context"].split("|||")),
            id=str(row["ID"]),
            system=row["DialogModel"],
            group=contexts[row["Context"]],
        )
        for row in rows
    ]
    return from_lists(examples, [{"coherence": json.loads(row["HumanScores"])} for row in rows])


def _references(raw: RawFolder, part: str) -> dict[tuple[str, str, str], str]:
    found = {}
    lines = raw.json("grade/eval_data_ctx_ref_hyp.json")
    for path in lines:
        folder, _, file = path.rpartition("/")
        if file == "human_ctx.txt" and folder.startswith(f"{part}/"):
            system = folder.partition("/")[2]
            columns = (lines[f"{folder}/human_{kind}.txt"] for kind in ("ctx", "hyp", "ref"))
            for context, response, reference in zip(*columns, strict=True):
                found[_grade_key(system, context, response)] = reference.strip()
    return found


def _grade_key(system: str, context: str, response: str) -> tuple[str, str, str]:
    return system, " ".join(context.split()), " ".join(response.split())


# DailyDialog with several references (Gupta et al. 2019): 100 contexts, 5 systems, mean appropriateness.


def gupta_multiref(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = raw.csv("gupta2019_multiref/mturk_rating_processed_output.csv")
    examples = [
        Example(
            output=row["response"].strip(),
            references=tuple(reference.strip() for reference in row["all_references"].split("\t")),
            history=tuple(turn.strip() for turn in row["context"].split("||||")),
            id=f"{row['context_id']}/{row['model']}",
            system=row["model"],
            group=row["context_id"],
        )
        for row in rows
    ]
    return from_means(examples, [{"appropriateness": row["human_average_rating"]} for row in rows])


# Predictive Engagement (Ghazarian et al. 2020): how engaging is a reply to one query?
#
# predictive_engagement: 300 DailyDialog queries with a generated and a true reply, three ratings from 1 to 5.
# predictive_engagement/convai: 297 pairs of human-bot chats, engaging or not.

FOLDER = "predictive_engagement/"
GENERATED_ROWS = 900
"""The published table lists the ratings of generated replies first, then those of the true ones."""


def predictive_engagement(raw: RawFolder, name: str, variant: str) -> Rated:
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


# USR's rated responses: Topical-Chat and PersonaChat (Mehri and Eskenazi 2020).

GROUND_TRUTH = "Original Ground Truth"
QUALITIES = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")


def usr_dialogue(raw: RawFolder, name: str, variant: str) -> Rated:
    rows = _topical_chat(raw) if name == "topical_chat" else _persona_chat(raw)
    contexts = {history: f"{n:02d}" for n, history in enumerate(dict.fromkeys(row["history"] for row in rows))}
    truth = {row["history"]: row["response"] for row in rows if row["system"] == GROUND_TRUTH}
    examples = [_usr_example(row, contexts[row["history"]], truth[row["history"]]) for row in rows]
    rated = from_lists(examples, [row["ratings"] for row in rows])
    return replace(rated, raters=[row["raters"] for row in rows] if all(row["raters"] for row in rows) else None)


def _usr_example(row: JsonObject, group: str, truth: str) -> Example:
    """The reference is the original response of the same context, as in USR's own baselines."""
    return Example(
        output=row["response"].strip(),
        context=row["fact"].strip(),
        references=(truth.strip(),),
        history=tuple(turn.strip() for turn in row["history"].strip().split("\n")),
        id=f"{group}/{row['system']}",
        system=row["system"],
        group=group,
    )


def _topical_chat(raw: RawFolder) -> list[JsonObject]:
    """Texts and means from CTC's file, single ratings from DSTC10's, which orders and flattens differently."""
    single = defaultdict(list)
    for row in raw.jsonl("topical_chat_usr/topical-usr_per_annotator_dstc10.jsonl"):
        ratings = row["annotations"]
        means = (sum(ratings[quality]) / len(ratings[quality]) for quality in QUALITIES)
        single[_usr_key(row["context"], row["response"], means)].append(ratings)
    rows = []
    for row in raw.json("topical_chat_usr/topical_chat_ctc.json"):
        means = (row[quality.lower().replace(" ", "_")] for quality in QUALITIES)
        ratings = _only(single[_usr_key(row["dialog_history"], row["response"], means)], row["response"])
        rows.append(_row(row["dialog_history"], row["fact"], row["response"], row["model"], ratings))
    return rows


def _usr_key(history: str, response: str, means: Iterable[float]) -> tuple[str, str, tuple[float, ...]]:
    # One context has the same response from two systems: their means tell them apart.
    return " ".join(history.split()), " ".join(response.split()), tuple(round(mean, 6) for mean in means)


def _only(found: Sequence[_T], response: str) -> _T:
    if not found:
        raise ValueError(f"no single ratings for the response {response[:60]!r}")
    return found[0]


def _persona_chat(raw: RawFolder) -> list[JsonObject]:
    return [
        _row(
            dialogue["context"],
            dialogue["fact"],
            answer["response"],
            answer["model"],
            answer,
            dialogue.get("annotators", ()),
        )
        for dialogue in raw.json("persona_chat_usr/pc_usr_data.json")
        for answer in dialogue["responses"]
    ]


def _row(
    history: str, fact: str, response: str, system: str, ratings: dict[str, list[int]], raters: Sequence[str] = ()
) -> JsonObject:
    kept = {quality: ratings[quality] for quality in QUALITIES}
    texts = {"history": history, "fact": fact, "response": response}
    return {**texts, "system": system, "ratings": kept, "raters": tuple(raters)}
