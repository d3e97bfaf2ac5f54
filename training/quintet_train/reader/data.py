"""What the reader learns from: groups of claims about one context, in which wording tells nothing about truth.

`python -m quintet_train.reader.data --data ../shared/corpora` prints the report: rows by part, source, label and terms,
and how far word coverage, length and copied word triples tell the label, with and without the weights of `balanced`.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from quintet.text.normalize import detokenise
from quintet.text.sentences import sentences
from quintet.text.tokens import words
from quintet_train.text.claims import falsify
from quintet_train.text.near_copies import given_to, joined, near_copy, subjects

SUPPORTED, CONTRADICTED, ABSENT, UNSUPPORTED = 0, 1, 2, 3
"""UNSUPPORTED: not supported; the row does not say whether it is contradicted or absent."""
LABELS = {
    "entailment": SUPPORTED, "supported": SUPPORTED, "1": SUPPORTED, "Fully attributable": SUPPORTED,
    "contradiction": CONTRADICTED, "neutral": ABSENT,
    "not_entailment": UNSUPPORTED, "unsupported": UNSUPPORTED, "0": UNSUPPORTED, "Not fully attributable": UNSUPPORTED,
}  # fmt: skip
WRITTEN = Path(__file__).parents[2] / "data" / "written"
BUDGET = 260
"""Words of a context that is chosen from a longer document."""


@dataclass(frozen=True)
class Claim:
    text: str
    label: int | None
    """None: nothing is known about its support."""
    wrong: tuple[tuple[int, int], ...] | None = None
    """Character ranges of the words at fault; () for a claim without fault, None where nobody marked them."""
    fit: float | None = None
    """How well it serves as a summary, reply or answer; None where the row does not say."""
    pair: int = -1
    """Number of the pair of twins it belongs to: they are kept side by side."""
    weight: float = 1.0


@dataclass(frozen=True)
class Group:
    source: str
    part: str
    context: str
    claims: tuple[Claim, ...]
    kinds: tuple[str, ...] = field(default=())


def selected(context: str, claims: Sequence[str], budget: int = BUDGET) -> str:
    """The sentences that share most with the claims, each with its neighbours, in the document's order."""
    pieces = sentences(context, "line")
    sizes = [len(piece.text.split()) for piece in pieces]
    if sum(sizes) <= budget or len(pieces) < 2:
        return context if sum(sizes) <= 2 * budget else " ".join(context.split()[: 2 * budget])
    bags = [{word.text.casefold() for word in words(piece.text)} for piece in pieces]
    seen = Counter(word for bag in bags for word in bag)
    chosen: set[int] = set()
    wanted = [{word.text.casefold() for word in words(claim)} for claim in claims]
    ranked = []
    for bag in wanted:
        scores = [
            sum(math.log(1 + len(bags) / seen[word]) for word in bag & own) / math.sqrt(6 + len(own)) for own in bags
        ]
        ranked.append(sorted(range(len(bags)), key=lambda index: -scores[index]))
    for rank in range(len(bags)):
        for order in ranked:
            for index in (order[rank], order[rank] - 1, order[rank] + 1):
                if 0 <= index < len(bags) and index not in chosen:
                    if sum(sizes[one] for one in chosen) + sizes[index] > budget:
                        return " ".join(pieces[one].text for one in sorted(chosen)) or pieces[order[0]].text
                    chosen.add(index)
    return context


def changed_words(claim: str, true: str) -> tuple[tuple[int, int], ...] | None:
    """Where `claim` has words that `true` has not; None if it only lacks some."""
    own, other = words(claim), words(true)
    matcher = difflib.SequenceMatcher(
        None, [word.text.casefold() for word in own], [word.text.casefold() for word in other], autojunk=False
    )
    found = [(own[a].start, own[b - 1].end) for tag, a, b, _, _ in matcher.get_opcodes() if tag != "equal" and b > a]
    return tuple(found) or None


# ---- written groups


def written(folder: Path = WRITTEN) -> Iterator[Group]:
    for path in sorted(folder.glob("*.jsonl")):
        kind = path.stem.partition("_")[0]
        for line in path.read_text("utf-8").splitlines():
            yield from _WRITTEN[kind](json.loads(line))


