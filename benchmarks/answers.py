"""How well do the dimensions of `--task rag` and `--task conversation` tell good from bad?

    python benchmarks/answers.py [--data ../shared] [--rows N] [--by METRIC] [--fast] [--write] [PART ...]

Parts: support, contexts (wice), relevance (TREC-QA), questions, correct (MultiRC), noise, correct-written, met, rated,
retention. None of them was trained on or fitted, save where the line says so. Areas are under the ROC curve, .5 is
chance; intervals are 95 %, by resampling whole questions, documents or dialogues. `--write` puts the figures into the
tables of docs/metrics/rag.md and conversation.md, where those of other parts stay.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import quintet
from quintet.core.score import Score
from quintet.models.open import identity
from quintet.text.abstention import abstains

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "training" / "data" / "written"
BLOCK, LONGEST = 5, 120
"""Sentences of a context made from wice's evidence; evidence that is longer than LONGEST is left out."""
BY = "evaluator-claims-document"
MARKS = "<!-- answers -->", "<!-- /answers -->"
HEAD = "| dimension | on what | |\n|---|---|---:|"
ASKED = "Where the reader is asked, it was"
Row = dict[str, Any]
Judged = tuple[float, bool]
MET = {"request_met": "rag-answer-relevance", "request_met, `--fast`": "rag-answer-relevance:fast=true"}
FOUND: dict[tuple[str, str], str] = {}
"""By dimension and data, what was said of it."""


def read(path: Path) -> list[Row]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def written(kind: str) -> list[Row]:
    return [row for path in sorted(WRITTEN.glob(f"{kind}_*.jsonl")) for row in read(path)]


def some(rows: Sequence[Any], n: int) -> list[Any]:
    """`n` of them, spread evenly; all if there are fewer."""
    return [rows[at] for at in np.linspace(0, len(rows) - 1, n).astype(int)] if 0 < n < len(rows) else list(rows)


def area(pairs: Sequence[Judged]) -> float:
    good, bad = ([value for value, true in pairs if true == side and not math.isnan(value)] for side in (True, False))
    if not good or not bad:
        return math.nan
    ranks = np.searchsorted(np.sort(bad), good, "left") + np.searchsorted(np.sort(bad), good, "right")
    return float(ranks.sum() / (2 * len(good) * len(bad)))


def interval(groups: Sequence[Sequence[Any]], value: Callable[[Sequence[Any]], float]) -> str:
    rng = np.random.default_rng(0)
    drawn = [
        value([one for at in rng.integers(len(groups), size=len(groups)) for one in groups[at]]) for _ in range(1000)
    ]
    low, high = np.percentile([one for one in drawn if not math.isnan(one)], [2.5, 97.5])
    return f"[{low:.2f}, {high:.2f}]"


def told(dimension: str, data: str, groups: Sequence[Sequence[Judged]]) -> None:
    """The area over all pairs, with the numbers of good and bad ones."""
    pairs = [one for own in groups for one in own]
    good = sum(true for _, true in pairs)
    say(dimension, f"{data} ({good}, {len(pairs) - good})", f"{area(pairs):.2f} {interval(groups, area)}")


def say(dimension: str, data: str, figure: str) -> None:
    FOUND[dimension, data] = figure
    print(f"{dimension}, {data}: {figure}", flush=True)


def write(page: Path, reads: bool) -> None:
    """Rows of the same dimension and data are replaced; the numbers of rows in brackets may differ. `reads`: the reader
    was asked, and the table says which one."""
    before, _, rest = page.read_text("utf-8").partition(MARKS[0])
    inside, _, after = rest.partition(MARKS[1])
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in inside.splitlines() if "|" in line]
    rows = {_key(*cell[:2]): cell for cell in cells[2:]}
    rows |= {_key(*key): [*key, figure] for key, figure in FOUND.items()}
    made = "\n".join(f"| {' | '.join(cell)} |" for _, cell in sorted(rows.items()))
    known = next((line for line in inside.splitlines() if line.startswith(ASKED)), "")
    asked = f"{ASKED} {identity('bundled:reader').partition('/')[0]}." if reads else known
    told = f"{HEAD}\n{made}\n\n{asked}".rstrip()
    page.write_text(f"{before}{MARKS[0]}\n{told}\n{MARKS[1]}{after}", "utf-8")


def _key(dimension: str, data: str) -> tuple[str, str]:
    return dimension, re.sub(r" \(\d+(?:, \d+)?\)$", "", data)


