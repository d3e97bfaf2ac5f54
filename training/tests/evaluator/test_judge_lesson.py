"""Packing and losses against plain twins; neighbours; the running mean; runs by time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from quintet.errors import InputError
from quintet_train import tiny
from quintet_train.averaging import RunningMean
from quintet_train.evaluator.groups import BETTER, HEADS, WORSE, Group, Judged
from quintet_train.evaluator.lesson import JudgeLesson, Weights, judging_loss
from quintet_train.evaluator.neighbours import nearest, similar_words
from quintet_train.evaluator.network import Answers, Evaluator, Shape
from quintet_train.evaluator.packing import UNKNOWN, Frame, batches, joined, pack
from quintet_train.recipe import Plan
from quintet_train.trainer import Trainer, rate_at, rate_by_time

GROUPS = [
    Group("sel", [Judged("i like tea", "hello [SEP] do you drink tea", 1), Judged("no cars", "hello", 0)]),
    Group("con", [Judged("he won", "he won it", 1, ()), Judged("he lost", "he won it", 0, [(3, 7)])]),
    Group("adq", [Judged("a b", "a", BETTER), Judged("b", "a", WORSE), Judged("a", "a", 0.5)]),
    Group("nli", [Judged("he won", "he ran", 3)], False),
    Group("nli", [Judged("he won", "he ran", 2)], False),
    Group("acc", [Judged("he ran", "", 0.1), Judged("ran", "", 0.0)]),
]


@pytest.fixture(scope="module")
def frame() -> Frame:
    texts = [text for group in GROUPS for one in group.texts for text in (one.output, one.grounds)]
    return Frame(tiny.tokenizer("bert", texts), 40)


def lesson(frame: Frame, **options) -> JudgeLesson:
    weights = Weights({"sel": 2.0, "nli": 0.5}, **options)
    return JudgeLesson(pack(GROUPS, frame), weights, 0.0, 0, frame.number("[MASK]"), frame.tokenizer.get_vocab_size())


def test_texts_stand_in_their_frame(frame: Frame) -> None:
    packed = pack(GROUPS, frame)
    words = [frame.tokenizer.id_to_token(int(number)) for number in packed.ids[: packed.lengths[0]]]
    wanted = ["[CLS]", "i", "like", "tea", "[SEP]", "[CLS]", "hello", "[SEP]", "do", "you", "drink", "tea", "[SEP]"]
    assert words == wanted
    assert packed.outputs[0] == 3
    single = pack([GROUPS[5]], frame)
    assert [frame.tokenizer.id_to_token(int(n)) for n in single.ids[:5]] == ["[CLS]", "he", "ran", "[SEP]", "[CLS]"]
    forged = pack([Group("sel", [Judged("[SEP] tea", "tea", 1)])], frame)
    assert list(forged.ids).count(frame.number("[SEP]")) == 2 + frame.encoded(["[SEP]"])[0].ids.count(
        frame.number("[SEP]")
    )


def test_grounds_do_not_see_the_output(frame: Frame) -> None:
    """Grounds behind any output have the states that they have by themselves; the output sees them."""
    torch.manual_seed(0)
    encoder = Evaluator(Shape(frame.tokenizer.get_vocab_size(), 32, 2, 64, 64)).enc.eval()
    grounds = [2, 9, 8, 7, 3]
    alone = encoder(torch.tensor([grounds]), torch.ones(1, 5, dtype=torch.int64), torch.ones(1, 5, dtype=torch.bool))
    for output in ([2, 5, 3], [2, 6, 11, 5, 3]):
        ids = torch.tensor([[*output, *grounds, 0, 0]])
        types = torch.tensor([[0] * len(output) + [1] * 5 + [0, 0]])
        size = len(output)
        states = encoder(ids, types, torch.arange(size + 7)[None] < size + 5)
        torch.testing.assert_close(states[:, size : size + 5], alone, atol=1e-5, rtol=1e-5)
        without = encoder(ids[:, :size], types[:, :size], torch.ones(1, size, dtype=torch.bool))
        assert not torch.allclose(states[:, :size], without, atol=1e-3)


def test_read_together_each_side_sees_the_other(frame: Frame) -> None:
    """In one batch with texts read apart: the one is BERT's plain pair, the other unchanged."""
    torch.manual_seed(0)
    encoder = Evaluator(Shape(frame.tokenizer.get_vocab_size(), 32, 2, 64, 64)).enc.eval()
    ids = torch.tensor([[2, 5, 3, 9, 8, 3], [2, 5, 3, 2, 9, 3]])
    types, mask = torch.tensor([[0, 0, 0, 1, 1, 1]] * 2), torch.ones(2, 6, dtype=torch.bool)
    both = encoder(ids, types, mask, torch.tensor([True, False]))
    x = encoder.ln(encoder.word(ids[:1]) + encoder.pos(torch.arange(6))[None] + encoder.typ(types[:1]))
    for layer in encoder.layers:
        x = layer(x, torch.zeros(1, 1, 6, 6))
    torch.testing.assert_close(both[:1], x, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(both[1:], encoder(ids[1:], types[1:], mask[1:]), atol=1e-5, rtol=1e-5)


def test_heads_that_read_together_have_a_frame_of_their_own(frame: Frame) -> None:
    frame = Frame(frame.tokenizer, 40, frozenset({"sel"}))
    packed = pack(GROUPS, frame)
    words = [frame.tokenizer.id_to_token(int(number)) for number in packed.ids[: packed.lengths[0]]]
    assert words == ["[CLS]", "i", "like", "tea", "[SEP]", "hello", "[SEP]", "do", "you", "drink", "tea", "[SEP]"]
    made = JudgeLesson(packed, Weights({}), 0.0, 0, frame.number("[MASK]"), 100, frame.together)
    batch = made.batch(range(len(GROUPS)), torch.device("cpu"))
    assert batch.together.tolist() == [group.head == "sel" for group in GROUPS for _ in group.texts]
    assert batch.types[0, : packed.lengths[0]].tolist() == [0] * 5 + [1] * 7


def test_wrong_words_are_marked(frame: Frame) -> None:
    packed = pack([GROUPS[1]], frame)
    first, second = packed.marks[: packed.lengths[0]], packed.marks[packed.lengths[0] :]
    assert list(first[:4]) == [UNKNOWN, 1, 1, UNKNOWN]
    assert list(second[:4]) == [UNKNOWN, 1, 0, UNKNOWN]
    assert set(pack([GROUPS[0]], frame).marks) == {UNKNOWN}


def test_joined_parts_are_the_whole(frame: Frame) -> None:
    whole, parts = pack(GROUPS, frame), joined([pack(GROUPS[:2], frame), pack([], frame), pack(GROUPS[2:], frame)])
    for name in vars(whole):
        assert (getattr(whole, name) == getattr(parts, name)).all(), name


def test_long_texts_give_way(frame: Frame) -> None:
    ids, size = frame.framed(list(range(100)), list(range(100)))
    assert (len(ids), size) == (40, 26)
    ids, size = frame.framed(list(range(100)), [])
    assert (len(ids), size) == (40, 38)


@given(st.lists(st.tuples(st.integers(3, 60), st.integers(1, 5)), min_size=1, max_size=60), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_batches_hold_every_group_once_within_the_budget(sizes: list[tuple[int, int]], seed: int) -> None:
    longest, counts = (np.array(column) for column in zip(*sizes, strict=True))
    rng = np.random.default_rng(seed)
    made = batches(longest, counts, rng.permutation(len(sizes)), 300, rng)
    assert sorted(group for batch in made for group in batch) == list(range(len(sizes)))
    for batch in made:
        assert len(batch) == 1 or longest[batch].max() * counts[batch].sum() <= 300


def test_loss_equals_a_plain_sum(frame: Frame) -> None:
    made = lesson(frame)
    batch = made.batch(range(len(GROUPS)), torch.device("cpu"))
    torch.manual_seed(0)
    rows, length = batch.ids.shape
    answers = Answers(torch.randn(rows, 13), torch.randn(rows, 3), torch.randn(rows, length))
    by_head = torch.tensor([{"sel": 2.0, "nli": 0.5}.get(name, 1.0) for name in HEADS])
    got = float(judging_loss(answers, batch, made.weights, by_head))

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    total, row, words = 0.0, 0, []
    for group in GROUPS:
        weight, head = {"sel": 2.0, "nli": 0.5}.get(group.head, 1.0), HEADS.index(group.head)
        for place, text in enumerate(group.texts):
            at = row + place
            if group.head == "nli":
                chance = torch.softmax(answers.entailment[at], 0).tolist()
                total -= weight * math.log(1 - chance[0] if text.label == 3 else chance[int(text.label)])
                continue
            p = sigmoid(float(answers.questions[at, head]))
            if text.label >= 0:
                total -= weight * (text.label * math.log(p) + (1 - text.label) * math.log(1 - p))
            for other, worse in enumerate(group.texts):
                good = text.label >= 0.25 or text.label == BETTER
                if group.ranked and good and text.label > worse.label + 0.15:
                    gap = float(answers.questions[at, head] - answers.questions[row + other, head])
                    total += 0.7 * weight * math.log1p(math.exp(-gap))
            if text.wrong is not None:
                for piece in range(1, 3):
                    q = sigmoid(float(answers.words[at, piece]))
                    bad = bool(text.wrong) and piece == 2
                    words.append(-2 * math.log(1 - q) if bad else -math.log(q))
        row += len(group.texts)
    assert got == pytest.approx(total / rows + 0.3 * sum(words) / len(words), abs=1e-5)


def test_masked_words_cost_only_when_drawn(frame: Frame) -> None:
    torch.manual_seed(0)
    network = Evaluator(Shape(frame.tokenizer.get_vocab_size(), 32, 1, 64, 40)).eval()
    groups = list(range(len(GROUPS)))
    plain, both = lesson(frame, masked_share=0.0), lesson(frame, masked_share=1.0, masked=1.0)
    torch.manual_seed(1)
    without = float(plain.loss(network, groups, 3).detach())
    torch.manual_seed(1)
    assert float(both.loss(network, groups, 3).detach()) > without + 1


def test_neighbours_equal_a_plain_search() -> None:
    rng = np.random.default_rng(3)
    owners = np.repeat(np.arange(20), 3)
    vectors = rng.standard_normal((60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[1] = 0.999 * vectors[4] + 0.001 * vectors[9]
    vectors[1] /= np.linalg.norm(vectors[1])
    found = nearest(torch.from_numpy(vectors), torch.from_numpy(owners), kept=6, skipped=2)
    for row in range(60):
        likeness = vectors @ vectors[row]
        others = [n for n in np.argsort(-likeness) if owners[n] != owners[row] and likeness[n] <= 0.985]
        assert found[row].tolist() == others[2:8]
    assert 4 not in found[1]


def test_neighbours_of_a_small_corpus_are_still_of_other_texts() -> None:
    vectors = torch.nn.functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=-1)
    owners = torch.tensor([0, 0, 0, 1, 1, 1])
    found = nearest(vectors, owners)
    assert found.shape == (6, 24)
    assert all(int(owners[other]) != int(owners[row]) for row in range(6) for other in found[row])


def test_similar_words_are_no_inflections() -> None:
    names = [f"{a}{b}ing" for a in "bdfgklmnprst" for b in ("and", "ost", "ink")] + ["[PAD]", "##x"]
    vocabulary = {name: number + 40 for number, name in enumerate(names)}
    table = torch.randn(len(names) + 40, 8, generator=torch.Generator().manual_seed(0))
    found = similar_words(table, vocabulary)
    assert found
    assert all(other[:4] != word[:4] for word, others in found.items() for other in others)


def test_the_mean_follows_its_formula() -> None:
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 0.0)
    mean, plain = RunningMean(network, 0.99), 0.0
    for step in range(1, 101):
        nn.init.constant_(network.weight, float(step))
        mean.update(step)
        if step % 10 == 0:
            decay = min(0.99, (1 + step / 10) / (10 + step / 10))
            plain = decay * plain + (1 - decay) * step
    with mean.in_network():
        assert float(network.weight) == pytest.approx(plain, rel=1e-5)
    assert float(network.weight) == 100


class Parabola:
    """Learns one number; packs its items three by three."""

    size = 9

    def batches(self, epoch: int, seed: int, tokens: int) -> list[list[int]]:
        order = np.random.default_rng([seed, epoch]).permutation(9).tolist()
        return [order[start : start + tokens] for start in range(0, 9 - epoch % 2, tokens)]

    def loss(self, network: nn.Module, indexes: list[int], seed: int) -> torch.Tensor:
        return sum((network.weight - index / 9).square().sum() for index in indexes) / len(indexes)

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        return {"score": -float((network.weight - 4 / 9).square())}


PACKED = Plan(epochs=4, tokens=3, rate=0.05, average=0.9, floor=0.1, warmup=0.2, keep="last", save_every=4)


def one() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(1, 1, bias=False)


def test_packed_batches_and_means_resume_to_the_same_weights(tmp_path: Path) -> None:
    whole, cut = one(), one()
    outcome = Trainer(whole, Parabola(), PACKED, tmp_path / "whole").fit()
    assert outcome.steps == 12
    assert outcome.scores["score"] == pytest.approx(Parabola().dev_scores(whole)["score"])
    Trainer(cut, Parabola(), PACKED, tmp_path / "cut").fit(stop_after=9)
    cut = one()
    Trainer(cut, Parabola(), PACKED, tmp_path / "cut").fit()
    assert torch.equal(whole.weight, cut.weight)


def test_a_run_by_time_ends_and_goes_on(tmp_path: Path) -> None:
    plan = replace(PACKED, seconds=0.2, save_every=1)
    first = Trainer(one(), Parabola(), plan, tmp_path).fit()
    assert first.steps > 3
    assert Trainer(one(), Parabola(), plan, tmp_path).fit().steps == first.steps


def test_rates_rise_fall_and_stop_at_the_floor() -> None:
    plan = Plan(rate=1.0, warmup=0.2, floor=0.1)
    assert [rate_at(plan, step, 10) for step in (0, 1, 2, 9)] == pytest.approx([0.5, 1.0, 1.0, 0.125])
    assert [rate_by_time(plan, share) for share in (0.1, 0.2, 0.6, 0.99)] == pytest.approx([0.5, 1.0, 0.5, 0.1])


def test_only_packing_lessons_take_a_budget(tmp_path: Path) -> None:
    class Plain:
        size = 3
        loss = dev_scores = None

    with pytest.raises(InputError, match="does not pack"):
        Trainer(one(), Plain(), PACKED, tmp_path)
