"""Tiny random models in the layouts of the bundled ones, their plain torch twins, and their graphs in real folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tiny_models import byte_pairs, torch, transformers, wordpiece

from quintet_train.evaluator.language_grid import compressed
from quintet_train.export_evaluator import export_evaluator
from quintet_train.export_graph import quantised
from quintet_train.export_judge_lm import Shape, export_judge_lm, together

WIDTH, LAYERS, TOKENS = 64, 3, 64
QUESTIONS = ("sel", "coh", "cohd", "acc", "con", "adq", "rel", "cov", "d2t", "gro", "ord", "abba", "abac")
TOGETHER = ("sel", "adq", "gro")
TAUGHT = ("con", "nli", "words", "acc")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def on_the_grid(weight):
    """A matrix rounded to what the int8 graph stores."""
    return torch.tensor(quantised(weight.numpy()).matrix())


class PlainEvaluator:
    """Hugging Face's BERT with the heads spelt out; one text at a time, nothing filled up."""

    def __init__(self, rounded: bool) -> None:
        torch.manual_seed(3)
        self.tokenizer = wordpiece()
        vocabulary = self.tokenizer.get_vocab_size()
        config = transformers.BertConfig(
            vocab_size=vocabulary, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=WIDTH // 32,
            intermediate_size=96, max_position_embeddings=TOKENS,
        )  # fmt: skip
        self.bert = transformers.BertModel(config, add_pooling_layer=False).eval()
        shapes = {
            "pool.weight": (WIDTH, 2 * WIDTH), "pool.bias": (WIDTH,), "nli.weight": (3, WIDTH), "nli.bias": (3,),
            "heads.weight": (len(QUESTIONS), WIDTH), "heads.bias": (len(QUESTIONS),), "tok.weight": (1, WIDTH),
            "tok.bias": (1,), "mlm.dense.weight": (WIDTH, WIDTH), "mlm.dense.bias": (WIDTH,),
            "mlm.norm.weight": (WIDTH,), "mlm.norm.bias": (WIDTH,), "mlm.bias": (vocabulary,),
        }  # fmt: skip
        self.extra = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
        # The graph keeps these in half precision.
        self.extra["pool.weight"] = self.extra["pool.weight"].half().float()
        with torch.no_grad():
            for name, weight in self.bert.named_parameters():
                weight.mul_(4 if "LayerNorm" not in name else 1)
                if name.endswith("position_embeddings.weight"):
                    weight.copy_(weight.half().float())
                elif rounded and weight.ndim == 2 and ("layer." in name or "word_embeddings" in name):
                    weight.copy_(on_the_grid(weight))
            if rounded:
                self.extra["mlm.dense.weight"] = on_the_grid(self.extra["mlm.dense.weight"])

    def weights(self) -> dict[str, np.ndarray]:
        """Under the names of the study's encoder."""
        plain = {name: value.detach() for name, value in self.bert.named_parameters()}
        found = {
            "enc.word.weight": plain["embeddings.word_embeddings.weight"],
            "enc.pos.weight": plain["embeddings.position_embeddings.weight"],
            "enc.typ.weight": plain["embeddings.token_type_embeddings.weight"],
        }
        for kind in ("weight", "bias"):
            found[f"enc.ln.{kind}"] = plain[f"embeddings.LayerNorm.{kind}"]
            for i in range(LAYERS):
                theirs, ours = f"encoder.layer.{i}.", f"enc.layers.{i}."
                parts = [plain[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
                found[f"{ours}qkv.{kind}"] = torch.cat(parts)
                for own, other in {
                    "o": "attention.output.dense", "ln1": "attention.output.LayerNorm",
                    "up": "intermediate.dense", "down": "output.dense", "ln2": "output.LayerNorm",
                }.items():  # fmt: skip
                    found[f"{ours}{own}.{kind}"] = plain[f"{theirs}{other}.{kind}"]
        return {name: value.numpy() for name, value in {**found, **self.extra}.items()}

    def states(self, output, grounds=(), as_one=False):
        """Of `[CLS] output [SEP]` after `[CLS] grounds [SEP]`, both as one input under a mask: the output's rows see
        everything, those of the grounds one another. Positions are counted on each side. As one text: as BERT does."""
        if as_one:
            ids, types = [2, *output, 3, *grounds, 3], [0] * (len(output) + 2) + [1] * (len(grounds) + 1)
            with torch.no_grad():
                found = self.bert(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))
            return found.last_hidden_state[0, : len(output) + 2]
        own, beside = [2, *output, 3], [2, *grounds, 3] if len(grounds) else []
        mask = torch.zeros(1, 1, len(own) + len(beside), len(own) + len(beside))
        mask[..., len(own) :, : len(own)] = torch.finfo(torch.float32).min
        given = {
            "input_ids": torch.tensor([own + beside]),
            "token_type_ids": torch.tensor([[0] * len(own) + [1] * len(beside)]),
            "position_ids": torch.tensor([[*range(len(own)), *range(len(beside))]]),
        }
        with torch.no_grad():
            return self.bert(**given, attention_mask=mask).last_hidden_state[0, : len(own)]

    def linear(self, x, name):
        return x @ self.extra[f"{name}.weight"].T + self.extra[f"{name}.bias"]

    def judged(self, output: list[int], grounds: list[int], as_one: bool = False):
        """heads, nli, words and pooled for an output beside grounds."""
        states = self.states(output, grounds, as_one and len(grounds) > 0)
        own = states[1 : 1 + len(output)]
        mean = own.mean(0) if len(output) else torch.zeros(WIDTH)
        pooled = torch.tanh(self.linear(torch.cat([states[0], mean]), "pool"))
        return self.linear(pooled, "heads"), self.linear(pooled, "nli"), self.linear(own, "tok")[:, 0], pooled

    def masked(self, ids: list[int], position: int) -> np.ndarray:
        """Log-probabilities of all words at a position of ids that are shown as they stand."""
        x = torch.nn.functional.gelu(self.linear(self.states(ids[1:-1])[position], "mlm.dense"))
        x = torch.nn.functional.layer_norm(
            x, (WIDTH,), self.extra["mlm.norm.weight"], self.extra["mlm.norm.bias"], 1e-12
        )
        logits = x @ self.bert.embeddings.word_embeddings.weight.detach().T + self.extra["mlm.bias"]
        return torch.log_softmax(logits, -1).numpy()

    def export(self, folder: Path, precision: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(str(folder / "source.json"))
        return export_evaluator(
            self.weights(), folder, folder / "source.json", QUESTIONS, precision=precision, together=TOGETHER
        )


class PlainLanguageModel:
    """Hugging Face's Llama with grouped keys and a tied table, one sequence at a time; rounded: what goes into every
    product and what it is multiplied with, each spelt out. With heads: the same model, and four matrices more."""

    def __init__(self, rounded: bool, heads: bool = False) -> None:
        torch.manual_seed(5)
        self.rounded = rounded
        self.tokenizer = byte_pairs(SPECIAL)
        config = transformers.LlamaConfig(
            vocab_size=self.tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, rms_norm_eps=1e-5,
            tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        )  # fmt: skip
        self.model = transformers.LlamaForCausalLM(config).eval()
        self.stored: dict[str, np.ndarray] = {}
        names = dict(self._names())
        with torch.no_grad():
            for theirs, weight in self.model.named_parameters():
                if weight.ndim == 2:
                    weight.mul_(5)
                if not rounded or weight.ndim == 1:
                    self.stored[names[theirs]] = weight.numpy()
                    continue
                parts = compressed({names[theirs]: weight})
                self.stored |= {name: part.numpy() for name, part in parts.items()}
                weight.copy_(torch.tensor(together(self.stored)[names[theirs]].matrix()))
        if rounded:
            for module in self.model.modules():
                if isinstance(module, torch.nn.Linear):
                    module.register_forward_pre_hook(lambda _, given: (plainly_rounded(given[0]),))
        rows = {"pool": (64, 128), "heads": (len(QUESTIONS), 64), "nli": (3, 64), "tok": (1, 64)} if heads else {}
        self.heads = {name: (0.3 * torch.randn(shape), torch.randn(shape[0])) for name, shape in rows.items()}
        for name, (weight, bias) in self.heads.items():
            self.stored |= {f"{name}.weight": weight.numpy(), f"{name}.bias": bias.numpy()}

    def _names(self) -> list[tuple[str, str]]:
        """Theirs and those of the study's language model."""
        parts = {
            "self_attn.q_proj": "q", "self_attn.k_proj": "k", "self_attn.v_proj": "v", "self_attn.o_proj": "o",
            "mlp.gate_proj": "gate", "mlp.up_proj": "up", "mlp.down_proj": "down", "input_layernorm": "n1",
            "post_attention_layernorm": "n2",
        }  # fmt: skip
        found = []
        for name, _ in self.model.named_parameters():
            own = name.removeprefix("model.").replace("layers.", "blocks.").replace("embed_tokens", "emb")
            for theirs, ours in parts.items():
                own = own.replace(theirs, ours)
            found.append((name, own))
        return found

    def weights(self) -> dict[str, np.ndarray]:
        return self.stored

    def log_probs(self, before: list[int], own: list[int]) -> np.ndarray:
        with torch.no_grad():
            logits = self.model(torch.tensor([[*before, *own]])).logits[0]
        picked = torch.log_softmax(logits.double(), -1)[len(before) - 1 : -1]
        return picked.gather(1, torch.tensor(own)[:, None])[:, 0].numpy()

    def states(self, ids: list[int]):
        """After the last norm."""
        with torch.no_grad():
            return self.model.model(torch.tensor([ids])).last_hidden_state[0]

    def judged(self, before: list[int], own: list[int], line_break: int):
        """Log-odds of heads, nli and words for a text after `before`."""
        return self.judged_from(self.states([*before, *own, line_break])[len(before) :])

    def judged_from(self, x):
        """`x`: states of the text and of the line break."""

        def linear(name, given):
            return given @ self.heads[name][0].T + self.heads[name][1]

        pooled = torch.tanh(linear("pool", torch.cat([x[-1], x.mean(0)])))
        return linear("heads", pooled).numpy(), linear("nli", pooled).numpy(), linear("tok", x[:-1])[:, 0].numpy()

    def export(self, folder: Path, taught=TAUGHT) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(str(folder / "source.json"))
        shape = Shape(heads=4, max_tokens=96)
        taught = taught if self.heads else ()
        return export_judge_lm(self.weights(), folder, folder / "source.json", shape, taught=taught)


def plainly_rounded(x):
    """Token by token: whole numbers up to 127 times a scale."""
    out = x.clone()
    for token in out.reshape(-1, out.shape[-1]):
        scale = token.abs().max().clamp(min=1e-8) / 127
        token.copy_((token / scale).round() * scale)
    return out
