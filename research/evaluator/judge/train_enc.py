"""Joint training of the evaluator on all groups, for a fixed time, data on the GPU."""
from __future__ import annotations

import glob, json, math, os, sys, time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from .net import NAMES, NLI, TASKS, Encoder, Evaluator, pack, unpack

WEIGHT = {"sel": 1.0, "rate": 0.6, "coh": 1.0, "cohd": 1.0, "acc": 1.0, "con": 1.2, "adq": 1.2, "rel": 0.8, "cov": 0.6, "d2t": 0.7, "hum": 0.5, "gro": 0.5, "nli": 1.0}


class Data:
    def __init__(s, files, dev, dev_share=0.01, seed=0):
        parts = [np.load(f) for f in files]
        parts = [p for p in parts if len(p["ln"])]
        g0, gid = 0, []
        for p in parts:
            gid.append(p["gid"] + g0); g0 += int(p["gid"].max()) + 1
        cat = lambda k: np.concatenate([p[k] for p in parts])
        s.ids = torch.from_numpy(cat("ids").astype(np.int32)).to(dev); s.lab = torch.from_numpy(cat("lab")).to(dev)
        s.ln, s.la, s.task, s.y, s.rank, s.gid = cat("ln"), cat("la"), cat("task"), cat("y"), cat("rank"), np.concatenate(gid)
        s.off = np.concatenate([[0], np.cumsum(s.ln)[:-1]]).astype(np.int64)
        s.start = np.searchsorted(s.gid, np.arange(g0)); s.end = np.append(s.start[1:], len(s.gid))
        keep = s.end > s.start
        s.start, s.end = s.start[keep], s.end[keep]
        s.glen = np.maximum.reduceat(s.ln, s.start); s.cnt = s.end - s.start
        # ranking pairs of every group, once: rows of (group, better, worse) with offsets inside the group
        G, A, B = [], [], []
        for n in range(2, int(s.cnt.max()) + 1):
            g = np.where((s.cnt == n) & s.rank[s.start])[0]
            y = s.y[s.start[g][:, None] + np.arange(n)[None]] if len(g) else np.zeros((0, n))
            for i in range(n):
                for j in range(n):
                    ok = (y[:, i] > y[:, j] + 0.15) & ((y[:, i] >= 0.5) | (y[:, i] == -1)) if len(g) else np.zeros(0, bool)
                    G.append(g[ok]); A.append(np.full(ok.sum(), i)); B.append(np.full(ok.sum(), j))
        G, A, B = (np.concatenate(x) for x in (G, A, B)); o = np.argsort(G, kind="stable"); s.pa, s.pb = A[o], B[o]
        s.pc = np.bincount(G, minlength=len(s.start)); s.ps = np.concatenate([[0], np.cumsum(s.pc)[:-1]])
        r = np.random.default_rng(seed); perm = r.permutation(len(s.start)); n = max(1, int(len(perm) * dev_share))
        s.held, s.train, s.rng, s.dev = perm[:n], perm[n:], r, dev

    def batches(s, budget, groups=None):
        """Token-budget batches of whole groups; lengths sorted inside chunks of about 60 batches."""
        g = s.rng.permutation(s.train) if groups is None else groups
        cost = s.glen[g] * (s.end[g] - s.start[g]); cum = np.cumsum(cost); chunk = np.searchsorted(cum, np.arange(0, cum[-1], budget * 60)); chunk = np.append(chunk, len(g))
        for a, b in zip(chunk[:-1], chunk[1:]):
            c = g[a:b]; c = c[np.argsort(s.glen[c], kind="stable")]
            out, cur, mx = [], [], 0
            n = 0
            for x in c:
                k = s.end[x] - s.start[x]; m = max(mx, s.glen[x])
                if cur and m * (n + k) > budget:
                    out.append(cur); cur, mx, n = [], 0, 0; m = s.glen[x]
                cur.append(x); n += k; mx = m  # noqa
            if cur:
                out.append(cur)
            for i in s.rng.permutation(len(out)):
                yield out[i]

    def tensors(s, groups):
        g = np.asarray(groups); d = s.dev

        def ranges(start, count):
            first = np.cumsum(count) - count
            return np.repeat(start - first, count) + np.arange(count.sum()), first
        ex, first = ranges(s.start[g], s.cnt[g]); pi, _ = ranges(s.ps[g], s.pc[g]); base = np.repeat(first, s.pc[g]); P, N = s.pa[pi] + base, s.pb[pi] + base
        ln = torch.from_numpy(s.ln[ex]).to(d); la = torch.from_numpy(s.la[ex]).to(d); off = torch.from_numpy(s.off[ex]).to(d)
        m = int(s.ln[ex].max()); m = (m + 7) // 8 * 8
        ar = torch.arange(m, device=d)[None]; mask = ar < ln[:, None]
        pos = (off[:, None] + ar).clamp(max=len(s.ids) - 1)
        ids = torch.where(mask, s.ids[pos], 0).long(); typ = ((ar >= la[:, None] + 2) & mask).long(); am = (ar >= 1) & (ar <= la[:, None])
        lab = torch.where(mask, s.lab[pos], 255)
        return ids, typ, mask, am, lab, torch.from_numpy(s.task[ex].astype(np.int64)).to(d), torch.from_numpy(s.y[ex]).to(d), torch.from_numpy(P.astype(np.int64)).to(d), torch.from_numpy(N.astype(np.int64)).to(d)


