"""The language model kept near its start: what anchored texts teach, what the others do, and what the teacher is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from quintet.errors import InputError
from quintet_train import recipe
from quintet_train.evaluator import language_lesson, language_network
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_lesson import Anchor, LanguageLesson
from quintet_train.evaluator.language_texts import KINDS, Tokens, readings, tokenised
from quintet_train.run import run_recipe

CPU = torch.device("cpu")
INDEXES = [0, 1, 2, 3, 4, 5, 7]
"""Texts of all kinds."""


@pytest.fixture
def network() -> language_network.LanguageModel:
    torch.manual_seed(0)
    made = language_network.LanguageModel(language_network.Shape(64, 32, 2, 2, 1, 32))
    with torch.no_grad():
        made.emb.weight.mul_(10)  # so that it is sure of something
    return made


@pytest.fixture
def texts() -> list[Tokens]:
    rng = np.random.default_rng(0)
    found = []
    for place, size in enumerate(rng.integers(5, 30, 60)):
        counted = rng.random(size) < 0.4
        counted[0], counted[-1] = False, True
        found.append(Tokens(rng.integers(0, 60, size).astype(np.uint16), counted, place % 20, KINDS[place % 3]))
    return found


def moved(network: language_network.LanguageModel) -> language_network.LanguageModel:
    """A student that has gone some way from its start."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    return network


def log_shares(network: language_network.LanguageModel, text: Tokens) -> np.ndarray:
    """(tokens, vocabulary), of one text alone."""
    with torch.no_grad():
        ids = torch.from_numpy(text.ids.astype(np.int64))
        logits = network.logits(network(ids[None])[0]).double().numpy()
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def plain_loss(student, teacher, texts, indexes, shares, counts) -> float:
    """Token by token and word by word."""
    losses = []
    for index in indexes:
        text, share = texts[index], shares.get(texts[index].kind, 0.0)
        own, told = log_shares(student, text), log_shares(teacher, text)
        for place in range(len(text.ids) - 1):
            if counts(text, place + 1):
                divergence = sum(np.exp(t) * (t - s) for s, t in zip(own[place], told[place], strict=True))
                losses.append(share * divergence - (1 - share) * own[place, text.ids[place + 1]])
    return float(np.mean(losses))


@pytest.mark.parametrize("shares", [{"summary": 1.0}, {"summary": 0.3, "description": 1.0}])
def test_the_loss_is_that_of_a_plain_twin(network, texts, shares, monkeypatch) -> None:
    """Whatever goes through the vocabulary at a time; drawn tokens of the context are anchored too."""
    anchor = Anchor.of(network, shares, CPU)
    assert anchor is not None
    student = moved(network)
    for at_once in (4096, 7):
        monkeypatch.setattr(language_lesson, "_AT_ONCE", at_once)
        found = float(LanguageLesson(texts, 0.0, 1, anchor=anchor).loss(student, INDEXES, 0).detach())
        wanted = plain_loss(student, anchor.teacher, texts, INDEXES, shares, lambda text, place: text.counted[place])
        assert found == pytest.approx(wanted, rel=1e-5)
    context = {"summary": 1.0}
    found = float(LanguageLesson(texts, 0.0, 1, context, anchor).loss(student, INDEXES, 0).detach())
    wanted = plain_loss(
        student, anchor.teacher, texts, INDEXES, shares,
        lambda text, place: text.kind == "summary" or text.counted[place],
    )  # fmt: skip
    assert found == pytest.approx(wanted, rel=1e-5)


def test_a_student_that_is_its_teacher_has_nothing_to_learn(network, texts) -> None:
    anchor = Anchor.of(network, {"summary": 1.0}, CPU)
    summaries = [index for index in INDEXES if texts[index].kind == "summary"]
    student = network.off_grid().requires_grad_(True)
    lesson = LanguageLesson(texts, 0.0, 1, 0.5, anchor)
    loss = lesson.loss(student, summaries, 0)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-6)
    assert max(float(weight.grad.abs().max()) for weight in student.parameters()) < 1e-5
    rounding = lesson.loss(network, summaries, 0)
    rounding.backward()
    assert float(rounding.detach()) > 1e-4
    assert max(float(weight.grad.abs().max()) for weight in network.parameters()) > 1e-3