def share(rights: Sequence[Any]) -> float:
    return float(np.mean(rights))


def grouped(keys: Sequence[Any], pairs: Sequence[Any]) -> list[list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for key, one in zip(keys, pairs, strict=True):
        found[key].append(one)
    return list(found.values())


def ask(metric: str, rows: Sequence[Mapping[str, Any]]) -> list[Score]:
    result = quintet.score([{"id": str(at), **row} for at, row in enumerate(rows)], metrics=[metric])
    return [next(iter(row.values())) for row in result]


def support(by: str, data: Path, n: int) -> None:
    """A true and an untrue wording of one claim beside their source; the reader learnt from all but 6 % of these."""
    from quintet_train.reader.data import held_out
    from quintet_train.reader.data import written as groups

    rows = [group for group in groups() if group.source == "written facts" and held_out(group)]
    asked = [(at, claim) for at, group in enumerate(rows) for claim in group.claims if claim.pair is not None]
    asked = some(asked, n)
    given = [{"source": rows[at].context, "output": claim.text} for at, claim in asked]
    values = [score.value for score in ask(by, given)]
    true = [(value, claim.label == 0) for value, (_, claim) in zip(values, asked, strict=True)]
    told(
        _by("support", by),
        "true and untrue wordings beside sources that the reader did not see",
        grouped([at for at, _ in asked], true),
    )


def contexts(by: str, data: Path, n: int) -> None:
    """wice's claims as references, its evidence in blocks as contexts."""
    rows = [row for row in read(data / "benchmarks/wice/claim_dev.jsonl.gz") if len(row["evidence"]) <= LONGEST]
    rows = some(rows, n)
    given, needed = [], []
    for row in rows:
        starts = range(0, len(row["evidence"]), BLOCK)
        given.append(
            {
                "output": row["claim"],
                "contexts": [" ".join(row["evidence"][s : s + BLOCK]) for s in starts],
                "references": [row["claim"]],
                "question": "What is known?",
            }
        )
        lines = {line for one in row["supporting_sentences"] for line in one}
        needed.append([bool(lines & set(range(s, s + BLOCK))) for s in starts])
    scores = ask(f"rag-context-precision:by={by}", given)
    chances = [
        [score.parts[f"context {k}"] for k in range(1, len(own) + 1)] for score, own in zip(scores, needed, strict=True)
    ]
    found = [
        list(zip(own, gold, strict=True))
        for own, gold, row in zip(chances, needed, rows, strict=True)
        if row["label"] == "supported"
    ]
    told(_by("context_precision", by), "wice: is a context needed?", found)
    recalled = [score.value for score in ask(f"rag-context-recall:by={by}", given)]
    for wrong in ("not_supported", "partially_supported"):
        pairs = [
            [(value, row["label"] == "supported")]
            for value, row in zip(recalled, rows, strict=True)
            if row["label"] in ("supported", wrong)
        ]
        told(_by("context_recall", by), f"wice: claims supported, or {wrong.replace('_', ' ')}", pairs)


def relevance(by: str, data: Path, n: int) -> None:
    rows = [row for row in read(data / "corpora/trec_qa/trec_qa.jsonl.gz") if row["split"] == "test"]
    rows = some(rows, n)
    given = [{"question": row["hypothesis"], "contexts": [row["premise"]], "output": "-"} for row in rows]
    values = [score.value for score in ask("rag-context-relevance", given)]
    pairs = [(value, row["label"] == "supported") for value, row in zip(values, rows, strict=True)]
    told(
        "context_relevance",
        "TREC-QA's test part: the sentence answers, or not",
        grouped([row["group"] for row in rows], pairs),
    )


def questions(by: str, data: Path, n: int) -> None:
    rows = some(read(data / "corpora/multirc/multirc_answerability.jsonl.gz"), n)
    given = [{"question": row["question"], "contexts": [row["sentence"]], "output": "-"} for row in rows]
    values = [score.value for score in ask("rag-context-relevance", given)]
    pairs = [(value, bool(row["answerable"])) for value, row in zip(values, rows, strict=True)]
    told(
        "context_relevance", "MultiRC: the sentence answers, or not", grouped([row["question"] for row in rows], pairs)
    )


def multirc(data: Path) -> list[Row]:
    """Questions with answers that are right, of which the longest becomes the reference, and wrong ones."""
    asked: dict[tuple[str, str], Row] = {}
    for row in read(data / "corpora/multirc/multirc_answer_verification.jsonl.gz"):
        found = re.search(r"(.*?)Question: (.*?)\s*Correct Answer: (.*)", row["text"], re.DOTALL)
        if not found or len(found[3].strip()) < 4:  # "ok." and "no." say nothing of their own
            continue
        one = asked.setdefault((found[1], found[2].strip()), {"good": [], "bad": []})
        one["good" if row["correct"] else "bad"].append(found[3].strip())
    kept = []
    for (text, question), one in asked.items():
        good = sorted(dict.fromkeys(one["good"]), key=lambda answer: (-len(answer), answer))
        if len(good) > 1 and one["bad"]:
            kept.append({"text": text, "question": question, "reference": good[0], "good": good[1:], "bad": one["bad"]})
    return kept


def correct(by: str, data: Path, n: int) -> None:
    _correct("MultiRC: another right answer as the reference", by, some(multirc(data), n))


def correct_written(by: str, data: Path, n: int) -> None:
    rows = [
        {
            "question": item["question"],
            "reference": item["good"][1],
            "good": item["good"][:1],
            "bad": [bad["x"] for bad in item["bad"] if bad["kind"] in ("wrong", "contradicting", "unsupported")],
        }
        for row in written("answers")
        for item in row["items"]
        if not any(map(abstains, item["good"]))
    ]
    _correct("written answers, right or wrong; the reader learnt from them beside their sources", by, some(rows, n))


def _by(dimension: str, by: str) -> str:
    return dimension if by == BY else f"{dimension} (`by={by}`)"


def _correct(what: str, by: str, rows: Sequence[Row]) -> None:
    asked = [(at, text, side) for at, row in enumerate(rows) for side in ("good", "bad") for text in row[side]]
    given = [
        {"question": rows[at]["question"], "references": [rows[at]["reference"]], "output": text}
        for at, text, _ in asked
    ]
    values = [score.value for score in ask(f"rag-answer-correctness:by={by}", given)]
    pairs = [(value, side == "good") for value, (_, _, side) in zip(values, asked, strict=True)]
    told(_by("answer_correctness", by), what, grouped([at for at, _, _ in asked], pairs))
    for side in ("good", "bad"):
        own = [value for value, (_, _, one) in zip(values, asked, strict=True) if one == side]
        low, middle, high = np.percentile(own, [25, 50, 75])
        print(f"  {side}: quartiles {low:.2f} {middle:.2f} {high:.2f}, {np.mean(np.array(own) >= 0.5):.2f} reach .5")


def noise(by: str, data: Path, n: int) -> None:
    """True of the source and beside the point, against right answers and against ones that the source does not say."""
    items = [(row["source"], item) for row in written("answers") for item in row["items"]]
    items = some([(source, item) for source, item in items if not any(map(abstains, item["good"]))], n)
    asked = []
    for at, (_, item) in enumerate(items):
        asked.append((at, item["good"][0], "good"))
        asked += [(at, bad["x"], bad["kind"]) for bad in item["bad"]]
    given = [
        {
            "question": items[at][1]["question"],
            "contexts": [items[at][0]],
            "references": [items[at][1]["good"][1]],
            "output": text,
        }
        for at, text, _ in asked
    ]
    values = [score.value for score in ask(f"rag-noise-sensitivity:by={by}", given)]
    for word, other in (("right", ("good",)), ("wrong", ("wrong", "contradicting", "unsupported"))):
        chosen = [at for at, (_, _, kind) in enumerate(asked) if kind in (*other, "true_not_answering")]
        pairs = [(values[at], asked[at][2] == "true_not_answering") for at in chosen]
        told(
            _by("noise_sensitivity", by),
            f"written answers, which the reader learnt from: true of the context and beside the point, or {word}",
            grouped([asked[at][0] for at in chosen], pairs),
        )


def met(by: str, data: Path, n: int) -> None:
    """Written replies to a turn that asks: those that answer, and those that leave the question where it is."""
    rows = some([row for row in written("dialogue") if row["turns"][-1].rstrip().endswith("?")], n)
    kinds = {"ignores_question": "ignore it", "off_topic": "off the topic", "dull": "dull", "parrot": "parroting"}
    asked = [(at, text, "good") for at, row in enumerate(rows) for text in row["good"]]
    asked += [(at, bad["x"], bad["kind"]) for at, row in enumerate(rows) for bad in row["bad"] if bad["kind"] in kinds]
    given = [{"question": rows[at]["turns"][-1], "history": rows[at]["turns"], "output": text} for at, text, _ in asked]
    for dimension, metric in MET.items():
        values = [score.value for score in ask(metric, given)]
        for kind, words in {"": "of any kind", **kinds}.items():
            chosen = [at for at, (_, _, own) in enumerate(asked) if not kind or own in ("good", kind)]
            pairs = [(values[at], asked[at][2] == "good") for at in chosen]
            what = f"written replies to a question, and bad ones: {words}"
            told(dimension, what, grouped([asked[at][0] for at in chosen], pairs))


def rated(by: str, data: Path, n: int) -> None:
    """ConTurE: people's 0, 1 or 2 for each reply; the turns in which the user asks something, and all."""
    rows = some(read(data / "benchmarks/conture/conture.jsonl.gz"), n)
    asked = []
    for at, row in enumerate(rows):
        before: list[str] = []
        for said, reply, rating in row["turns"]:
            if said.strip() and reply.strip():
                asked.append((at, [*before, said], reply, float(rating)))
            before += [said, reply]
    given = [{"question": turns[-1], "history": turns, "output": reply} for _, turns, reply, _ in asked]
    for dimension, metric in MET.items():
        values = [score.value for score in ask(metric, given)]
        for what in ("replies", "replies to a question"):
            chosen = [k for k, (_, turns, _, _) in enumerate(asked) if what == "replies" or "?" in turns[-1]]
            pairs = [(values[k], asked[k][3]) for k in chosen]
            groups = grouped([asked[k][0] for k in chosen], pairs)
            figure = f"Spearman {spearman(pairs):.2f} {interval(groups, spearman)}"
            say(dimension, f"ConTurE's ratings of {what} ({len(pairs)})", figure)


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    ranks = []
    for values in np.array(pairs).T:
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - 0.5 * (counts - 1))[places])
    return float(np.corrcoef(ranks)[0, 1])