def _facts(row: dict[str, Any]) -> Iterator[Group]:
    source = row["source"]
    own = [piece.text for piece in sentences(source, "line")]
    claims: list[Claim] = []
    kinds: list[str] = []
    for number, pair in enumerate(row["pairs"]):
        label = ABSENT if pair["label"] == "n" else CONTRADICTED
        wrong = changed_words(pair["f"], pair["t"])
        if wrong and sum(end - start for start, end in wrong) > 0.6 * len(pair["f"]):
            wrong = None
        claims += [Claim(pair["t"], SUPPORTED, (), pair=number), Claim(pair["f"], label, wrong, pair=number)]
        kinds += [pair["kind"]] * 2
    for near in row["near"]:
        nearest = max(own, key=lambda one: difflib.SequenceMatcher(None, one, near["x"], autojunk=False).ratio())
        label = ABSENT if near["label"] == "n" else CONTRADICTED
        claims.append(Claim(near["x"], label, changed_words(near["x"], nearest)))
        kinds.append(near["kind"])
    claims += [Claim(text, SUPPORTED, ()) for text in row["near_true"]]
    kinds += ["true"] * len(row["near_true"])
    rng = Random(source)
    made = list(near_copies(rng.sample(own, min(3, len(own))), source, rng, first=len(row["pairs"])))
    at = rng.randrange(max(1, len(own) - 1))
    made += near_copies(own[at : at + 2], source, rng, together=True, first=99) if len(own) > 1 else ()
    claims += made
    kinds += ["made by rule"] * len(made)
    yield Group("written facts", "written", source, tuple(claims), tuple(kinds))


def turns_text(turns: Sequence[str]) -> str:
    """Turns as lines, so that the reply is B's."""
    return "\n".join(f"{'BA'[(len(turns) - at) % 2]}: {turn}" for at, turn in enumerate(turns))


def _dialogue(row: dict[str, Any]) -> Iterator[Group]:
    labels = {"contradicts_fact": CONTRADICTED, "contradicts_turn": CONTRADICTED, "unsupported": ABSENT}
    claims = [Claim(text, SUPPORTED, (), fit=1.0, weight=0.6) for text in row["good"]]
    for bad in row["bad"]:
        claims.append(Claim(bad["x"], labels.get(bad["kind"]), None, fit=0.0))
    yield Group("written dialogue", "written", row["fact"] + "\n" + turns_text(row["turns"]), tuple(claims))


def _relevance(row: dict[str, Any]) -> Iterator[Group]:
    fits = {3: 1.0, 2: 0.5, 1: 0.2, 0: 0.0}
    claims = [Claim(one["x"], SUPPORTED, (), fit=fits[one["tier"]], weight=0.7) for one in row["summaries"]]
    yield Group("written relevance", "written", row["source"], tuple(claims))


def asked(context: str, question: str) -> str:
    return f"{context}\nQuestion: {question}"


def _answers(row: dict[str, Any]) -> Iterator[Group]:
    known = {
        "wrong": UNSUPPORTED, "contradicting": CONTRADICTED, "unsupported": ABSENT, "false_abstention": CONTRADICTED,
        "true_not_answering": SUPPORTED,
    }  # fmt: skip
    for item in row["items"]:
        claims = [Claim(text, SUPPORTED, (), fit=1.0) for text in item["good"]]
        claims += [Claim(bad["x"], known.get(bad["kind"]), None, fit=0.0) for bad in item["bad"]]
        yield Group("written answers", "written", asked(row["source"], item["question"]), tuple(claims))


_WRITTEN = {"facts": _facts, "dialogue": _dialogue, "relevance": _relevance, "answers": _answers}


# ---- corpora


@dataclass(frozen=True)
class Source:
    name: str
    file: str
    part: str
    weight: float
    terms: str
    release: str
    only: dict[str, list[str]] = field(default_factory=dict)


def known_sources() -> list[Source]:
    raw = tomllib.loads((Path(__file__).parent / "sources.toml").read_text("utf-8"))
    return [Source(name=name, **facts) for name, facts in raw.items()]


def _rows(folder: Path, file: str) -> Iterator[dict[str, Any]]:
    name = f"{file}.jsonl.gz"
    overlap = folder / "overlap_rows.tsv"
    dropped = {
        int(cells[1]) for line in overlap.read_text("utf-8").splitlines()[1:] if (cells := line.split("\t"))[0] == name
    }
    with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at not in dropped:
                yield json.loads(line)


