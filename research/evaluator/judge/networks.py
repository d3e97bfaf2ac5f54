"""The networks that training/quintet_train/evaluator trains, as score.py asks for them."""
from __future__ import annotations

import os, tomllib
from importlib import resources

import torch
from safetensors.torch import load_file
from torch import nn

from quintet_train.evaluator import language_network, network
from quintet_train.evaluator.groups import QUESTIONS
from quintet_train.evaluator.language_grid import HEADS, expanded as expand, joined_parts
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_texts import data_form as mr_prefix, dialogue_form as dlg_prefix, summary_form as doc_prefix
from quintet_train.evaluator.starting import open_language_model, unpacked as unpack

CLS, SEP, BOS = 101, 102, 1
TASKS = list(QUESTIONS)
TOGETHER = frozenset(tomllib.loads((resources.files("quintet_train") / "recipes/evaluator.toml").read_text())["model"]["options"].get("together", ()))
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
    """The language model, with the heads of a judge where the weights have them."""

    def __init__(self, net, heads=None):
        super().__init__()
        self.net = net; self.judge = LanguageJudge(net, heads) if heads else None

    def states(self, ids):
        return self.net(ids)

    def logits(self, states, table=None):
        return self.net.logits(states, table)


def open_lm(where, tokpath="", tiny=False):
    """LM, tokenizer, number of the first token. `where`: files of one run with commas between, a run's folder (or one of its
    weights in parts, with the tokenizer), bundled:judge-lm; or, if tiny, nothing: a random network of one layer."""
    if tiny or not (":" in where or os.path.isdir(where)):
        found = {}
        for path in [] if tiny else where.split(","):
            found.update(load_file(path))
        found = expand(joined_parts(found))
        heads = {name: found.pop(name) for name in list(found) if name.startswith(HEADS)}
        layers = len({name.split(".")[1] for name in found if name.startswith("blocks.")}) or 1
        net = language_network.LanguageModel(language_network.Shape(layers=layers))
        if not tiny:
            net.load_state_dict(found)
        return LM(net, heads), tokenizer(tokpath), BOS
    start = open_language_model(where if ":" in where else f"dir:{where}", ())
    return LM(start.network, start.heads), start.tokenizer, start.tokenizer.token_to_id(start.first)


def taught_by(where):
    """Heads that the run says it taught, if it says so: model.toml, or model/model.toml, beside the weights."""
    where = where.removeprefix("dir:")
    folder = where if os.path.isdir(where) else os.path.dirname(where.split(",")[0])
    for path in (os.path.join(folder, "model", "model.toml"), os.path.join(folder, "model.toml")):
        if not where.startswith("bundled:") and os.path.isfile(path):
            with open(path, "rb") as file:
                return frozenset(tomllib.load(file).get("taught", ()))
    return None
