"""Trains the reader: packed rows of one shape, cross-entropy and order within a context, words at fault, fit.

A run is bounded by its own time. It saves its state every few minutes, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import itertools
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from quintet.text.sentences import sentences
from quintet_train.evaluator.language_grid import four_bit
from quintet_train.export_rounded import BLOCK
from quintet_train.reader import data
from quintet_train.reader.data import SUPPORTED, UNSUPPORTED, Claim, Group
from quintet_train.reader.network import Dense, Reader, opened

START, END = 0, 2
SAVE_EVERY = 7 * 60.0


@dataclass(frozen=True)
class Piece:
    """A context with as many of its claims as fit a row."""

    ids: list[int]
    places: list[int]
    claims: list[int]
    """Number of the claim a token belongs to, from 1; 0 in the context."""
    starts: list[int]
    """Where each claim's first token stands."""
    given: list[Claim]
    faults: list[list[tuple[int, float]]]
    """(token, 1 where a word is at fault) for claims whose words are marked."""


class Packer:
    def __init__(self, tokenizer: Tokenizer, tokens: int, context: int):
        self.tokenizer, self.tokens, self.context = tokenizer, tokens, context

    def pieces(self, group: Group, rng: Random | None) -> Iterator[Piece]:
        text = group.context
        if len(text.split()) > data.BUDGET:
            text = data.selected(text, [claim.text for claim in group.claims])
        head = [START, *self.tokenizer.encode(text, add_special_tokens=False).ids[: self.context], END]
        units = [list(unit) for unit in self._units(group.claims)]
        if rng is not None:
            rng.shuffle(units)
            for unit in units:
                rng.shuffle(unit)
        now: list[tuple[Claim, Any]] = []
        size = len(head)
        for unit in units:
            encoded = [(claim, self.tokenizer.encode(claim.text, add_special_tokens=False)) for claim in unit]
            wanted = sum(min(len(one.ids), 120) + 2 for _, one in encoded)
            if now and size + wanted > self.tokens:
                yield self._piece(head, now)
                now, size = [], len(head)
            if size + wanted <= self.tokens:
                now += encoded
                size += wanted
        if now:
            yield self._piece(head, now)

    def _units(self, claims: Sequence[Claim]) -> Iterator[list[Claim]]:
        """Twins stay together; others come one by one."""
        twins: dict[int, list[Claim]] = {}
        for claim in claims:
            if claim.pair < 0:
                yield [claim]
            else:
                twins.setdefault(claim.pair, []).append(claim)
        yield from twins.values()

    def _piece(self, head: list[int], claims: Sequence[tuple[Claim, Any]]) -> Piece:
        piece = Piece(list(head), list(range(len(head))), [0] * len(head), [], [], [])
        for number, (claim, encoded) in enumerate(claims, 1):
            ids = encoded.ids[:120]
            begin = len(piece.ids)
            piece.starts.append(begin)
            piece.given.append(claim)
            piece.ids.extend([END, *ids, END])
            piece.places.extend(range(len(head), len(head) + len(ids) + 2))
            piece.claims.extend([number] * (len(ids) + 2))
            marks: list[tuple[int, float]] = []
            if claim.wrong is not None:
                for at, (start, end) in enumerate(encoded.offsets[:120]):
                    marks.append((begin + 1 + at, float(any(start < b and end > a for a, b in claim.wrong))))
            piece.faults.append(marks)
        return piece


@dataclass
class Batch:
    ids: Tensor
    places: Tensor
    contexts: Tensor
    claims: Tensor
    at: Tensor
    """(claims,) flat index of each claim's first token."""
    context_of: Tensor
    given: list[Claim]
    fault_at: Tensor
    fault: Tensor


