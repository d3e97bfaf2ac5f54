"""Texts that share a context share a row: the same answers, losses and groups as one by one, in fewer sub-words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import torch

from quintet_train import tiny
from quintet_train.evaluator.groups import BETTER, WORSE, Group, Judged
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_network import Branches, LanguageModel, Shape
from quintet_train.evaluator.lesson import JudgeLesson, Weights
from quintet_train.evaluator.packing import UNKNOWN, pack
from quintet_train.evaluator.shared_lesson import SharedLesson

CPU = torch.device("cpu")
WORDS = ["lamp", "river", "stone", "bread", "cloud", "horse", "paper", "green", "music", "tower", "salt", "door"]
WEIGHTS = Weights({"con": 2.0, "nli": 0.5}, masked_share=0.0)
DOCUMENT = "river stone lamp bread cloud"
GROUPS = [
    Group("con", [Judged("river stone", DOCUMENT, 1, ()), Judged("river door", DOCUMENT, 0, [(6, 10)])]),
    Group("sel", [Judged("music", "paper [SEP] green", 1), Judged("cloud", "paper", 0)]),
    Group("nli", [Judged("lamp", DOCUMENT, 3, ()), Judged("salt door lamp", DOCUMENT, 2)], False),
    Group("acc", [Judged("salt lamp", "", 1), Judged("lamp", "", 0)]),
    Group(
        "rel", [Judged("bread", DOCUMENT, BETTER), Judged("tower salt", DOCUMENT, WORSE), Judged("a", DOCUMENT, 0.5)]
    ),
    Group("coh", [Judged("music tower door", "", 1), Judged("door", "", 0)]),
    Group("con", [Judged("horse", "green horse", 1, ())]),
]


@pytest.fixture(scope="module")
def frame() -> LanguageFrame:
    return LanguageFrame(tiny.tokenizer("gpt2", [" ".join(WORDS)] * 5), "<|endoftext|>", 64)


@pytest.fixture(scope="module")
def network(frame: LanguageFrame) -> LanguageJudge:
    """Off the grid, where a last bit does not become a whole step."""
    torch.manual_seed(0)
    model = LanguageModel(Shape(frame.tokenizer.get_vocab_size(), 32, 2, 2, 1, 64)).off_grid()
    return LanguageJudge(model.requires_grad_(True))


def both(frame: LanguageFrame, row_tokens: int, groups: list[Group] = GROUPS) -> tuple[JudgeLesson, SharedLesson]:
    packed = pack(groups, frame)
    return (
        JudgeLesson(packed, WEIGHTS, 0.0, 0, 0, 0, output_last=True),
        SharedLesson(packed, WEIGHTS, 0.0, 0, row_tokens),
    )


@pytest.mark.parametrize("row_tokens", [0, 20, 1000])
def test_answers_and_gradients_are_those_of_texts_read_one_by_one(
    frame: LanguageFrame, network: LanguageJudge, row_tokens: int
) -> None:
    plain, shared = both(frame, row_tokens)
    for groups in ([0, 1, 2, 3, 4, 5, 6], [4, 1], [6], [2, 0]):
        alone, together = plain.batch(groups, CPU), shared.batch(groups, CPU)
        a, b = plain.answers(network, alone), shared.answers(network, together)
        assert torch.allclose(a.questions, b.questions, atol=1e-5)
        assert torch.allclose(a.entailment, b.entailment, atol=1e-5)
        for name in ("heads", "labels", "better", "worse"):
            assert torch.equal(getattr(alone, name), getattr(together, name))
        for row in range(len(alone.ids)):
            inside, own = alone.output_mask[row], together.mask[row]
            assert torch.equal(alone.ids[row][inside], together.ids[row][own])
            assert torch.equal(alone.marks[row][inside], together.marks[row][own])
            assert torch.allclose(a.words[row][inside], b.words[row][own], atol=1e-5)
            assert bool((together.marks[row][~own] == UNKNOWN).all())
        gradients = []
        for lesson in (plain, shared):
            network.zero_grad()
            loss = lesson.loss(network, groups, 0)
            loss.backward()
            gradients.append((loss.detach(), [p.grad.clone() for p in network.parameters() if p.grad is not None]))
        assert torch.allclose(gradients[0][0], gradients[1][0], atol=1e-5)
        assert all(torch.allclose(x, y, atol=1e-5) for x, y in zip(gradients[0][1], gradients[1][1], strict=True))


def test_a_context_is_read_once(frame: LanguageFrame) -> None:
    plain, shared = both(frame, 1000)
    assert shared._families == [[0, 2, 4], [1], [3, 5], [6]]
    every = shared.batch(range(len(GROUPS)), CPU)
    # The document, two histories, no grounds, the other document.
    assert len(every.rows) == 5
    counted = int((every.branches.numbers >= 0).sum())
    assert counted < int(plain.batch(range(len(GROUPS)), CPU).mask.sum()) * 0.7
    assert int((every.branches.numbers > 0).sum()) == int(every.mask.sum())


def test_a_row_keeps_to_its_limit(frame: LanguageFrame) -> None:
    rng = Random(0)
    texts = lambda: [Judged(" ".join(rng.sample(WORDS, 3)), DOCUMENT, label) for label in (1, 0)]  # noqa: E731
    groups = [Group("con", texts()) for _ in range(40)]
    alone = max(int(size) for size in pack(groups, frame).lengths)
    for limit in (alone, 2 * alone, 6 * alone):
        _, shared = both(frame, limit, groups)
        assert sorted(group for family in shared._families for group in family) == list(range(40))
        longest = max(
            int((shared.batch(family, CPU).branches.numbers >= 0).sum(1).max()) for family in shared._families
        )
        # A group that is longer by itself is still read.
        assert longest <= max(limit, 2 * alone)
        assert longest == int(shared._longest_row.max())


def test_groups_of_one_context_are_held_out_together(frame: LanguageFrame) -> None:
    rng = Random(1)
    groups = []
    for _ in range(60):
        document = " ".join(rng.sample(WORDS, 4))
        groups += [Group("con", [Judged(word, document, 1), Judged("a", document, 0)]) for word in rng.sample(WORDS, 3)]
    shared = SharedLesson(pack(groups, frame), WEIGHTS, 0.2, 3, 1000)
    held = {group for number in shared._held for group in shared._families[number]}
    documents = {groups[group].texts[0].grounds for group in held}
    assert 30 <= len(held) <= 42
    trained = [group for batch in shared.batches(0, 1, 256) for group in batch]
    assert sorted(trained) == sorted(set(range(len(groups))) - held)
    assert shared.size == len(trained)
    assert documents.isdisjoint(groups[group].texts[0].grounds for group in trained)
    for batch in shared.batches(1, 1, 256):
        made = shared.batch(batch, CPU)
        assert made.rows.numel() <= 256 + 8 * len(made.rows)
    assert shared.batches(1, 1, 256) == shared.batches(1, 1, 256) != shared.batches(0, 1, 256)


def test_what_a_token_sees() -> None:
    numbers = torch.tensor([[0, 0, 1, 1, 2, 2, -1]])
    seen = Branches(torch.zeros_like(numbers), numbers).seen()[0, 0].numpy()
    expected = np.array(
        [[j <= i and (numbers[0, j] == 0 or numbers[0, j] == numbers[0, i]) for j in range(7)] for i in range(7)]
    )
    assert (seen == expected).all()
    assert seen[4].tolist() == [True, True, False, False, True, False, False]
