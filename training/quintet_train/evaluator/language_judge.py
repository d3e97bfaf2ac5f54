"""The language model as a judge: the evaluator's heads on its last states.

It reads `[start] CONTEXT output [line break]`, one line from left to right, so a state of the output knows the context
and what was said before. Names of the heads' weights are those that `quintet_train.export_judge_lm` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from quintet.errors import ModelError
from quintet_train.evaluator.groups import QUESTIONS
from quintet_train.evaluator.language_network import Branches, LanguageModel
from quintet_train.evaluator.network import Answers
from quintet_train.trainer import plain_weights


class LanguageJudge(nn.Module):
    body = "model."
    """What the trainer teaches at the plain rate; heads learn faster."""

    def __init__(self, model: LanguageModel, heads: Mapping[str, Tensor] | None = None) -> None:
        """`heads`: those of an earlier run; else they are new."""
        super().__init__()
        width = model.shape.width
        self.model = model
        self.pool = nn.Linear(2 * width, width)
        self.heads = nn.Linear(width, len(QUESTIONS))
        self.nli = nn.Linear(width, 3)
        self.tok = nn.Linear(width, 1)
        if heads:
            self._take(heads)

    def forward(
        self, ids: Tensor, types: Tensor | None, mask: Tensor, output_mask: Tensor, together: Tensor | None = None
    ) -> Answers:
        """`output_mask` is true on the output's tokens and the line break, the last token. `types` and `together`
        are the encoder's."""
        return self.answers(self.model(ids), mask, output_mask)

    def branched(self, ids: Tensor, branches: Branches, places: Tensor, mask: Tensor) -> Answers:
        """Of texts that share rows with others: `places` says where each of their tokens stands among all of `ids`,
        and `mask` which of these there are (texts, longest)."""
        states = self.model(ids, branches=branches)
        return self.answers(states.flatten(0, 1)[places], mask, mask)

    def answers(self, states: Tensor, mask: Tensor, output_mask: Tensor) -> Answers:
        """From the last states: the pass that gave them may serve likelihoods as well."""
        states = states.float()
        with torch.autocast(states.device.type, enabled=False):
            inside = output_mask.float()[..., None]
            mean = (states * inside).sum(1) / inside.sum(1).clamp(min=1)
            end = states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
            pooled = torch.tanh(self.pool(torch.cat([end, mean], -1)))
            return Answers(self.heads(pooled), self.nli(pooled), self.tok(states)[..., 0])

    def head_weights(self) -> dict[str, Tensor]:
        """Copies."""
        return {name: value for name, value in plain_weights(self).items() if not name.startswith(self.body)}

    def _take(self, heads: Mapping[str, Tensor]) -> None:
        wanted = self.head_weights()
        wrong = [name for name in wanted if name not in heads or heads[name].shape != wanted[name].shape]
        if wrong:
            raise ModelError(f"{wrong[0]} is missing or has another shape: these heads answer other questions")
        self.load_state_dict({name: heads[name] for name in wanted}, strict=False)