def test_steps_lead_back_to_the_teacher(network, texts) -> None:
    anchor = Anchor.of(network, {"summary": 1.0}, CPU)
    student = moved(network)
    lesson = LanguageLesson([one for one in texts if one.kind == "summary"], 0.0, 1, 1.0, anchor)
    steps = torch.optim.Adam(student.parameters(), 3e-3)
    losses = []
    for _ in range(30):
        steps.zero_grad()
        loss = lesson.loss(student, range(12), 0)
        loss.backward()
        steps.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2


def test_without_an_anchor_the_loss_is_what_it_was(network, texts) -> None:
    """To the bit, and so is the gradient: this is how it was computed before there were anchors."""
    length = max(len(texts[index].ids) for index in INDEXES)
    ids, counted = np.zeros((len(INDEXES), length), np.int64), np.zeros((len(INDEXES), length), np.bool_)
    rng = np.random.default_rng(5)
    for row, index in enumerate(INDEXES):
        size = len(texts[index].ids)
        ids[row, :size], counted[row, :size] = texts[index].ids, texts[index].counted
        counted[row, :size] |= rng.random(size) < 0.1
    tokens, places = torch.from_numpy(ids), torch.from_numpy(np.flatnonzero(counted[:, 1:]))
    table = network.table()
    logits = network.logits(network(tokens, table)[:, :-1].flatten(0, 1)[places], table)
    targets = tokens[:, 1:].flatten()[places]
    wanted = torch.nn.functional.cross_entropy(logits, targets, reduction="sum") / len(places)
    wanted.backward()
    before = [weight.grad.clone() for weight in network.parameters()]
    assert Anchor.of(network, {}, CPU) is None
    assert Anchor.of(network, {"summary": 0.0}, CPU) is None
    for share in (0.1, dict.fromkeys(KINDS, 0.1)):
        network.zero_grad()
        found = LanguageLesson(texts, 0.0, 1, share).loss(network, INDEXES, 5)
        found.backward()
        assert torch.equal(found, wanted)
        assert all(torch.equal(a, b.grad) for a, b in zip(before, network.parameters(), strict=True))


def test_the_teacher_reads_anchored_rows_only(network, texts, monkeypatch) -> None:
    anchor = Anchor.of(network, {"summary": 1.0}, CPU)
    assert anchor is not None
    seen: list[torch.Tensor] = []
    forward = anchor.teacher.forward
    monkeypatch.setattr(anchor.teacher, "forward", lambda ids: seen.append(ids) or forward(ids))
    lesson, plain = LanguageLesson(texts, 0.0, 1, 0.1, anchor), LanguageLesson(texts, 0.0, 1, 0.1)
    others = [index for index in INDEXES if texts[index].kind != "summary"]
    assert torch.equal(lesson.loss(network, others, 0), plain.loss(network, others, 0))
    assert not seen
    lesson.loss(network, INDEXES, 0)
    (ids,) = seen
    wanted = [texts[index].ids.tolist() for index in INDEXES if texts[index].kind == "summary"]
    assert [row[: len(own)] for row, own in zip(ids.tolist(), wanted, strict=True)] == wanted


def test_the_teacher_is_apart_from_the_student(network, texts) -> None:
    """Nothing of it is trained, saved or rounded; and the student goes on being rounded, and compiled."""
    before = network(torch.arange(9)[None]).detach()
    network.fuse()
    names = set(network.state_dict())
    anchor = Anchor.of(network, {"summary": 1.0}, CPU)
    assert anchor is not None
    teacher = anchor.teacher
    start = {name: value.clone() for name, value in teacher.state_dict().items()}
    assert set(network.state_dict()) == names == set(start)
    assert not any(weight.requires_grad for weight in teacher.parameters())
    assert all(block._compiled_call_impl is None for block in teacher.blocks)
    assert all(block._compiled_call_impl is not None for block in network.blocks)
    for block in network.blocks:
        block._compiled_call_impl = None  # nothing here to compile with
    assert torch.equal(network(torch.arange(9)[None]), before)
    assert not torch.allclose(teacher(torch.arange(9)[None]), before, atol=1e-4)
    LanguageLesson(texts, 0.0, 1, 0.1, anchor).loss(network, INDEXES, 0).backward()
    moved(network)
    assert all(torch.equal(value, start[name]) for name, value in teacher.state_dict().items())