def pairs(source: Source, folder: Path) -> Iterator[Group]:
    """Groups of a corpus of pairs: rows with the same premise stand together."""
    together: dict[str, list[Claim]] = defaultdict(list)
    for row in _rows(folder, source.file):
        if any(str(row.get(name)) not in values for name, values in source.only.items()):
            continue
        label = LABELS.get(str(row.get("label")))
        premise = row.get("premise") or row.get("s1") or row.get("knowledge")
        claim = row.get("hypothesis") or row.get("s2") or row.get("response")
        if label is None or not premise or not claim or "cmu" in str(row.get("file", "")):
            continue
        if row.get("question") and source.name == "contrast_sets":
            premise = asked(premise, row["question"])
        spans = row.get("spans")
        wrong: tuple[tuple[int, int], ...] | None = () if label == SUPPORTED else None
        if spans and label != SUPPORTED:
            wrong = tuple((start, end) for start, end, *_ in spans)
        else:
            claim = detokenise(claim)
        weight = 0.4 if source.name in ("begin", "q2", "contrast_sets", "parade") else 1.0
        together[detokenise(premise)].append(Claim(claim, label, wrong, weight=weight))
    for premise, claims in together.items():
        yield Group(source.name, source.part, premise, tuple(claims))


_CUE = re.compile(r"\b(he|she|it|they|his|her|their|this|that|these|those)\b", re.IGNORECASE)


def near_copies(own: Sequence[str], whole: str, rng: Random, together: bool = False, first: int = 0) -> Iterator[Claim]:
    """Sentences said more briefly, in another order, or two as one; each beside itself with one thing changed."""
    if together:
        made = [joined(near_copy(own[0], rng, 1) or own[0], own[1], rng)]
    else:
        made = [near_copy(text, rng) for text in own]
    for number, text in enumerate(made, first):
        if text is None:
            continue
        edit = falsify(text, whole, rng, pruned=False)
        yield Claim(text, SUPPORTED, (), pair=number if edit else -1)
        if edit:
            yield Claim(edit.text, CONTRADICTED, changed_words(edit.text, text), pair=number)


def documents(source: Source, folder: Path, rng: Random) -> Iterator[Group]:
    """Copied and shortened sentences (supported), the same with one thing changed or said of another person, and copies
    whose sentence is taken out (absent)."""
    before: list[str] = []
    for row in _rows(folder, source.file):
        whole = detokenise(row["document"])
        own = [piece.text for piece in sentences(whole, "line") if 6 <= len(piece.text.split()) <= 45]
        if len(own) < 6:
            continue
        size = rng.choice((8, 12, 16))
        start = rng.randrange(max(1, len(own) - size + 1))
        window = own[start : start + size]
        claims: list[Claim] = []
        picked = rng.sample(range(len(window)), min(7, len(window)))
        claims.append(Claim(window[picked[0]], SUPPORTED, ()))
        edit = falsify(window[picked[1]], whole, rng, pruned=False)
        if edit:
            claims.append(Claim(edit.text, CONTRADICTED, changed_words(edit.text, window[picked[1]])))
        claims += near_copies([window[at] for at in picked[:4]], whole, rng)
        after = picked[4]
        if after + 1 < len(window):
            claims += near_copies([window[after], window[after + 1]], whole, rng, together=True, first=9)
        named = subjects(own, whole)
        given = [(text, other) for text in window if (other := given_to(text, named, rng))]
        for text, other in rng.sample(given, min(2, len(given))):
            claims.append(Claim(other, UNSUPPORTED, changed_words(other, text)))
        clear = [at for at in picked[5:] if not _CUE.search(window[at])]
        for at in clear[:1]:
            claims.append(Claim(window[at], ABSENT, None))
        taken = set(clear[:1])
        if before and rng.random() < 0.5:
            claims.append(Claim(rng.choice(before), ABSENT, None))
        context = " ".join(text for at, text in enumerate(window) if at not in taken)
        yield Group(source.name, source.part, context, tuple(claims))
        summary = [
            line for line in detokenise(str(row.get("summary") or "")).split("\n") if 6 <= len(line.split()) <= 40
        ]
        if source.name == "cnndm" and summary:
            found: list[Claim] = []
            for line in summary[:3]:
                found.append(Claim(line, SUPPORTED, ()))
                edit = falsify(line, whole, rng, pruned=False)
                if edit:
                    found.append(Claim(edit.text, CONTRADICTED, changed_words(edit.text, line)))
            yield Group("cnndm summaries", source.part, selected(whole, summary[:3]), tuple(found))
            main = [Claim(" ".join(summary), None, None, fit=1.0)]
            main += [Claim(" ".join(rng.sample(own, min(3, len(own)))), None, None, fit=0.2)]
            if before:
                main.append(Claim(" ".join(rng.sample(before, min(3, len(before)))), None, None, fit=0.0))
            yield Group("cnndm fit", "replies", selected(whole, summary), tuple(main))
        before = own


