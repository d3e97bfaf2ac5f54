"""Build and tokenise all groups in parallel; one npz a shard."""
from __future__ import annotations

import json, multiprocessing as mp, os, sys, time

import numpy as np

from .examples import Builder, KINDS, Tables
from .net import NAMES

MAXLEN = 448
G = {}


def tokenizer(path):
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path); t.no_truncation(); t.no_padding()
    return t


CLS, SEP = 101, 102


def join(a, b, maxlen=MAXLEN):
    """[CLS] A [SEP] B [SEP]; an empty B leaves the closing [SEP], which marks judging (against plain encoding)."""
    a = a[:maxlen * 2 // 3] if b else a[:maxlen - 3]
    b = b[:maxlen - 3 - len(a)]
    return [CLS] + a + [SEP] + b + [SEP], len(a)


def work(job):
    kind, part, of, seed, out = job
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    T, tn, sn, tok = G["T"], G["tn"], G["sn"], G["tok"]
    b = Builder(T, tn, sn, seed * 1000 + part, G["near"])
    ids, ln, la, task, y, rank, gid, lab = [], [], [], [], [], [], [], []
    ng = 0
    buf = []

    def flush():
        nonlocal ng
        A = tok.encode_batch([x[0] for g in buf for x in g[1]], add_special_tokens=False)
        bs = list({x[1] for g in buf for x in g[1] if x[1]})
        B = dict(zip(bs, [e.ids for e in tok.encode_batch(bs, add_special_tokens=False)]))
        k = 0
        for name, ex, rk in buf:
            for a, bt, yy, bad in ex:
                e = A[k]; k += 1
                seq, n = join(e.ids, B.get(bt, []))
                t = np.full(len(seq), 255, np.uint8)
                if bad is not None:
                    for i, (s, f) in enumerate(e.offsets[:n]):
                        t[1 + i] = 0 if any(s < q and f > p for p, q in bad) else 1
                ids.append(np.array(seq, np.uint16)); lab.append(t); ln.append(len(seq)); la.append(n)
                task.append(NAMES.index(name)); y.append(yy); rank.append(rk); gid.append(ng)
            ng += 1
        buf.clear()

    for g in getattr(b, kind)(part, of):
        if g and len(g[1]) >= 1:
            buf.append(g)
            if len(buf) >= 512:
                flush()
    if buf:
        flush()
    np.savez(out, ids=np.concatenate(ids) if ids else np.zeros(0, np.uint16), lab=np.concatenate(lab) if lab else np.zeros(0, np.uint8), ln=np.array(ln, np.int32), la=np.array(la, np.int32),
             task=np.array(task, np.int16), y=np.array(y, np.float32), rank=np.array(rank, bool), gid=np.array(gid, np.int64))
    return kind, part, ng, len(ln), int(sum(ln))


def main(data, tokpath, mined, out, procs, shards, limit=None, seed=7, kinds="", near=""):
    t0 = time.time()
    os.makedirs(out, exist_ok=True)
    G["T"] = Tables(data, limit); G["tok"] = tokenizer(tokpath); G["near"] = json.load(open(near)) if near else {}
    G["tn"] = G["sn"] = None
    if mined != "-":  # written by the miner, which may still be at work
        while not os.path.exists(mined):
            time.sleep(0.2)
        m = np.load(mined); G["tn"], G["sn"] = m["turns"], m["sents"]
        assert len(G["tn"]) == len(G["T"].turns) and len(G["sn"]) == len(G["T"].sents)
    print("tables", round(time.time() - t0, 1), flush=True)
    n = {"sel": shards, "con": shards, "acc": shards}
    use = kinds.split(",") if kinds else KINDS
    size = {k: n.get(k, max(1, shards // 2)) for k in use}
    jobs = [(k, p, size[k], seed, f"{out}/{k}_{p}.npz") for k in use for p in range(size[k])]
    tot = {}
    if procs <= 1:
        it = map(work, jobs)
    else:
        pool = mp.get_context("fork").Pool(procs); it = pool.imap_unordered(work, jobs)
    for kind, part, ng, ne, nt in it:
        a = tot.setdefault(kind, [0, 0, 0]); a[0] += ng; a[1] += ne; a[2] += nt
    for k, v in tot.items():
        print(f"{k:6s} groups {v[0]:8d} examples {v[1]:8d} tokens {v[2]/1e6:7.2f}M")
    print("build", round(time.time() - t0, 1), "s", flush=True)


if __name__ == "__main__":
    a = sys.argv
    kw = {k: int(v) if v.isdigit() else v for k, v in (x.split("=") for x in a[7:])}
    main(a[1], a[2], a[3], a[4], int(a[5]), int(a[6]), **kw)
