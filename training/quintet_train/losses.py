"""Loss functions, each in a line or two; torch tensors in, a scalar out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet_train.torch_parts import need

if TYPE_CHECKING:
    from torch import Tensor


def classes(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, averaged over the batch."""
    loss: Tensor = need("torch.nn.functional").cross_entropy(logits, labels)
    return loss


def squared_error(values: Tensor, targets: Tensor) -> Tensor:
    loss: Tensor = need("torch.nn.functional").mse_loss(values, targets)
    return loss


def words(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy averaged over words (not over texts); label -100 marks padding and words that were cut."""
    loss: Tensor = need("torch.nn.functional").cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=-100
    )
    return loss


def margin(better: Tensor, worse: Tensor, gap: float) -> Tensor:
    """max(0, gap - better + worse), averaged: GRADE's ranking loss."""
    loss: Tensor = need("torch").clamp(gap - better + worse, min=0).mean()
    return loss