def losses(model, batch, weight):
    ids, typ, mask, am, lab, task, y, P, N = batch
    heads, nli, tok = model(ids, typ, mask, am)
    w = weight[task]
    sc = task < NLI
    one = heads.gather(1, task.clamp(max=NLI - 1)[:, None])[:, 0]
    soft = sc & (y >= 0)
    l1 = (F.binary_cross_entropy_with_logits(one, y.clamp(0, 1), reduction="none") * w * soft).sum()
    l2 = (F.softplus(-(one[P] - one[N])) * w[P]).sum() if len(P) else 0.0
    isn = task == NLI
    lp = F.log_softmax(nli, -1); yi = y.long().clamp(0, 2)
    three = -lp.gather(1, yi[:, None])[:, 0]
    notent = -torch.log1p(-lp[:, 0].exp().clamp(max=1 - 1e-5))
    l3 = (torch.where(y == 3, notent, three) * isn * w).sum()
    n = len(task)
    has = (lab != 255)
    l4 = (F.binary_cross_entropy_with_logits(tok, lab.float().clamp(0, 1), reduction="none") * has * torch.where(lab == 0, 2.0, 1.0)).sum() / has.sum().clamp(min=1)
    return (l1 + 0.7 * l2 + l3) / n + 0.3 * l4, one, nli


@torch.no_grad()
def heldout(model, data, weight, budget):
    model.eval(); st = {}
    for gs in data.batches(budget, data.held):
        b = data.tensors(gs)
        with torch.autocast(data.dev, torch.bfloat16, enabled=data.dev == "cuda"):
            _, one, nli = losses(model, b, weight)
        task, y, P, N = (x.cpu().numpy() for x in b[5:]); one = one.float().cpu().numpy(); nli = nli.float().cpu().numpy()
        for p, q in zip(P, N):
            a = st.setdefault(NAMES[task[p]] + ".pair", [0, 0]); a[0] += one[p] > one[q]; a[1] += 1
        for i in np.where(task == NLI)[0]:
            if y[i] < 3:
                a = st.setdefault("nli", [0, 0]); a[0] += nli[i].argmax() == y[i]; a[1] += 1
        for i in np.where((task < NLI) & (y >= 0))[0]:
            a = st.setdefault(NAMES[task[i]] + ".bin", [0, 0]); a[0] += (one[i] > 0) == (y[i] > 0.5); a[1] += 1
    model.train()
    return {k: [round(float(a) / b, 3), b] for k, (a, b) in sorted(st.items())}