_NOISE = re.compile(r"\{\w+\}\s*")
MOST_SPOKEN = 420
"""Words of a part of a meeting; more would not be read whole."""


def meetings(source: Source, folder: Path, rng: Random) -> Iterator[Group]:
    """People's answers about a part of a meeting (supported), with another speaker or one thing changed
    (contradicted), and answers about other parts (absent). Meetings that a validation set quotes are left out."""
    quoted = set(_rows_of_text(Path(__file__).parent / "quoted_meetings.txt"))
    for row in _rows(folder, source.file):
        if row["id"] in quoted:
            continue
        turns = [(speaker, _NOISE.sub("", detokenise(text)).strip()) for speaker, text in row["turns"]]
        speakers = sorted({speaker for speaker, _ in turns})
        parts: list[tuple[str, list[str]]] = []
        for _, answer, spans in row["specific"]:
            own = [turn for start, end in spans for turn in turns[int(start) : int(end) + 1] if turn[1]]
            text = "\n".join(f"{speaker}: {said}" for speaker, said in own)
            said = [piece.text for piece in sentences(detokenise(answer), "line") if 5 <= len(piece.text.split()) <= 45]
            if said and 40 <= len(text.split()) <= MOST_SPOKEN:
                parts.append((text, said))
        for at, (text, said) in enumerate(parts):
            claims = []
            for claim in said[:4]:
                claims.append(Claim(claim, SUPPORTED, ()))
                for edit in (
                    _other_speaker(claim, speakers, rng),
                    getattr(falsify(claim, text, rng, pruned=False), "text", None),
                ):
                    if edit:
                        claims.append(Claim(edit, CONTRADICTED, changed_words(edit, claim)))
            other = parts[(at + 1 + rng.randrange(max(1, len(parts) - 1))) % len(parts)]
            if other[0] != text:
                claims.append(Claim(rng.choice(other[1]), ABSENT, None, weight=0.5))
            yield Group(source.name, source.part, text, tuple(claims))


