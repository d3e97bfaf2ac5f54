"""Adapt the language model to: history (+ fact) -> reply, document -> summary, meaning representation -> text."""
from __future__ import annotations

import glob, json, os, random, sys, time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from .examples import Builder, Tables
from .lmnet import CFG, LM, QLinear, compress, expand
from . import noise

BOS = 1


def dlg_prefix(turns, fact=""):
    return (fact.strip() + "\n\n" if fact else "") + "".join(f"- {t}\n" for t in turns) + "-"


def doc_prefix(doc):
    return (doc.strip() + "\n\n" if doc else "") + "TL;DR:"


def mr_prefix(mr):
    return (mr.strip() + "\n" if mr else "") + "=>"


def corpus(T, r):
    """Yields (prefix, [segments that carry loss]); every segment starts with a space and ends with a newline."""
    for d in T.dialogues:
        t = d["t"]
        if r.random() < {"sgd": 0.65, "ni:task573": 0.5}.get(d["s"], 0.0):
            continue
        for _ in range({"topical": 3, "convai2": 3, "convai2x": 2}.get(d["s"], 1)):
            low = r.random() < 0.45; k = len(t) if len(t) <= 10 else r.randrange(6, 13); a = 0 if len(t) <= k else r.randrange(len(t) - k)
            x = [y.lower() if low else y for y in t[a:a + k]]
            pre = ""
            if "f" in d and r.random() < 0.75:
                # one speaker's knowledge in front: only that speaker's turns follow it as targets
                side = r.randrange(2); f = [d["f"][a + i] for i in range(len(x)) if (a + i) % 2 == side and d["f"][a + i]]
                if f:
                    i = r.choice([i for i in range(len(x)) if (a + i) % 2 == side and d["f"][a + i]])
                    fact = " ".join(d["f"][a + i].split()[:220]); fact = fact.lower() if low else fact
                    h = x[max(0, i - r.choice([0, 1, 1, 2, 3, 6])):i]
                    if d["s"] == "cmudog" and r.random() < 0.6:
                        ss = noise.re.split(r"(?<=[.!?]) ", fact); c = set(x[i].lower().split())
                        fact = max(ss, key=lambda q: len(c & set(q.lower().split())))
                    yield dlg_prefix(h, fact), [" " + x[i] + "\n"]
            yield dlg_prefix([]), [" " + y + "\n" for y in x]
    for d in T.documents:
        if not d["S"] or not d["u"] or d["s"] == "bbc" and r.random() < 0.5:
            continue
        u = " ".join(d["u"]) if d["s"] in ("cnndm", "bbc", "qmsum", "xsum", "scitldr") else d["u"][0]
        doc = " ".join(d["d"].split()[:1100])
        low = r.random()
        if low < 0.25:
            u = u.lower()
        if low < 0.1:
            doc = doc.lower()
        for _ in range(2 if d["s"] in ("cnndm", "xsum") else 1):
            yield doc_prefix(doc), [" " + u + "\n"]
        if r.random() < 0.3:
            yield doc_prefix(""), [" " + u + "\n"]
    b = Builder
    for d in T.d2t:
        s = b._slots(d)
        if s and r.random() < 0.6:
            ref = r.choice(d["r"]); ref = ref.lower() if r.random() < 0.4 else ref
            yield mr_prefix(b._mr(s, r)), [" " + ref + "\n"]
            if r.random() < 0.2:
                yield mr_prefix(""), [" " + ref + "\n"]


def encode(tok, ex):
    """Turn (prefix, segments) into ids and a loss mask; dialogue segments are joined by the turn mark '-'."""
    texts, spec = [], []
    for pre, segs in ex:
        parts = [(pre, 0)]
        for i, s in enumerate(segs):
            if i:
                parts.append(("-", 0))
            parts.append((s, 1))
        spec.append([(len(texts) + j, l) for j, (_, l) in enumerate(parts)]); texts += [p for p, _ in parts]
    enc = tok.encode_batch(texts, add_special_tokens=False)
    out = []
    for sp in spec:
        ids, m = [BOS], [0]
        for j, l in sp:
            ids += enc[j].ids; m += [l] * len(enc[j].ids)
        out.append((np.array(ids[:1536], np.uint16), np.array(m[:1536], np.uint8)))
    return [x for x in out if x[1].sum()]