def test_figures_are_told_by_kind(network, texts) -> None:
    anchor = Anchor.of(network, {"summary": 0.5}, CPU)
    assert anchor is not None
    student = moved(network)
    lesson = LanguageLesson(texts, 0.3, 1, 0.5, anchor)
    with torch.no_grad():
        found = lesson.dev_scores(student)
        plain = LanguageLesson(texts, 0.3, 1).dev_scores(student)
    assert {name for name in found if "kl" in name} == {"anchor_kl_summary"}
    assert {**found, **plain} == pytest.approx(found, rel=1e-5)
    assert found["score"] == -found["token_loss"]
    for kind in KINDS:
        held = [index for index in lesson._held if texts[index].kind == kind]
        wanted = plain_loss(student, anchor.teacher, texts, held, {}, lambda text, place: text.counted[place])
        assert found[f"token_loss_{kind}"] == pytest.approx(wanted, rel=1e-5)
    held = [index for index in lesson._held if texts[index].kind == "summary"]
    wanted = plain_loss(student, anchor.teacher, texts, held, {"summary": 1.0}, lambda text, at: text.counted[at])
    assert found["anchor_kl_summary"] == pytest.approx(wanted, rel=1e-5)
    every = plain_loss(student, anchor.teacher, texts, lesson._held, {}, lambda text, place: text.counted[place])
    assert found["token_loss"] == pytest.approx(every, rel=1e-5)


def test_readings_and_their_tokens_know_their_kind(tables) -> None:
    from quintet_train.evaluator import starting

    found = list(readings(tables, Times({}), Random(0)))
    ends = {"TL;DR:": "summary", "=>": "description", "-": "dialogue"}
    assert {one.kind for one in found} == set(KINDS)
    assert all(kind == one.kind for one in found for end, kind in ends.items() if one.before.endswith(end))
    start = starting.open_language_model("tiny:gpt2", [*tables.turns])
    assert [one.kind for one in tokenised(found, start.tokenizer, 0)] == [one.kind for one in found]


@pytest.mark.parametrize(
    ("told", "message"),
    [({"story": 0.1}, "no texts are called story; one of: dialogue"), ({"summary": 3}, "3 is not a share"),
     ({"summary": "all"}, "'all' is not a share")],
)  # fmt: skip
def test_wrong_shares_are_named(network, texts, told, message) -> None:
    with pytest.raises(InputError, match=f"data.options.anchor: {message}"):
        Anchor.of(network, told, CPU)
    with pytest.raises(InputError, match=f"data.options.context_share: {message}"):
        LanguageLesson(texts, 0.0, 1, told)


def test_a_recipe_anchors_and_another_need_not(tmp_path: Path) -> None:
    """A recipe with the table has a teacher; without it there is none, and other weights."""
    text = (Path(recipe.__file__).parent / "recipes" / "judge-lm.toml").read_text(encoding="utf-8")
    (tmp_path / "free.toml").write_text(text, encoding="utf-8")
    table = '[data.options.anchor]\nsummary = 1.0\n\n[data.options.times."lm.share"]'
    (tmp_path / "anchored.toml").write_text(text.replace('[data.options.times."lm.share"]', table), encoding="utf-8")
    anchored, free = (
        run_recipe(tmp_path / f"{name}.toml", out=tmp_path / name, smoke=True, device="cpu")
        for name in ("anchored", "free")
    )
    assert {"token_loss_summary", "anchor_kl_summary"} <= set(anchored.figures)
    log = [json.loads(line) for line in (anchored.folder.parent / "run" / "log.jsonl").read_text().splitlines()]
    assert log[-1]["dev_anchor_kl_summary"] == anchored.figures["anchor_kl_summary"]
    told = tomllib.loads((anchored.folder / "model.toml").read_text(encoding="utf-8"))["figures"]
    assert told == dict(anchored.figures)
    assert not any("anchor" in name for name in free.figures)
    names = {frozenset(load_file(made.folder.parent / "weights.safetensors")) for made in (anchored, free)}
    assert len(names) == 1
    # Without the anchor, summaries are learnt by heart.
    assert free.figures["token_loss_summary"] < anchored.figures["token_loss_summary"]
