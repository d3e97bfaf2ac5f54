"""SmolLM2 (Llama layout) in plain torch, with a 4-bit block format for its linear weights and 8-bit for the tied embedding."""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cuda.enable_cudnn_sdp(False)

CFG = dict(vocab=49152, h=576, layers=30, heads=9, kv=3, ffn=1536, theta=100000.0, eps=1e-5)


def grid4(w):
    """Blocks of 32 along the input: scale (half precision) and whole zero point, w ~ (q - z) * d."""
    o, i = w.shape; b = w.float().view(o, i // 32, 32)
    lo, hi = b.amin(-1, keepdim=True).clamp(max=0), b.amax(-1, keepdim=True).clamp(min=0)
    d = ((hi - lo) / 15).clamp(min=1e-7).half().float(); z = (-lo / d).round().clamp(0, 15)
    return (b / d + z).round().clamp(0, 15), z, d


class QLinear(nn.Linear):
    """Linear layer that trains through its own 4-bit rounding (straight-through) when `fake` is on."""
    fake = False

    def forward(s, x):
        w = s.weight
        if s.fake:
            with torch.no_grad():
                q, z, d = grid4(w); r = ((q - z) * d).view_as(w) - w
            w = w + r
        return F.linear(x, w)


class Norm(nn.Module):
    def __init__(s, h, eps):
        super().__init__(); s.weight = nn.Parameter(torch.ones(h)); s.eps = eps

    def forward(s, x):
        return F.rms_norm(x.float(), (x.shape[-1],), s.weight.float(), s.eps).to(x.dtype)


class Block(nn.Module):
    def __init__(s, h, heads, kv, ffn, eps):
        super().__init__()
        s.n, s.kv, s.hd = heads, kv, h // heads
        s.n1, s.n2 = Norm(h, eps), Norm(h, eps)
        L = lambda a, b: QLinear(a, b, bias=False)
        s.q, s.k, s.v, s.o = L(h, h), L(h, kv * s.hd), L(h, kv * s.hd), L(h, h)
        s.gate, s.up, s.down = L(h, ffn), L(h, ffn), L(ffn, h)

    def forward(s, x, cos, sin):
        b, l, h = x.shape; y = s.n1(x)
        q = s.q(y).view(b, l, s.n, s.hd).transpose(1, 2); k = s.k(y).view(b, l, s.kv, s.hd).transpose(1, 2); v = s.v(y).view(b, l, s.kv, s.hd).transpose(1, 2)
        q, k = rot(q, cos, sin), rot(k, cos, sin)
        r = s.n // s.kv
        k = k.repeat_interleave(r, 1); v = v.repeat_interleave(r, 1)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + s.o(a.transpose(1, 2).reshape(b, l, h)); y = s.n2(x)
        return x + s.down(F.silu(s.gate(y)) * s.up(y))


def rot(x, cos, sin):
    a, b = x.chunk(2, -1)
    return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)


class LM(nn.Module):
    def __init__(s, vocab, h, layers, heads, kv, ffn, theta, eps):
        super().__init__()
        s.emb = nn.Embedding(vocab, h); s.blocks = nn.ModuleList(Block(h, heads, kv, ffn, eps) for _ in range(layers)); s.norm = Norm(h, eps)
        s.hd, s.theta = h // heads, theta

    def states(s, ids):
        """Right padding needs no mask: later tokens never influence earlier ones."""
        l = ids.shape[1]; d = ids.device
        inv = 1.0 / s.theta ** (torch.arange(0, s.hd, 2, device=d).float() / s.hd)
        f = torch.arange(l, device=d).float()[:, None] * inv[None]; f = torch.cat([f, f], -1)
        x = s.emb(ids); cos, sin = f.cos(), f.sin()
        for b in s.blocks:
            x = b(x, cos, sin)
        return s.norm(x)

    def logits(s, x):
        return x @ s.emb.weight.T


def q4(w):
    q, z, d = grid4(w); o = w.shape[0]; q = q.to(torch.uint8).view(o, -1)
    return {"q": q[:, 0::2] | (q[:, 1::2] << 4), "d": d[..., 0].half(), "z": z[..., 0].to(torch.uint8)}


def dq4(t):
    p = t["q"]; o, n = p.shape
    q = torch.empty(o, 2 * n, dtype=torch.uint8, device=p.device); q[:, 0::2] = p & 15; q[:, 1::2] = p >> 4
    q = q.view(o, -1, 32).float(); d = t["d"].float()[..., None]
    return ((q - t["z"].float()[..., None]) * d if "z" in t else q * d + t["m"].float()[..., None]).view(o, 2 * n)


def q8(w):
    o, i = w.shape; b = w.float().view(o, i // 32, 32); d = (b.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8).half().float()
    return {"q": (b / d).round().clamp(-127, 127).to(torch.int8).view(o, i), "d": d[..., 0].half()}


def dq8(t):
    o, i = t["q"].shape
    return (t["q"].float().view(o, i // 32, 32) * t["d"].float()[..., None]).view(o, i)


def compress(sd):
    out = {}
    for k, w in sd.items():
        if w.ndim == 1:
            out[k] = w.float()
        else:
            for a, b in (q8(w) if k == "emb.weight" else q4(w)).items():
                out[f"{k}|{a}"] = b.contiguous()
    return out


def expand(sd):
    out, g = {}, {}
    for k, v in sd.items():
        if "|" in k:
            n, a = k.split("|"); g.setdefault(n, {})[a] = v
        else:
            out[k] = v.float()
    for n, t in g.items():
        out[n] = dq4(t) if "m" in t or "z" in t else dq8(t)
    return out