def _rows_of_text(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def _other_speaker(claim: str, speakers: Sequence[str], rng: Random) -> str | None:
    named = [speaker for speaker in speakers if re.search(rf"\b{re.escape(speaker)}\b", claim)]
    others = [speaker for speaker in speakers if speaker not in named]
    if len(named) != 1 or not others:
        return None
    return re.sub(rf"\b{re.escape(named[0])}\b", lambda _: rng.choice(others), claim)


_DULL = (
    "I see.", "That is nice.", "Okay, good to know.", "I don't know.", "Yeah, me too.", "That's interesting!", "Cool.",
    "I agree with you.", "Really? That is great.", "Oh, wow.", "Sure, why not.", "Haha, that is funny.",
)  # fmt: skip


def replies(source: Source, folder: Path, rng: Random) -> Iterator[Group]:
    """Human replies fit; parrots, dull phrases, replies from elsewhere and scrambled ones do not."""
    before: list[str] = []
    for row in _rows(folder, source.file):
        turns = [detokenise(turn[1]) for turn in row["turns"]]
        for at in rng.sample(range(3, len(turns)), min(3, len(turns) - 3)):
            shown = turns[max(0, at - 4) : at]
            claims = [Claim(turns[at], None, None, fit=1.0)]
            claims.append(Claim(shown[-1] if rng.random() < 0.5 else rng.choice(shown), None, None, fit=0.0))
            claims.append(Claim(rng.choice(_DULL), None, None, fit=0.1))
            if before:
                claims.append(Claim(rng.choice(before), None, None, fit=0.0))
            parts = turns[at].split()
            if len(parts) > 5:
                rng.shuffle(parts)
                claims.append(Claim(" ".join(parts), None, None, fit=0.0))
            yield Group(source.name, source.part, turns_text(shown), tuple(claims))
        before = turns


def everything(folder: Path, seed: int = 0) -> list[Group]:
    rng = Random(seed)
    found = list(written())
    for source in known_sources():
        made = documents(source, folder, rng) if source.part == "copies" else None
        if source.name == "qmsum":
            made = meetings(source, folder, rng)
        if source.part == "replies":
            made = replies(source, folder, rng)
        found += made if made is not None else pairs(source, folder)
    return found


def held_out(group: Group, share: float = 0.06) -> bool:
    """Decided by the context, so that no context stands on both sides."""
    number = int.from_bytes(hashlib.sha256(group.context.encode()).digest()[:4], "big")
    return number < share * 2**32


# ---- balance: within a band of coverage, length and copied triples, as many supported as not


def surface(context: str, claim: str) -> tuple[float, int, float]:
    """Share of the claim's words in the context, its length, share of its word triples in the context."""
    own = [word.text.casefold() for word in words(claim)]
    other = [word.text.casefold() for word in words(context)]
    bag = set(other)
    triples = set(zip(other, other[1:], other[2:], strict=False))
    mine = list(zip(own, own[1:], own[2:], strict=False))
    coverage = sum(word in bag for word in own) / max(1, len(own))
    return coverage, len(own), sum(triple in triples for triple in mine) / max(1, len(mine))


def _cell(values: tuple[float, int, float]) -> tuple[int, int, int]:
    coverage, length, copied = values
    return (min(7, int(coverage * 8)), min(3, length // 9), min(4, int(copied * 5)))


def balanced(groups: Sequence[Group], least: float = 0.2, most: float = 4.0) -> list[Group]:
    """Each claim weighs so that supported and unsupported ones of its cell weigh the same, part by part."""
    counts: dict[tuple[Any, ...], list[float]] = defaultdict(lambda: [4.0, 4.0])
    cells: list[list[tuple[Any, ...] | None]] = []
    for group in groups:
        row: list[tuple[Any, ...] | None] = []
        for claim in group.claims:
            if claim.label is None:
                row.append(None)
                continue
            cell = (group.part, *_cell(surface(group.context, claim.text)))
            counts[cell][claim.label == SUPPORTED] += claim.weight
            row.append(cell)
        cells.append(row)
    out = []
    for group, row in zip(groups, cells, strict=True):
        claims = []
        for claim, own in zip(group.claims, row, strict=True):
            if own is None:
                claims.append(claim)
                continue
            wrong, right = counts[own]
            share = (right if claim.label == SUPPORTED else wrong) / (right + wrong)
            claims.append(replace(claim, weight=claim.weight * min(most, max(least, 0.5 / share))))
        out.append(replace(group, claims=tuple(claims)))
    return out


def report(folder: Path, most: int = 20_000) -> str:
    """`most`: claims of each part that the classifiers on wording see."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    groups = balanced([group for group in everything(folder) if not held_out(group)])
    lines = []
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    for group in groups:
        for claim in group.claims:
            by_source[f"{group.part} / {group.source}"][str(claim.label)] += 1
    lines.append(f"{'part / source':42}{'supported':>10}{'contrad.':>10}{'absent':>10}{'unsupp.':>10}{'fit only':>10}")
    for name, count in sorted(by_source.items()):
        lines.append(f"{name:42}" + "".join(f"{count[key]:>10}" for key in ("0", "1", "2", "3", "None")))
    for part in sorted({group.part for group in groups}):
        rows = [(group.context, one) for group in groups if group.part == part for one in group.claims]
        rows = [(context, one) for context, one in rows if one.label is not None]
        found = len(rows)
        rows = Random(0).sample(rows, min(found, most))
        values = [surface(context, claim.text) for context, claim in rows]
        labels = [int(claim.label == SUPPORTED) for _, claim in rows]
        weights = [claim.weight for _, claim in rows]
        if len(set(labels)) < 2:
            continue
        model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        plain = cross_val_predict(model, values, labels, cv=5, method="predict_proba")[:, 1]
        fitted = cross_val_predict(
            model, values, labels, cv=5, method="predict_proba", params={"sample_weight": weights}
        )[:, 1]
        before = roc_auc_score(labels, plain)
        after = roc_auc_score(labels, fitted, sample_weight=weights)
        lines.append(f"{part:12} {found:7} claims; wording tells the label with AUC {before:.3f}, weighted {after:.3f}")
    kinds = Counter(kind for group in groups for kind in group.kinds)
    lines.append("written claims by kind: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    for source in known_sources():
        lines.append(f"{source.name}: {source.release}; {source.terms}")
    return "\n".join(lines)


def chosen(groups: Iterable[Group], out: bool) -> list[Group]:
    return [group for group in groups if held_out(group) == out]


if __name__ == "__main__":
    import argparse

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    print(report(options.parse_args().data))