def retention(by: str, data: Path, n: int) -> None:
    """Questions of SGD's assistants: asked where they stand, and again after the user has answered them.

    The words are the same; what was said before is not. The user's answer gives the slots that were asked for.
    """
    found: list[tuple[int, list[str], str, bool]] = []
    for at, row in enumerate(some(read(data / "corpora/sgd/sgd.jsonl.gz"), n)):
        turns = row["turns"]
        for k in range(1, len(turns) - 3, 2):
            speaker, text, acts = turns[k]
            asks = {slot for act, slot, _ in acts if act == "REQUEST"}
            given = {slot for act, slot, _ in turns[k + 1][2] if act == "INFORM"}
            if speaker == "SYSTEM" and asks and asks <= given and all(act == "REQUEST" for act, _, _ in acts):
                said = [one for _, one, _ in turns]
                found += [(at, said[:k], text, True), (at, said[: k + 4], text, False)]
                break
    rows = [{"history": before, "output": text} for _, before, text, _ in found]
    values = [score.value for score in ask("conversation-retention", rows)]
    pairs = [(value, good) for value, (_, _, _, good) in zip(values, found, strict=True)]
    at = [at for at, *_ in found]
    told("retention", "SGD: questions at their place, and once more after the answer", grouped(at, pairs))
    right = [[(a[0] > b[0]) + 0.5 * (a[0] == b[0])] for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    say("retention", f"the same, in order ({len(right)})", f"{share(right):.2f} {interval(right, share)}")
    for good, what in ((True, "at their place"), (False, "once more")):
        own = [[value < 0.5] for value, side in pairs if side == good]
        say("retention", f"marked as asked again: {what} ({len(own)})", f"{share(own):.2f} {interval(own, share)}")


TALK = ("met", "rated", "retention")
PARTS = {
    "support": support, "contexts": contexts, "relevance": relevance, "questions": questions, "correct": correct,
    "correct-written": correct_written, "noise": noise, "met": met, "rated": rated, "retention": retention,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--rows", type=int, default=0, help="rows, questions or dialogues of each part; 0: all")
    parser.add_argument("--by", default=BY, help="what is asked whether a text supports another")
    parser.add_argument("--fast", action="store_true", help="request_met without the language model alone")
    parser.add_argument("--write", action="store_true", help="put the figures into the pages")
    given = parser.parse_args()
    if given.fast:
        del MET["request_met"]
    for name in given.parts or PARTS:
        FOUND.clear()
        PARTS[name](given.by, given.data, given.rows)
        if given.write:
            reads = given.by == BY and name not in (*TALK, "relevance", "questions")
            write(ROOT / "docs" / "metrics" / ("conversation.md" if name in TALK else "rag.md"), reads)


if __name__ == "__main__":
    main()