def main(built, w, out, limit_s, budget=32768, lr=1.5e-4, distil=0.07, skip="", init="", seed=0, layers=12):
    t0 = time.time(); torch.manual_seed(seed)
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    drop = set(skip.split(",")) if skip else set()
    files = [f for f in sorted(glob.glob(built + "/*.npz")) if os.path.basename(f).split("_")[0] not in drop]
    data = Data(files, dev, seed=seed); print("data", len(data.ln), "examples", int(data.ln.sum()) / 1e6, "M tokens", round(time.time() - t0, 1), "s", flush=True)
    sd = unpack(load_file(w)); sd = {k[4:]: v for k, v in sd.items() if k.startswith("enc.")} or sd
    model = Evaluator(); model.enc.load_state_dict(sd)
    if init:
        model.load_state_dict(unpack(load_file(init)))
    teacher = Encoder(drop=0.0); teacher.load_state_dict(sd); teacher.eval().to(dev)
    if dev == "cuda":
        teacher.bfloat16()
    model.to(dev).train()
    weight = torch.tensor([WEIGHT.get(n, 1.0) for n in NAMES], device=dev)
    body = [p for n, p in model.named_parameters() if n.startswith("enc.")]; head = [p for n, p in model.named_parameters() if not n.startswith("enc.")]
    opt = torch.optim.AdamW([{"params": body, "lr": lr}, {"params": head, "lr": lr * 5}], weight_decay=0.01, betas=(0.9, 0.98), eps=1e-6, fused=dev == "cuda")
    base = [g["lr"] for g in opt.param_groups]
    step, seen, epoch, t1, ema = 0, 0, 0, time.time(), None
    rng = np.random.default_rng(seed + 1)
    next_log = 0.0
    done = False
    while not done:
        for gs in data.batches(budget):
            frac = (time.time() - t1) / limit_s
            if frac >= 1:
                done = True; break
            f = min(1.0, frac / 0.04) * max(0.02, 1 - frac)
            for g, b in zip(opt.param_groups, base):
                g["lr"] = b * f
            batch = data.tensors(gs)
            with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
                loss, _, _ = losses(model, batch, weight)
                if rng.random() < distil * 4:
                    ids, _, mask, am, *_ = batch
                    k = rng.permutation(len(ids))[:max(8, len(ids) // 4)]; k = torch.from_numpy(k).to(dev)
                    n = am[k].sum(1) + 2; m = int(n.max()); sub = ids[k][:, :m].clone(); ar = torch.arange(m, device=dev)[None]
                    sm = ar < n[:, None]; sub = torch.where(sm, sub, 0); z = torch.zeros_like(sub)
                    with torch.no_grad():
                        tx = teacher(sub, z, sm).float()
                    sx = model.enc(sub, z, sm).float()
                    dl = ((1 - F.cosine_similarity(sx, tx, dim=-1)) * sm).sum() / sm.sum() + 0.02 * (((sx - tx) ** 2).mean(-1) * sm).sum() / sm.sum()
                    loss = loss + 1.0 * dl
            opt.zero_grad(set_to_none=True); loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
            step += 1; seen += int(batch[2].shape[0])
            if step % 50 == 0:
                l = loss.item(); ema = l if ema is None else 0.8 * ema + 0.2 * l
                if time.time() - t1 > next_log:
                    print(f"step {step} seen {seen} epoch {epoch} t {time.time()-t1:.0f} loss {ema:.3f}", flush=True); next_log += limit_s / 12
            if not torch.isfinite(loss).item() if step % 200 == 0 else False:
                raise SystemExit("loss is not finite")
        epoch += 1
    rep = {"steps": step, "seen": seen, "epochs": epoch, "train_s": round(time.time() - t1, 1), "heldout": heldout(model, data, weight, budget)}
    save_file({k: v.contiguous().cpu() for k, v in pack({k: v.detach().float().cpu() for k, v in model.state_dict().items()}).items()}, out)
    json.dump(rep, open(out + ".json", "w")); print(json.dumps(rep), flush=True)


if __name__ == "__main__":
    kw = dict(a.split("=", 1) for a in sys.argv[5:])
    for k in ("lr", "distil"):
        if k in kw: kw[k] = float(kw[k])
    for k in ("budget", "seed"):
        if k in kw: kw[k] = int(kw[k])
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), **kw)
