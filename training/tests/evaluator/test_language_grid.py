"""The language model's whole numbers mean the same in training, files and product; what is held out stays out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from quintet.errors import ModelError
from quintet.models import packed_weights
from quintet_train.evaluator import language_grid, language_network
from quintet_train.evaluator.language_lesson import LanguageLesson
from quintet_train.evaluator.language_texts import Tokens
from quintet_train.export_judge_lm import together
from quintet_train.export_rounded import Packed, save

NAME = "blocks.0.q.weight"


def plain_grid(matrix: np.ndarray) -> np.ndarray:
    """Row by row and block by block."""
    out = np.zeros_like(matrix)
    for row, numbers in enumerate(matrix):
        scale = np.abs(numbers).max() / np.float32(63)
        for start in range(0, len(numbers), 32):
            block = numbers[start : start + 32] / scale
            low, high = np.rint(block.min()), np.rint(block.max())
            for place, number in enumerate(block):
                step = np.clip(np.rint((number - low) * 15 / max(high - low, 1)), 0, 15)
                out[row, start + place] = (low + np.rint(step * (high - low) / 15)) * scale
    return out


@pytest.fixture
def matrix() -> torch.Tensor:
    torch.manual_seed(0)
    found = torch.randn(6, 96) * torch.tensor([1.0, 0.01, 30.0, 1.0, 1.0, 1.0])[:, None]
    found[3, 32:64] *= 0.02  # a block far smaller than its row
    found[4, 5] = 40.0  # one number far larger than the rest
    found[5] = 0.0
    return found


def test_training_files_and_product_mean_the_same_numbers(matrix: torch.Tensor, tmp_path: Path) -> None:
    wanted = plain_grid(matrix.numpy()[:5])
    assert np.allclose(language_grid.four_bit(matrix).matrix()[:5], wanted, rtol=1e-5)
    stored = language_grid.compressed({NAME: matrix})
    assert torch.equal(language_grid.expanded(stored)[NAME], language_grid.four_bit(matrix).matrix())
    (packed,) = together({name: part.numpy() for name, part in stored.items()}).values()
    assert isinstance(packed, Packed)
    assert np.array_equal(packed.matrix(), language_grid.expanded(stored)[NAME].numpy())
    assert np.abs(packed.whole()).max() == 63
    save({NAME: packed}, tmp_path / packed_weights.FILE)
    ((name, numbers),) = packed_weights.opened(tmp_path / packed_weights.FILE)
    assert name == NAME
    assert np.array_equal(numbers, packed.whole().T)


def test_every_step_of_every_block_is_rounded_the_same_way() -> None:
    ends = np.array([(a, b) for a in range(-63, 64, 7) for b in range(a, 64)], np.int8)
    low, high = ends[:, 0], ends[:, 1]
    codes = np.tile(
        np.arange(0, 32, 2, dtype=np.uint8) % 16 + 16 * (np.arange(1, 33, 2, dtype=np.uint8) % 16), (len(low), 1)
    )
    packed = Packed(codes, low[:, None], high[:, None], np.ones(len(low), np.float32))
    steps = packed.steps().astype(np.uint8).transpose(1, 2, 0)
    found = packed_weights.whole_numbers(
        steps[:, :16] | (steps[:, 16:] << 4), packed.low.T[:, None], packed.high.T[:, None]
    )
    assert np.array_equal(found, packed.whole().T)


def test_rounding_again_changes_nothing(matrix: torch.Tensor) -> None:
    once = language_grid.expanded(
        language_grid.compressed({NAME: matrix, "emb.weight": matrix, "norm.weight": matrix[0]})
    )
    again = language_grid.expanded(language_grid.compressed(once))
    for name, value in once.items():
        assert torch.allclose(again[name], value, rtol=1e-6, atol=0), name


def test_files_are_small_and_come_back_whole(matrix: torch.Tensor, tmp_path: Path, monkeypatch) -> None:
    from safetensors.torch import load_file

    monkeypatch.setattr(language_grid, "FILE_BYTES", 200)
    stored = language_grid.compressed({NAME: matrix, "emb.weight": matrix, "norm.weight": matrix[0]})
    files = language_grid.save_parts(stored, tmp_path)
    assert len(files) > 4
    found = language_grid.joined_parts({name: value for file in files[::-1] for name, value in load_file(file).items()})
    assert found.keys() == stored.keys()
    assert all(torch.equal(found[name], stored[name]) for name in stored)


def test_a_part_that_is_missing_is_named(matrix: torch.Tensor) -> None:
    stored = language_grid.compressed({NAME: matrix})
    del stored[f"{NAME}|s"]
    with pytest.raises(ModelError, match="lacks s"):
        language_grid.expanded(stored)
    with pytest.raises(ModelError, match="stored in parts"):
        together({name: part.numpy() for name, part in stored.items()})


def test_the_gradient_goes_straight_through(matrix: torch.Tensor) -> None:
    layer = language_network.RoundedLinear(96, 6, bias=False)
    layer.weight.data = matrix.clone()
    x = torch.randn(3, 96, requires_grad=True)
    near = language_network.rounded(x)
    for token, plain in zip(near.detach(), x.detach(), strict=True):
        scale = plain.abs().max() / 127
        assert torch.allclose(token, (plain / scale).round() * scale)
    grid = language_grid.four_bit(matrix).matrix()
    out = layer(near)
    assert torch.allclose(out, near @ grid.T, atol=1e-5)
    out.sum().backward()
    assert torch.allclose(layer.weight.grad, near.detach().sum(0).expand(6, 96), atol=1e-5)
    assert torch.allclose(x.grad, grid.sum(0).expand(3, 96), atol=1e-4)


def texts() -> list[Tokens]:
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 30, 80)
    return [
        Tokens(rng.integers(0, 60, n).astype(np.uint16), rng.random(n) < 0.4, place % 20)
        for place, n in enumerate(sizes)
    ]


def test_all_forms_of_what_is_held_out_are_held_out() -> None:
    lesson = LanguageLesson(texts(), 0.3, seed=1)
    held, trained = ({lesson.texts[i].origin for i in own} for own in (lesson._held, lesson._train))
    assert held
    assert not held & trained
    assert len(lesson._held) + lesson.size == len(lesson.texts)


def test_the_loss_is_the_mean_over_counted_tokens(monkeypatch) -> None:
    """However many go through the vocabulary at a time; and context tokens count if asked."""
    from quintet_train.evaluator import language_lesson

    torch.manual_seed(0)
    network = language_network.LanguageModel(language_network.Shape(64, 32, 1, 2, 1, 32))
    found = texts()
    indexes = [3, 14, 15, 40]

    def loss(lesson: LanguageLesson) -> float:
        return float(lesson.loss(network, indexes, 0).detach())

    whole = loss(LanguageLesson(found, 0.0, seed=1))
    monkeypatch.setattr(language_lesson, "_AT_ONCE", 7)
    assert loss(LanguageLesson(found, 0.0, seed=1)) == pytest.approx(whole, rel=1e-5)
    losses = []
    for index in indexes:
        ids = torch.from_numpy(found[index].ids.astype(np.int64))
        with torch.no_grad():
            logp = torch.log_softmax(network.logits(network(ids[None])[0]), -1)
        losses += [-float(logp[i, ids[i + 1]]) for i in range(len(ids) - 1) if found[index].counted[i + 1]]
    assert whole == pytest.approx(np.mean(losses), rel=1e-4)
    every = LanguageLesson(found, 0.0, seed=1, context_share=1.0)
    plain = LanguageLesson([one._replace(counted=np.ones_like(one.counted)) for one in found], 0.0, seed=1)
    assert loss(every) == pytest.approx(loss(plain), rel=1e-5)


def test_between_the_start_and_what_was_learnt() -> None:
    torch.manual_seed(1)
    learnt, start = ({NAME: torch.randn(8, 64), "norm.weight": torch.randn(8)} for _ in range(2))
    found = language_grid.towards(learnt, start, 0.25)
    plain = torch.from_numpy(plain_grid(learnt[NAME].numpy()))
    torch.testing.assert_close(found[NAME], 0.25 * start[NAME] + 0.75 * plain, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found["norm.weight"], 0.25 * start["norm.weight"] + 0.75 * learnt["norm.weight"])