def main(data, parts, tokpath, out, limit_s, budget=32768, lr=3e-4, limit=None, seed=0, tiny=0):
    from tokenizers import Tokenizer
    t0 = time.time(); torch.manual_seed(seed); dev = "cuda" if torch.cuda.is_available() else "cpu"
    tok = Tokenizer.from_file(tokpath)
    T = Tables(data, limit); r = random.Random(seed)
    ex = list(corpus(T, r)) + (list(corpus(T, r)) if not limit else []); print("lm examples", len(ex), round(time.time() - t0, 1), flush=True)
    data_ = encode(tok, ex); n = sum(len(a) for a, _ in data_); print("lm data", len(data_), n / 1e6, "M tokens, with loss", sum(int(m.sum()) for _, m in data_) / 1e6, round(time.time() - t0, 1), "s", flush=True)
    if tiny:
        model = LM(**{**CFG, "layers": 1})
    else:
        sd = {}
        for p in parts.split(","):
            sd.update(load_file(p))
        model = LM(**CFG); model.load_state_dict(expand(sd))
    model.to(dev).train()
    QLinear.fake = True
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0, betas=(0.9, 0.98), eps=1e-7, fused=dev == "cuda")
    rng = np.random.default_rng(seed); lens = np.array([len(a) for a, _ in data_])
    hold = set(rng.permutation(len(data_))[:max(8, len(data_) // 200)].tolist())
    t1, step, epoch, done, nxt = time.time(), 0, 0, False, 0.0

    def batches(idx):
        idx = rng.permutation(idx)
        for a in range(0, len(idx), 6000):
            c = idx[a:a + 6000]; c = c[np.argsort(lens[c], kind="stable")]; bs, cur = [], []
            for x in c:
                if cur and lens[x] * (len(cur) + 1) > budget:
                    bs.append(cur); cur = []
                cur.append(x)
            if cur:
                bs.append(cur)
            for i in rng.permutation(len(bs)):
                yield bs[i]

    def tens(b):
        m = int(lens[b].max()); ids = np.zeros((len(b), m), np.int64); mk = np.zeros((len(b), m), bool)
        for j, x in enumerate(b):
            a, k = data_[x]; ids[j, :len(a)] = a; mk[j, :len(a)] = k
        return torch.from_numpy(ids).to(dev, non_blocking=True), torch.from_numpy(mk).to(dev, non_blocking=True)

    def loss_of(b):
        ids, mk = tens(b)
        with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
            x = model.states(ids)[:, :-1][mk[:, 1:]]
            return F.cross_entropy(model.logits(x).float(), ids[:, 1:][mk[:, 1:]])

    train = np.array([i for i in range(len(data_)) if i not in hold]); held = np.array(sorted(hold))

    def check():
        with torch.no_grad():
            v = [(loss_of(b).item(), sum(int(data_[x][1].sum()) for x in b)) for b in batches(held)]
        return sum(a * c for a, c in v) / sum(c for _, c in v)

    start = check(); print("held-out loss before", round(start, 4), flush=True)
    t1 = time.time()
    while not done:
        for b in batches(train):
            frac = (time.time() - t1) / limit_s
            if frac >= 1 or epoch >= 4:
                done = True; break
            for g in opt.param_groups:
                g["lr"] = lr * min(1.0, frac / 0.05) * max(0.03, 1 - frac)
            loss = loss_of(b); opt.zero_grad(set_to_none=True); loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step(); step += 1
            if time.time() - t1 > nxt:
                print(f"lm step {step} epoch {epoch} t {time.time()-t1:.0f} loss {loss.item():.3f}", flush=True); nxt += limit_s / 8
        epoch += 1
    sd = {k: v.detach().float().cpu() for k, v in model.state_dict().items()}
    end = check(); QLinear.fake = False; raw = check()
    save_file({k: v.half().contiguous() for k, v in sd.items()}, out + ".f16.safetensors")
    q = compress(sd); save_file(q, out + ".q4.safetensors")
    model.load_state_dict(expand(q)); model.to(dev); qend = check()
    rep = {"steps": step, "epochs": epoch, "train_s": round(time.time() - t1, 1), "heldout_before": start, "heldout_after": end, "heldout_q4": qend, "heldout_unrounded": raw}
    json.dump(rep, open(out + ".json", "w")); print(json.dumps(rep), flush=True)


if __name__ == "__main__":
    kw = dict(a.split("=", 1) for a in sys.argv[6:])
    for k in ("budget", "limit", "seed", "tiny"):
        if k in kw: kw[k] = int(kw[k])
    if "lr" in kw: kw["lr"] = float(kw["lr"])
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]), **kw)
