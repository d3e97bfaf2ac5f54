"""The networks that src/quintet/train/evaluator trains, as score.py asks for them."""
from __future__ import annotations

import tomllib
from importlib import resources

import torch
from torch import nn

from quintet.train.evaluator import language_network, network
from quintet.train.evaluator.groups import QUESTIONS
from quintet.train.evaluator.language_grid import expanded as expand
from quintet.train.evaluator.language_texts import data_form as mr_prefix, dialogue_form as dlg_prefix, summary_form as doc_prefix
from quintet.train.evaluator.starting import unpacked as unpack

CLS, SEP, BOS = 101, 102, 1
TASKS = list(QUESTIONS)
TOGETHER = frozenset(tomllib.loads((resources.files("quintet.train") / "recipes/evaluator.toml").read_text())["model"]["options"].get("together", ()))
torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every batch shape


def tokenizer(path):
    from tokenizers import Tokenizer
    made = Tokenizer.from_file(path); made.no_truncation(); made.no_padding()
    return made


class Evaluator(network.Evaluator):
    def __init__(self):
        super().__init__(network.Shape())

    def forward(self, *inputs):
        answers = super().forward(*inputs)
        return answers.questions, answers.entailment, answers.words


class Encoder(network.Encoder):
    """Also gives the states after the layers named in `want`."""

    def __init__(self):
        super().__init__(network.Shape())

    def forward(self, ids, types, mask, want=()):
        kept = {}
        hooks = [self.layers[n - 1].register_forward_hook(lambda _, __, out, n=n: kept.__setitem__(n, out)) for n in want]
        out = super().forward(ids, types, mask)
        for hook in hooks:
            hook.remove()
        return out, kept


class LM(nn.Module):
    def __init__(self, layers=30):
        super().__init__()
        self.net = language_network.LanguageModel(language_network.Shape(layers=layers))

    def load_state_dict(self, weights):
        self.net.load_state_dict(weights)

    def states(self, ids):
        return self.net(ids)

    def logits(self, states):
        return self.net.logits(states)
