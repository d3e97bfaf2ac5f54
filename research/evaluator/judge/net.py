"""BERT encoder with one scalar head per judgement, a three-way entailment head and a word-level head."""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every batch shape, about 0.2 s a step

TASKS = ["sel", "coh", "cohd", "acc", "con", "adq", "rel", "cov", "d2t", "gro", "ord", "abba", "abac"]
NLI = len(TASKS)
NAMES = TASKS + ["nli"]


class Layer(nn.Module):
    def __init__(s, h, n, f, eps=1e-12):
        super().__init__()
        s.n = n
        s.qkv = nn.Linear(h, 3 * h); s.o = nn.Linear(h, h); s.ln1 = nn.LayerNorm(h, eps)
        s.up = nn.Linear(h, f); s.down = nn.Linear(f, h); s.ln2 = nn.LayerNorm(h, eps)
        s.p = 0.0

    def forward(s, x, mask):
        b, l, h = x.shape
        q, k, v = s.qkv(x).view(b, l, 3, s.n, h // s.n).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = s.ln1(x + F.dropout(s.o(a.transpose(1, 2).reshape(b, l, h)), s.p, s.training))
        return s.ln2(x + F.dropout(s.down(F.gelu(s.up(x))), s.p, s.training))


class Encoder(nn.Module):
    def __init__(s, vocab=30522, h=384, layers=12, n=12, f=1536, pos=512, drop=0.05):
        super().__init__()
        s.word = nn.Embedding(vocab, h); s.pos = nn.Embedding(pos, h); s.typ = nn.Embedding(2, h); s.ln = nn.LayerNorm(h, 1e-12)
        s.layers = nn.ModuleList(Layer(h, n, f) for _ in range(layers))
        for l in s.layers:
            l.p = drop

    def forward(s, ids, typ, mask, want=None):
        """mask: bool [b, l], True where a token stands. Returns the last state (and the states named in want)."""
        x = s.ln(s.word(ids) + s.pos.weight[None, :ids.shape[1]] + s.typ(typ))
        m = mask[:, None, None, :]
        kept = {}
        for i, l in enumerate(s.layers, 1):
            x = l(x, m)
            if want and i in want:
                kept[i] = x
        return (x, kept) if want else x


class Masked(nn.Module):
    """BERT's masked-word head; the output table is the word table."""

    def __init__(s, h, vocab):
        super().__init__()
        s.dense = nn.Linear(h, h); s.norm = nn.LayerNorm(h, 1e-12); s.bias = nn.Parameter(torch.zeros(vocab))
        nn.init.eye_(s.dense.weight); nn.init.zeros_(s.dense.bias)

    def forward(s, x, table):
        return F.linear(s.norm(F.gelu(s.dense(x))), table, s.bias)


class Evaluator(nn.Module):
    def __init__(s, **k):
        super().__init__()
        s.enc = Encoder(**k)
        h = s.enc.word.weight.shape[1]
        s.pool = nn.Linear(2 * h, h)
        s.heads = nn.Linear(h, len(TASKS)); s.nli = nn.Linear(h, 3); s.tok = nn.Linear(h, 1)
        s.mlm = Masked(h, s.enc.word.weight.shape[0])

    def masked(s, ids, typ, mask, where):
        """Logits of the vocabulary at the positions where `where` is true."""
        return s.mlm(s.enc(ids, typ, mask)[where], s.enc.word.weight)

    def forward(s, ids, typ, mask, amask):
        """amask: bool, True on the words of the judged output (segment A without [CLS]/[SEP])."""
        x = s.enc(ids, typ, mask)
        w = amask.to(x.dtype)[..., None]
        mean = (x * w).sum(1) / w.sum(1).clamp(min=1)
        p = torch.tanh(s.pool(torch.cat([x[:, 0], mean], -1)))
        return s.heads(p).float(), s.nli(p).float(), s.tok(x)[..., 0].float()


def load_onnx(path):
    """gte-small ONNX initialisers -> state dict of Encoder."""
    import numpy as np, onnx
    from onnx import numpy_helper
    g = onnx.load(path).graph
    init = {i.name: numpy_helper.to_array(i) for i in g.initializer}
    mm = {n.output[0]: n.input[1] for n in g.node if n.op_type == "MatMul" and n.input[1] in init}
    lin = {}
    for n in g.node:
        if n.op_type == "Add":
            for a, b in ((0, 1), (1, 0)):
                if n.input[a] in init and n.input[b] in mm:
                    lin[n.input[a][:-5]] = (init[mm[n.input[b]]].T.copy(), init[n.input[a]])
    sd = {"word.weight": init["embeddings.word_embeddings.weight"], "pos.weight": init["embeddings.position_embeddings.weight"],
          "typ.weight": init["embeddings.token_type_embeddings.weight"], "ln.weight": init["embeddings.LayerNorm.weight"], "ln.bias": init["embeddings.LayerNorm.bias"]}
    for i in range(12):
        p, q = f"encoder.layer.{i}.", f"layers.{i}."
        w = [lin[p + f"attention.self.{x}"] for x in ("query", "key", "value")]
        sd[q + "qkv.weight"] = np.concatenate([a for a, _ in w]); sd[q + "qkv.bias"] = np.concatenate([b for _, b in w])
        for a, b in (("o", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
            sd[q + a + ".weight"], sd[q + a + ".bias"] = lin[p + b]
        for a, b in (("ln1", "attention.output.LayerNorm"), ("ln2", "output.LayerNorm")):
            sd[q + a + ".weight"], sd[q + a + ".bias"] = init[p + b + ".weight"], init[p + b + ".bias"]
    return {k: torch.tensor(v) for k, v in sd.items()}


def pack(sd):
    """Row-wise int8 for the word table, float16 for the rest: 52 MiB on the wire."""
    out = {k: v.half() for k, v in sd.items() if not k.endswith("word.weight")}
    for k, w in sd.items():
        if k.endswith("word.weight"):
            s = w.abs().amax(1, keepdim=True) / 127
            out[k + ".q"] = (w / s).round().to(torch.int8); out[k + ".s"] = s
    return out


def unpack(sd):
    out = {k: v.float() for k, v in sd.items() if not k.endswith((".q", ".s"))}
    for k in sd:
        if k.endswith(".q"):
            out[k[:-2]] = sd[k].float() * sd[k[:-2] + ".s"]
    return out
