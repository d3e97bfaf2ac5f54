"""Nearest neighbours of every turn and sentence by gte-small vectors (other dialogue / other document only)."""
from __future__ import annotations

import json, os, sys, time

import numpy as np
import torch
from safetensors.torch import load_file

from .build import tokenizer
from .examples import Tables
from .net import Encoder, unpack


@torch.no_grad()
def embed(enc, tok, texts, dev, bs=1024):
    e = [x.ids[:96] for x in tok.encode_batch(texts)]
    order = np.argsort([-len(x) for x in e]); out = torch.zeros(len(e), 384, dtype=torch.float16, device=dev)
    for i in range(0, len(e), bs):
        idx = order[i:i + bs]; m = len(e[idx[0]])
        ids = torch.zeros(len(idx), m, dtype=torch.long)
        mask = torch.zeros(len(idx), m, dtype=torch.bool)
        for j, k in enumerate(idx):
            ids[j, :len(e[k])] = torch.tensor(e[k]); mask[j, :len(e[k])] = True
        ids, mask = ids.to(dev), mask.to(dev)
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
            x = enc(ids, torch.zeros_like(ids), mask).float()
        v = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[torch.tensor(idx.copy(), device=dev)] = torch.nn.functional.normalize(v, dim=-1).half()
    return out


@torch.no_grad()
def knn(v, group, k, skip, dev, bs=4096):
    """Rows skip..skip+k of the ranking, own group left out (identical texts are at the top, so a few are skipped)."""
    n = len(v); g = torch.tensor(group, device=dev); res = np.zeros((n, k), np.int32)
    need = min(n, k + skip)
    for i in range(0, n, bs):
        s = v[i:i + bs] @ v.T
        s[g[i:i + bs, None] == g[None]] = -2
        s[s > 0.985] = -1
        t = s.topk(need, dim=1).indices
        res[i:i + bs] = t[:, -k:].cpu().numpy() if need >= k else np.resize(t.cpu().numpy(), (len(t), k))
    return res


@torch.no_grad()
def words(table, tok):
    """Words of the same kind by their vectors, without inflections of one another."""
    v = tok.get_vocab(); L = [w for w in v if w.isalpha() and w.isascii() and len(w) >= 4 and v[w] > 1996]
    x = torch.nn.functional.normalize(table[torch.tensor([v[w] for w in L], device=table.device)].float(), dim=-1)
    out, end = {}, lambda w: next((e for e in ("ing", "ed", "ly", "s") if w.endswith(e)), "")
    for i in range(0, len(L), 4096):
        t = (x[i:i + 4096] @ x.T).topk(32, dim=1).indices.cpu().numpy()
        for k, row in enumerate(t):
            w = L[i + k]; c = [L[j] for j in row[1:] if L[j][:4] != w[:4] and end(L[j]) == end(w)][2:10]
            if c:
                out[w] = c
    return out


def main(data, w, tokpath, out, limit=None):
    t0 = time.time()
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    T = Tables(data, limit); print("tables", len(T.turns), len(T.sents), round(time.time() - t0, 1), flush=True)
    sd = unpack(load_file(w)); sd = {k[4:]: v for k, v in sd.items() if k.startswith('enc.')} or sd
    enc = Encoder(); enc.load_state_dict(sd); enc.eval().to(dev)
    tok = tokenizer(tokpath)
    r = {}
    for name, texts, grp in (("turns", T.turns, T.turn_dlg), ("sents", T.sents, T.sent_doc)):
        v = embed(enc, tok, texts, dev)
        if dev == "cpu":
            v = v.float()
        r[name] = knn(v, grp, 24, 4, dev)
        print(name, r[name].shape, round(time.time() - t0, 1), flush=True)
    for q in range(0, len(T.turns), max(1, len(T.turns) // 3)):
        print(repr(T.turns[q][:80]), "->", repr(T.turns[r["turns"][q][0]][:80]))
    np.savez(out + ".tmp.npz", **r); os.replace(out + ".tmp.npz", out)


if __name__ == "__main__":
    a = sys.argv
    main(a[1], a[2], a[3], a[4], int(a[5]) if len(a) > 5 else None)