def batches(pieces: Iterator[Piece], rows: int, tokens: int, ahead: int = 48) -> Iterator[Batch]:
    """First fit of the longest first, out of a few dozen pieces that wait."""
    waiting: list[Piece] = []
    while True:
        while len(waiting) < ahead:
            piece = next(pieces, None)
            if piece is None:
                break
            waiting.append(piece)
        if not waiting:
            return
        filled: list[list[Piece]] = [[] for _ in range(rows)]
        free = [tokens] * rows
        oldest = waiting[: ahead // 4]
        for piece in sorted(oldest, key=lambda one: -len(one.ids)) + sorted(
            waiting[ahead // 4 :], key=lambda one: -len(one.ids)
        ):
            row = next((at for at in range(rows) if free[at] >= len(piece.ids)), None)
            if row is not None:
                filled[row].append(piece)
                free[row] -= len(piece.ids)
                waiting.remove(piece)
        yield _batch(filled, tokens)


def _batch(filled: Sequence[Sequence[Piece]], tokens: int) -> Batch:
    shape = (len(filled), tokens)
    ids, places, contexts, claims = (torch.zeros(shape, dtype=torch.long) for _ in range(4))
    ids += 1
    at, context_of, given, fault_at, fault = [], [], [], [], []
    number = 0
    for row, pieces in enumerate(filled):
        begin = 0
        for piece in pieces:
            number += 1
            end = begin + len(piece.ids)
            ids[row, begin:end] = torch.tensor(piece.ids)
            places[row, begin:end] = torch.tensor(piece.places)
            contexts[row, begin:end] = number
            claims[row, begin:end] = torch.tensor(piece.claims)
            base = row * tokens + begin
            at += [base + start for start in piece.starts]
            context_of += [number] * len(piece.starts)
            given += piece.given
            for marks in piece.faults:
                fault_at += [base + token for token, _ in marks]
                fault += [value for _, value in marks]
            begin = end
    return Batch(
        ids, places, contexts, claims, torch.tensor(at, dtype=torch.long), torch.tensor(context_of, dtype=torch.long),
        given, torch.tensor(fault_at, dtype=torch.long), torch.tensor(fault),
    )  # fmt: skip


def losses(outputs: Tensor, batch: Batch) -> dict[str, Tensor]:
    flat = outputs.flatten(0, 1)
    first = flat[batch.at]
    verdicts = first[:, :3].log_softmax(-1)
    labels = torch.tensor([-1 if claim.label is None else claim.label for claim in batch.given])
    weights = torch.tensor([claim.weight for claim in batch.given])
    known = labels >= 0
    absent_or_contradicted = torch.logsumexp(verdicts[:, 1:], -1)
    own = verdicts.gather(1, labels.clamp(0, 2)[:, None])[:, 0]
    loss = -torch.where(labels == UNSUPPORTED, absent_or_contradicted, own)
    found = {"verdict": (loss * weights)[known].sum() / weights[known].sum().clamp(min=1e-6)}
    # Within a context: every supported claim above every unsupported one; twins count four times.
    margin = verdicts[:, 0] - absent_or_contradicted
    true, false = (labels == SUPPORTED), known & (labels != SUPPORTED)
    same = (batch.context_of[:, None] == batch.context_of[None, :]) & true[:, None] & false[None, :]
    if same.any():
        pair = torch.tensor([claim.pair for claim in batch.given])
        twins = (pair[:, None] == pair[None, :]) & (pair[:, None] >= 0)
        importance = same.float() * (1.0 + 3.0 * twins.float())
        found["order"] = (functional.softplus(1.0 - (margin[:, None] - margin[None, :])) * importance).sum()
        found["order"] = found["order"] / importance.sum()
    if len(batch.fault_at):
        bit = functional.binary_cross_entropy_with_logits(flat[batch.fault_at, 3], batch.fault, reduction="none")
        importance = 1.0 + 3.0 * batch.fault
        found["words"] = (bit * importance).sum() / importance.sum()
    wanted = torch.tensor([float("nan") if claim.fit is None else claim.fit for claim in batch.given])
    rated = ~wanted.isnan()
    if rated.any():
        fit = first[:, 4]
        found["fit"] = functional.binary_cross_entropy_with_logits(fit[rated], wanted[rated])
        gap = wanted[:, None] - wanted[None, :]
        above = (batch.context_of[:, None] == batch.context_of[None, :]) & (gap > 0.05)
        if above.any():
            found["fit"] = found["fit"] + functional.softplus(fit[None, :] - fit[:, None])[above].mean()
    return found


IMPORTANCE = {"verdict": 1.0, "order": 0.5, "words": 0.5, "fit": 0.3}


def stream(
    groups: Mapping[str, list[Group]], weights: Mapping[str, float], packer: Packer, rng: Random, shares: Any
) -> Iterator[Piece]:
    """Pieces without end: a part by its share of tokens, a source of it by its weight, its groups in a new order each
    time round. `shares` is asked before each group, since it changes during the run."""
    spent: dict[str, float] = {}
    parts = {group.part: None for own in groups.values() for group in own[:1]}
    by_part: dict[str, list[str]] = {part: [] for part in parts}
    for name, own in groups.items():
        by_part[own[0].part].append(name)
    order: dict[str, Iterator[Group]] = {}

    def shuffled(name: str) -> Iterator[Group]:
        while True:
            own = list(groups[name])
            rng.shuffle(own)
            yield from own

    spent_source: dict[str, float] = dict.fromkeys(groups, 0.0)
    while True:
        wanted = shares()
        part = min(wanted, key=lambda one: spent.get(one, 0.0) / wanted[one])
        name = min(by_part[part], key=lambda one: spent_source[one] / weights[one])
        group = next(order.setdefault(name, shuffled(name)))
        if part == "written" and rng.random() < 0.3:
            other = rng.choice(groups[name])
            group = _embedded(group, other, rng)
        for piece in packer.pieces(group, rng):
            spent[part] = spent.get(part, 0.0) + len(piece.ids)
            spent_source[name] += len(piece.ids)
            yield piece


def _embedded(group: Group, other: Group, rng: Random) -> Group:
    """The context among sentences of another one, so that claims are not always about all of what is read."""
    if "\n" in group.context or other.context == group.context:
        return group
    foreign = [piece.text for piece in sentences(other.context, "line")]
    cut = rng.randrange(len(foreign) + 1)
    before, after = foreign[max(0, cut - 4) : cut], foreign[cut : cut + 4]
    claims = tuple(claim for claim in group.claims if "not say" not in claim.text and "not mention" not in claim.text)
    return replace(group, context=" ".join([*before, group.context, *after]), claims=claims or group.claims)


@torch.no_grad()
def refresh(reader: Reader) -> None:
    """What packing would add to each matrix now."""
    for module in reader.modules():
        if isinstance(module, Dense):
            module.error = four_bit(module.weight).matrix() - module.weight


def as_packed(table: Tensor) -> Tensor:
    """A word table as its packing in 4 bits gives it back."""
    lacking = -len(table) % BLOCK
    filled = torch.cat([table, table.new_zeros(lacking, table.shape[1])])
    return four_bit(filled.T.contiguous()).matrix().T[: len(table)]


@torch.no_grad()
def measured(reader: Reader, held: Sequence[Batch]) -> str:
    reader.eval()
    right = total = ordered = twins = hit = said = marked = 0
    for batch in held:
        with torch.autocast("cpu", torch.bfloat16):
            outputs = reader(batch.ids, batch.places, batch.contexts, batch.claims).flatten(0, 1)
        logits = outputs[batch.at][:, :3]
        chance = logits.softmax(-1)[:, 0]
        pairs: dict[tuple[int, int], dict[bool, float]] = {}
        for number, (claim, own) in enumerate(zip(batch.given, chance.tolist(), strict=True)):
            if claim.label is None:
                continue
            total += 1
            right += (own > 0.5) == (claim.label == SUPPORTED)
            if claim.pair >= 0:
                pairs.setdefault((int(batch.context_of[number]), claim.pair), {})[claim.label == SUPPORTED] = own
        for pair in pairs.values():
            if len(pair) == 2:
                twins += 1
                ordered += pair[True] > pair[False]
        if len(batch.fault_at):
            told = outputs[batch.fault_at, 3] > 0
            hit += int((told & (batch.fault > 0)).sum())
            said += int(told.sum())
            marked += int(batch.fault.sum())
    reader.train()
    f1 = 2 * hit / max(1, said + marked)
    shown = f"right {right / max(1, total):.3f} of {total}, twins {ordered / max(1, twins):.3f} of {twins}"
    return f"held out: {shown}, words F1 {f1:.3f}"


def main(argv: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("recipe", type=Path)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--start", type=Path, required=True, help="folder of all-mpnet-base-v2")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--begin", type=Path, help="a finished run whose running mean this one begins with")
    options.add_argument("--minutes", type=float)
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args(argv)
    recipe = tomllib.loads(given.recipe.read_text("utf-8"))
    minutes = given.minutes or recipe["minutes"]
    torch.set_num_threads(given.threads)
    torch.manual_seed(recipe["seed"])
    rng = Random(recipe["seed"])

    every = data.everything(given.data, recipe["seed"])
    training = data.balanced(data.chosen(every, out=False))
    by_source: dict[str, list[Group]] = {}
    for group in training:
        by_source.setdefault(group.source, []).append(group)
    weights = {source.name: source.weight for source in data.known_sources()}
    weights |= {"written facts": 8.0, "written dialogue": 0.6, "written relevance": 0.5, "written answers": 0.7}
    weights |= {"cnndm summaries": 2.0, "cnndm fit": 1.0}
    packer = Packer(Tokenizer.from_file(str(given.start / "tokenizer.json")), recipe["tokens"], recipe["context"])
    packer.tokenizer.no_padding()
    packer.tokenizer.no_truncation()
    tests: dict[str, list[Batch]] = {}
    for name in ("written", "documents"):
        own = [group for group in data.chosen(every, out=True) if group.part == name]
        Random(1).shuffle(own)
        packed = batches(
            (piece for group in own for piece in packer.pieces(group, None)), recipe["rows"], recipe["tokens"]
        )
        tests[name] = list(itertools.islice(packed, 8))

    reader = opened(given.start)
    with torch.no_grad():  # the table stays as it is, so the rest learns from the one that ships
        reader.words.weight.copy_(as_packed(reader.words.weight))
    for name, parameter in reader.named_parameters():
        low = name.startswith(("words", "places", "start_norm", "distances"))
        layer = int(name.split(".")[1]) if name.startswith("layers.") else 99
        parameter.requires_grad = not low and layer >= recipe["frozen_layers"]
    if given.begin:
        before = torch.load(given.begin, weights_only=True)
        reader.load_state_dict({**before["net"], **before["average"]})
    trained = [(name, one) for name, one in reader.named_parameters() if one.requires_grad]
    sets = [
        {
            "params": [one for name, one in trained if not name.startswith("head") and one.ndim > 1],
            "weight_decay": 0.01,
        },
        {
            "params": [one for name, one in trained if not name.startswith("head") and one.ndim == 1],
            "weight_decay": 0.0,
        },
        {"params": [one for name, one in trained if name.startswith("head")], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(sets, lr=recipe["rate"], betas=(0.9, 0.98), eps=1e-6, fused=True)
    own_time, step = 0.0, 0
    average: dict[str, Tensor] = {}
    if given.out.exists():
        state = torch.load(given.out, weights_only=True)
        reader.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        own_time, step, average = state["time"], state["step"], state["average"]
        rng.seed(recipe["seed"] + step)
        print(f"goes on at {own_time / 60:.1f} minutes, step {step}", flush=True)

    def done() -> float:
        return min(1.0, own_time / (minutes * 60))

    def shares() -> Mapping[str, float]:
        return next(mix["shares"] for mix in recipe["mixes"] if done() <= mix["until"])

    def save() -> None:
        state = {
            "net": reader.state_dict(),
            "optimizer": optimizer.state_dict(),
            "time": own_time,
            "step": step,
            "average": average,
        }
        torch.save(state, given.out.with_suffix(".part"))
        given.out.with_suffix(".part").rename(given.out)

    flow = batches(stream(by_source, weights, packer, rng, shares), recipe["rows"], recipe["tokens"])
    running: dict[str, float] = {}
    saved = own_time
    told = own_time
    measure = False
    reader.train()
    while done() < 1.0:
        begun = time.monotonic()
        if done() >= recipe["round_after"] and step % 10 == 0:
            refresh(reader)  # from here the loss sees what the packed weights will say
        warm = recipe["warm"]
        factor = done() / warm if done() < warm else (1 - done()) / (1 - warm) * 0.97 + 0.03
        for at, rates in enumerate(optimizer.param_groups):
            rates["lr"] = (recipe["head_rate"] if at == 2 else recipe["rate"]) * max(0.02, factor)
        batch = next(flow)
        with torch.autocast("cpu", torch.bfloat16):
            outputs = reader(batch.ids, batch.places, batch.contexts, batch.claims)
        found = losses(outputs, batch)
        loss = torch.stack([IMPORTANCE[name] * value for name, value in found.items()]).sum()
        loss.backward()
        nn.utils.clip_grad_norm_([one for _, one in trained], 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        for name, value in found.items():
            running[name] = 0.97 * running.get(name, value.item()) + 0.03 * value.item()
        if done() >= recipe["average_from"]:
            current = {name: one.detach() for name, one in trained}
            if not average:
                average = {name: one.clone() for name, one in current.items()}
            for name, one in current.items():
                average[name].lerp_(one, 0.02)
        # A step that waited for a busy machine counts like a usual one at most threefold.
        own_time += min(time.monotonic() - begun, 12.0)
        if own_time - told > 60:
            told = own_time
            line = ", ".join(f"{name} {value:.3f}" for name, value in running.items())
            print(f"{own_time / 60:.1f} min, step {step}, {len(batch.given)} claims: {line}", flush=True)
        if own_time - saved > SAVE_EVERY:
            saved = own_time
            save()
            measure = not measure
            for name, own_tests in tests.items() if measure else ():
                print(f"   {name} {measured(reader, own_tests)}", flush=True)
    save()
    for name, own_tests in tests.items():
        print(f"   {name} {measured(reader, own_tests)}", flush=True)
    with torch.no_grad():
        for name, one in trained:
            if name in average:
                one.copy_(average[name])
    refresh(reader)
    for name, own_tests in tests.items():
        print(f"   average: {name} {measured(reader, own_tests)}", flush=True)


if __name__ == "__main__":
    main()
