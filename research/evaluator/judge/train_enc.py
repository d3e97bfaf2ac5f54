"""Joint training of the evaluator on all groups, for a fixed time, data on the GPU."""
from __future__ import annotations

import glob, json, os, sys, time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from .net import NAMES, NLI, Evaluator, pack, unpack

WEIGHT = {"sel": 1.0, "coh": 1.0, "cohd": 1.0, "acc": 1.2, "con": 1.2, "adq": 1.2, "rel": 0.8, "cov": 0.6, "d2t": 0.7, "gro": 0.5, "ord": 0.3, "abba": 0.3, "abac": 0.3, "nli": 1.2}
MASK = 103



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
                    ok = (y[:, i] > y[:, j] + 0.15) & ((y[:, i] >= 0.25) | (y[:, i] == -1)) if len(g) else np.zeros(0, bool)
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


def masked_loss(model, batch, plain, g):
    """Masked words of good outputs: alone (`[CLS] text [SEP]`, one segment) or before their grounds."""
    ids, typ, mask, am, _, task, y, _, _ = batch
    k = ((y >= 0.9) | (y == -1) | (task == NLI)).nonzero()[:, 0]
    k = k[torch.randperm(len(k), device=k.device)[:max(8, len(ids) // 3)]]
    if not len(k):
        return None
    ids, typ, mask, am = ids[k], typ[k], mask[k], am[k]
    if plain:
        m = int(am.sum(1).max()) + 2; n = am.sum(1) + 2
        ids, am = ids[:, :m], am[:, :m]; mask = torch.arange(m, device=ids.device)[None] < n[:, None]; ids = torch.where(mask, ids, 0); typ = torch.zeros_like(ids)
    x = torch.rand(ids.shape, device=ids.device); where = am & (x < 0.15)
    seen = torch.where(where & (x < 0.12), MASK, ids); seen = torch.where(where & (x >= 0.12) & (x < 0.135), torch.randint(1000, 30522, ids.shape, device=ids.device), seen)
    return F.cross_entropy(model.masked(seen, typ, mask, where).float(), ids[where])


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


def store(model, weights, path):
    sd = model.state_dict()
    if weights is not None:
        sd = {**sd, **{n: w for (n, _), w in zip(model.named_parameters(), weights)}}
    save_file({k: v.contiguous().cpu() for k, v in pack({k: v.detach().float().cpu() for k, v in sd.items()}).items()}, path + ".tmp"); os.replace(path + ".tmp", path)


def main(built, w, out, limit_s, budget=32768, lr=1.5e-4, mlm=0.25, skip="", init="", seed=0, snap=0.0, floor=0.02, warm=0.04, weights=""):
    t0 = time.time(); torch.manual_seed(seed)
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    drop = set(skip.split(",")) if skip else set()
    files = [f for d in built.split(",") for f in sorted(glob.glob(d + "/*.npz")) if os.path.basename(f).split("_")[0] not in drop]
    data = Data(files, dev, seed=seed); print("data", len(data.ln), "examples", int(data.ln.sum()) / 1e6, "M tokens", round(time.time() - t0, 1), "s", flush=True)
    sd = unpack(load_file(w)); sd = {k[4:]: v for k, v in sd.items() if k.startswith("enc.")} or sd
    model = Evaluator(); model.enc.load_state_dict(sd)
    if init:
        model.load_state_dict(unpack(load_file(init)))
    model.to(dev).train()
    W = {**WEIGHT, **(json.load(open(weights)) if weights and os.path.exists(weights) else {})}
    weight = torch.tensor([W.get(n, 1.0) for n in NAMES], device=dev)
    body = [p for n, p in model.named_parameters() if n.startswith("enc.")]; head = [p for n, p in model.named_parameters() if not n.startswith("enc.")]
    opt = torch.optim.AdamW([{"params": body, "lr": lr}, {"params": head, "lr": lr * 5}], weight_decay=0.01, betas=(0.9, 0.98), eps=1e-6, fused=dev == "cuda")
    base = [g["lr"] for g in opt.param_groups]
    step, seen, epoch, t1, log, lm = 0, 0, 0, time.time(), None, None
    params = list(model.parameters()); avg = [p.detach().clone() for p in params]  # running mean of the weights
    rng = np.random.default_rng(seed + 1)
    next_log = 0.0
    done = False
    while not done:
        for gs in data.batches(budget):
            frac = (time.time() - t1) / limit_s
            if frac >= 1:
                done = True; break
            f = min(1.0, frac / warm) * max(floor, 1 - (1 - floor) * frac)
            for g, b in zip(opt.param_groups, base):
                g["lr"] = b * f
            batch = data.tensors(gs)
            with torch.autocast(dev, torch.bfloat16, enabled=dev == "cuda"):
                loss, _, _ = losses(model, batch, weight)
                if rng.random() < mlm:
                    l2 = masked_loss(model, batch, rng.random() < 0.5, None)
                    if l2 is not None:
                        loss = loss + 0.2 * l2; lm = l2.detach()
            opt.zero_grad(set_to_none=True); loss.backward()
            torch.nn.utils.clip_grad_norm_(params, 1.0); opt.step()
            step += 1; seen += int(batch[2].shape[0])
            if step % 10 == 0:
                torch._foreach_lerp_(avg, [p.detach() for p in params], 1 - min(0.99, (1 + step / 10) / (10 + step / 10)))
            if snap and time.time() - t1 > snap:
                store(model, avg, out + ".snap"); snap = 0; open(out + ".snapped", "w").close(); print("snapshot", step, flush=True)
            if step % 50 == 0:
                l = loss.item(); log = l if log is None else 0.8 * log + 0.2 * l
                if time.time() - t1 > next_log:
                    print(f"step {step} seen {seen} epoch {epoch} t {time.time()-t1:.0f} loss {log:.3f} masked {float(lm) if lm is not None else 0:.2f}", flush=True); next_log += limit_s / 12
            if not torch.isfinite(loss).item() if step % 200 == 0 else False:
                raise SystemExit("loss is not finite")
        epoch += 1
    store(model, None, out + ".raw"); store(model, avg, out)
    rep = {"steps": step, "seen": seen, "epochs": epoch, "train_s": round(time.time() - t1, 1), "masked": float(lm) if lm is not None else None, "heldout_raw": heldout(model, data, weight, budget)}
    with torch.no_grad():
        for p, a in zip(params, avg):
            p.copy_(a)
    rep["heldout"] = heldout(model, data, weight, budget)
    json.dump(rep, open(out + ".json", "w")); print(json.dumps(rep), flush=True)


if __name__ == "__main__":
    kw = dict(a.split("=", 1) for a in sys.argv[5:])
    for k in ("lr", "mlm", "snap", "floor", "warm"):
        if k in kw: kw[k] = float(kw[k])
    for k in ("budget", "seed"):
        if k in kw: kw[k] = int(kw[k])
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), **kw)
