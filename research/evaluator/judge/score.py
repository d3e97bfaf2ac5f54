"""Every model signal for every benchmark item; human ratings are not read here."""
from __future__ import annotations

import json, lzma, os, re, sys, time

import numpy as np
import torch
from safetensors.torch import load_file

from .networks import CLS, SEP, TASKS, TOGETHER, Encoder, Evaluator, dlg_prefix, doc_prefix, mr_prefix, open_lm, taught_by, tokenizer, unpack
from quintet.metrics.evaluator.rarity import word_table
from quintet.text.content_words import content_words, plain_words

from .textnorm import STOP, detok, sentences

DEV = "cuda" if torch.cuda.is_available() else "cpu"
AC = lambda: torch.autocast(DEV, torch.bfloat16, enabled=DEV == "cuda")
AMAX = 190


def load_items(path, limit=None):
    d = json.load(lzma.open(path, "rt"))
    docs = d["docs"]; items = d["items"]
    if limit:
        seen = {}
        items = [i for i in items if seen.setdefault(i["set"], []).append(1) or len(seen[i["set"]]) <= limit]
    for i in items:
        i["out"] = detok(i["out"]) or "."
        i["sents"] = sentences(i["out"])[:16]
        for k in ("fact", "inp", "mr"):
            if k in i:
                i[k] = detok(i[k]) if k != "mr" else i[k]
        if "hist" in i:
            i["hist"] = [detok(t) for t in i["hist"]]
        if "refs" in i:
            i["refs"] = [detok(t) for t in i["refs"]]
    paras = []
    for d in docs:
        paras.append([s for p in d.split("\n") for s in sentences(detok(p)) if p.strip()])
    return items, paras


class Sig:
    def __init__(s, n):
        s.n, s.v = n, {}

    def put(s, name, i, x):
        if name not in s.v:
            s.v[name] = np.full(s.n, np.nan, np.float32)
        s.v[name][i] = x


# ------------------------------------------------------------------ encoder judgements
class Judge:
    def __init__(s, path, tokpath, budget=65536):
        s.path = path
        s.tok = tokenizer(tokpath); s.cache = {}; s.budget = budget
        s.q = []; s.qk = {}; s.both = set()

    def ids(s, texts):
        new = [t for t in dict.fromkeys(texts) if t not in s.cache]
        for t, e in zip(new, s.tok.encode_batch(new, add_special_tokens=False)):
            s.cache[t] = e.ids
        return [s.cache[t] for t in texts]

    def ask(s, a, b, both=False):
        """Queue a pair (id lists), return its slot; both: read as one text as well, for the heads that want it."""
        a = tuple(a[:AMAX]) if len(a) > AMAX else tuple(a)
        b = tuple(b[:510])
        k = (a, b)
        if k not in s.qk:
            s.qk[k] = len(s.q); s.q.append(k)
        if both and b:
            s.both.add(s.qk[k])
        return s.qk[k]

    @torch.no_grad()
    def run(s):
        while not os.path.exists(s.path):  # the trainer may still be at work
            time.sleep(0.2)
        s.m = Evaluator()
        s.m.load_state_dict(unpack(load_file(s.path))); s.m.eval().to(DEV)
        n = len(s.q)
        s.heads = np.zeros((n, len(TASKS)), np.float32); s.nli = np.zeros((n, 3), np.float32); s.tokp = [None] * n
        s.answer(range(n), False); s.answer(s.both, True)

    def answer(s, which, one):
        order = sorted(which, key=lambda i: len(s.q[i][0]) + len(s.q[i][1])); n = len(order)
        i = 0; tot = 0; asked = [t for t, name in enumerate(TASKS) if name in TOGETHER]
        while i < n:
            j = i; mx = 0
            while j < n:
                l = len(s.q[order[j]][0]) + len(s.q[order[j]][1]) + 4
                if j > i and max(mx, l) * (j - i + 1) > s.budget:
                    break
                mx = max(mx, l); j += 1
            idx = order[i:j]; ids = np.zeros((len(idx), mx), np.int64); typ = np.zeros_like(ids); mask = np.zeros(ids.shape, bool); am = np.zeros(ids.shape, bool)
            for r, k in enumerate(idx):
                a, b = s.q[k]; b = b[:509 - len(a)] if one else b; q = [CLS, *a, SEP] + ([*([] if one else [CLS]), *b, SEP] if b else [])
                ids[r, :len(q)] = q; mask[r, :len(q)] = True; am[r, 1:1 + len(a)] = True; typ[r, len(a) + 2:len(q)] = 1
            g = lambda x: torch.from_numpy(x).to(DEV)
            with AC():
                h, nl, tk = s.m(g(ids), g(typ), g(mask), g(am), torch.full((len(idx),), one, device=DEV))
            h, nl, tk = h.cpu().numpy(), nl.softmax(-1).cpu().numpy(), tk.sigmoid().cpu().numpy()
            for r, k in enumerate(idx):
                if one:
                    s.heads[k][asked] = h[r][asked]; continue
                s.heads[k] = h[r]; s.nli[k] = nl[r]; s.tokp[k] = tk[r, 1:1 + len(s.q[k][0])].astype(np.float16)
            tot += ids.size; i = j
        print("judged", n, "pairs", tot / 1e6, "M tokens", flush=True)


def windows(sent_ids, size, overlap):
    """Sentence-aligned windows of at most `size` tokens that share about `overlap` tokens."""
    flat = []
    for s in sent_ids:
        while len(s) > size:
            flat.append(s[:size]); s = s[size:]
        flat.append(s)
    out, i = [], 0
    while i < len(flat):
        j, n = i, 0
        while j < len(flat) and n + len(flat[j]) <= size:
            n += len(flat[j]); j += 1
        j = max(j, i + 1)
        out.append([t for x in flat[i:j] for t in x])
        if j >= len(flat):
            break
        k, b = j, 0
        while k - 1 > i and b + len(flat[k - 1]) <= overlap:
            k -= 1; b += len(flat[k])
        i = k
    return out or [[]]


def enc_signals(items, paras, path, tokpath, tag=""):
    t0 = time.time(); J = Judge(path, tokpath); T = {n: i for i, n in enumerate(TASKS)}; S = Sig(len(items)); jobs = []
    J.ids([x for it in items for x in it["sents"]] + [it["out"] for it in items] + [s for p in paras for s in p])
    J.ids([h for it in items for h in it.get("hist", [])] + [r for it in items for r in it.get("refs", [])] + [it[k] for it in items for k in ("fact", "inp", "mr") if k in it])
    one = lambda t: J.ids([t])[0]
    stop_ids = {J.tok.token_to_id(w) for w in STOP} | {i for i in range(30522) if re.fullmatch(r"\W+", J.tok.id_to_token(i) or "x")}
    wcache = {}

    def doc_windows(d, size, ov):
        if (d, size) not in wcache:
            wcache[(d, size)] = windows(J.ids(paras[d]), size, ov)
        return wcache[(d, size)]

    table = word_table(); wwords = {}

    def win_words(d, wins):
        """Words of each big window, as the package looks at them."""
        if d not in wwords:
            wwords[d] = [frozenset(plain_words(J.tok.decode(list(w)))) for w in wins]
        return wwords[d]

    def nearest(text, words_of):
        """Windows by the rarity of the words shared, the best first."""
        own = set(content_words(text)); shared = [table.weight(own & w) for w in words_of]
        return sorted(range(len(words_of)), key=lambda i: (-shared[i], i))

    for n, it in enumerate(items):
        o = one(it["out"]); ss = J.ids(it["sents"])
        e = {"acc": J.ask(o, []), "accs": [J.ask(x, []) for x in ss], "ord": [J.ask(x, y, True) for x, y in zip(ss, ss[1:])]}
        if "doc" in it:
            big = doc_windows(it["doc"], 310, 100); small = doc_windows(it["doc"], 96, 40)
            words_of = win_words(it["doc"], big)
            e["near"] = [nearest(x, words_of) for x in it["sents"]]; e["near_whole"] = nearest(it["out"], words_of)
            e["con"] = [[J.ask(x, w) for w in big] for x in ss]; e["whole"] = [J.ask(o, w) for w in big]
            e["nli"] = [[J.ask(x, w) for w in small] for x in ss] if len(small) <= 60 else e["con"]
        if "refs" in it:
            e["or"] = [J.ask(o, one(r), True) for r in it["refs"]]; e["ro"] = [J.ask(one(r), o, True) for r in it["refs"]]
        if "hist" in it:
            hs = [one(h) for h in it["hist"]]
            for k in (1, 2, 3, 5, 99):
                b = []
                for h in hs[-k:]:
                    b += ([SEP] if b else []) + h
                e[f"h{k}"] = J.ask(o, b[-(500 - min(len(o), AMAX)):], True)
            if it.get("fact"):
                b = one(it["fact"]) + [SEP] + hs[-1]; e["fh"] = J.ask(o, b, True)
            e["rep"] = [J.ask(o, h, True) for h in hs[-6:]]
        for k in ("fact", "inp", "mr"):
            if it.get(k):
                e[k] = J.ask(o, one(it[k]), True); e[k + "r"] = J.ask(one(it[k]), o, True)
        jobs.append(e)
    print("queued", len(J.q), round(time.time() - t0, 1), flush=True)
    J.run()
    H = lambda k, t: float(J.heads[k][T[t]]); sg = lambda x: 1 / (1 + np.exp(-np.asarray(x, np.float64)))
    cm = lambda ids: np.array([i not in stop_ids for i in ids[:AMAX]], bool)
    for n, (it, e) in enumerate(zip(items, jobs)):
        P = lambda name, x: S.put(name, n, x)
        acc = [H(k, "acc") for k in e["accs"]]
        P("acc.whole", H(e["acc"], "acc")); P("acc.mean", np.mean(acc)); P("acc.min", min(acc)); P("acc.pmean", np.mean(sg(acc))); P("coh.whole", H(e["acc"], "coh"))
        P("nsent", len(acc))
        if e["ord"]:
            v = [H(k, "ord") for k in e["ord"]]; P("ord.mean", np.mean(v)); P("ord.min", min(v))
        o = np.array(J.cache[it["out"]])
        if "doc" in e or "con" in e:
            C = np.array([[H(k, "con") for k in r] for r in e["con"]]); ln = np.array([len(J.cache[x]) for x in it["sents"]], float)
            mx = C.max(1); P("con.mean", mx.mean()); P("con.pmean", sg(mx).mean()); P("con.lmean", (mx * ln).sum() / ln.sum()); P("con.min", mx.min())
            w = [H(k, "con") for k in e["whole"]]; P("con.whole", max(w))
            E = np.array([[J.nli[k][0] for k in r] for r in e["nli"]]); K = np.array([[J.nli[k][2] for k in r] for r in e["nli"]])
            P("nli.mean", E.max(1).mean()); P("nli.min", E.max(1).min()); P("nli.diff", (E - K).max(1).mean())
            E2 = np.array([[J.nli[k][0] for k in r] for r in e["con"]]); P("nli.big", E2.max(1).mean())
            for b in (1, 2):
                c = [max(H(r[w], "con") for w in near[:b]) for r, near in zip(e["con"], e["near"])]; P(f"con.b{b}", (np.array(c) * ln).sum() / ln.sum())
                P(f"nli.b{b}", np.mean([max(J.nli[r[w]][0] for w in near[:b]) for r, near in zip(e["con"], e["near"])]))
                for t in ("cohd", "rel", "cov"):
                    P(f"{t}.b{b}", max(H(e["whole"][w], t) for w in e["near_whole"][:b]))
            P("nli.bmin", min(max(J.nli[r[w]][0] for w in near[:2]) for r, near in zip(e["con"], e["near"]))); P("nli.lmean", (E2.max(1) * ln).sum() / ln.sum())
            tk = np.max([np.stack([J.tokp[k] for k in r]).max(0) if len(r) > 1 else J.tokp[r[0]] for r in [e["whole"]]], axis=0).astype(np.float32)
            c = cm(list(o)); P("tok.mean", tk.mean()); P("tok.content", tk[c].mean() if c.any() else tk.mean()); P("tok.min", np.sort(tk)[:max(1, len(tk) // 5)].mean())
            st = [np.stack([J.tokp[k] for k in r]).astype(np.float32).max(0).mean() for r in e["con"]]; P("tok.sent", np.mean(st))
            for t in ("cohd", "rel", "cov"):
                v = [H(k, t) for k in e["whole"]]; P(t + ".lead", v[0]); P(t + ".mean", np.mean(v)); P(t + ".max", max(v))
        if "or" in e:
            for t in ("adq", "cov", "con"):
                a = [H(k, t) for k in e["or"]]; b = [H(k, t) for k in e["ro"]]
                P(f"ref0.{t}", a[0]); P(f"ref0.{t}.r", b[0]); P(f"refm.{t}", np.mean(a)); P(f"refx.{t}", max(a)); P(f"refm.{t}.r", np.mean(b)); P(f"refx.{t}.r", max(b))
            a = [J.nli[k][0] for k in e["or"]]; b = [J.nli[k][0] for k in e["ro"]]
            P("ref0.nli", a[0]); P("ref0.nli.r", b[0]); P("refm.nli", np.mean(a)); P("refm.nli.r", np.mean(b))
            a = [J.tokp[k].astype(np.float32).mean() for k in e["or"]]; b = [J.tokp[k].astype(np.float32).mean() for k in e["ro"]]
            P("ref0.tok", a[0]); P("ref0.tok.r", b[0]); P("refm.tok", np.mean(a)); P("refx.tok", max(a)); P("refm.tok.r", np.mean(b))
        for k in (1, 2, 3, 5, 99):
            if f"h{k}" in e:
                for t in ("sel", "abac", "abba"):
                    P(f"{t}.h{k}", H(e[f"h{k}"], t))
        if "rep" in e:
            P("hist.adq.max", max(H(k, "adq") for k in e["rep"])); P("hist.nli.max", max(float(J.nli[k][0]) for k in e["rep"])); P("hist.contra.max", max(float(J.nli[k][2]) for k in e["rep"]))
        if "fh" in e:
            tk = J.tokp[e["fh"]].astype(np.float32); P("fh.tok.mean", tk.mean()); P("fh.tok.sum", tk.sum()); P("fh.sel", H(e["fh"], "sel"))
        for q in ("fact", "inp", "mr"):
            if q in e:
                for t in ("con", "adq", "gro", "d2t", "cov", "sel"):
                    P(f"{q}.{t}", H(e[q], t))
                    if t in ("con", "adq", "cov"):
                        P(f"{q}.{t}.r", H(e[q + "r"], t))
                P(f"{q}.nli", J.nli[e[q]][0]); P(f"{q}.nli.r", J.nli[e[q + "r"]][0]); P(f"{q}.contra", J.nli[e[q]][2])
                tk = J.tokp[e[q]].astype(np.float32); c = cm(list(o))
                P(f"{q}.tok.mean", tk.mean()); P(f"{q}.tok.csum", tk[c].sum() if c.any() else 0); P(f"{q}.tok.r", J.tokp[e[q + "r"]].astype(np.float32).mean())
    print("encoder signals", len(S.v), round(time.time() - t0, 1), "s", flush=True)
    return {tag + k: v for k, v in S.v.items()}


# ------------------------------------------------------------------ embedding matching
@torch.no_grad()
def emb_signals(items, paras, path, tokpath, tag, judge=False, layers=(9, 12)):
    t0 = time.time(); tok = tokenizer(tokpath); S = Sig(len(items))
    enc = Encoder(); sd = unpack(load_file(path))
    enc.load_state_dict({k[4:]: v for k, v in sd.items() if k.startswith("enc.")} if judge else sd); enc.eval().to(DEV)
    stop_ids = {tok.token_to_id(w) for w in STOP} | {i for i in range(30522) if re.fullmatch(r"\W+", tok.id_to_token(i) or "x")}
    is_content = torch.ones(30522, dtype=torch.bool); is_content[[i for i in stop_ids if i is not None]] = False; is_content = is_content.to(DEV)
    texts = {}

    def add(t):
        texts.setdefault(t, len(texts)); return texts[t]
    for it in items:
        add(it["out"])
        for k in ("fact", "inp"):
            if it.get(k):
                add(it[k])
        for r in it.get("refs", []):
            add(r)
        if it.get("hist"):
            add(" ".join(it["hist"][-3:])); add(it["hist"][-1])
            if it.get("fact"):
                add(it["fact"] + " " + " ".join(it["hist"][-3:]))
    used = {it["doc"] for it in items if "doc" in it}
    L = list(texts); E = [e.ids for e in tok.encode_batch(L, add_special_tokens=False)]
    seqs = [(("t", i), e[:500]) for i, e in enumerate(E)]
    for d in used:
        for w in windows([e.ids for e in tok.encode_batch(paras[d], add_special_tokens=False)], 480, 0):
            seqs.append((("d", d), w))
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i][1])); store = {}
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and (len(seqs[order[j]][1]) + 2) * (j - i + 1) <= 65536:
            j += 1
        j = max(j, i + 1); idx = order[i:j]; m = len(seqs[idx[-1]][1]) + 2
        ids = np.zeros((len(idx), m), np.int64); mask = np.zeros((len(idx), m), bool)
        for r, k in enumerate(idx):
            q = [CLS, *seqs[k][1], SEP]; ids[r, :len(q)] = q; mask[r, :len(q)] = True
        ids, mask = torch.from_numpy(ids).to(DEV), torch.from_numpy(mask).to(DEV)
        with AC():
            x, kept = enc(ids, torch.zeros_like(ids), mask, want=set(layers))
        for r, k in enumerate(idx):
            n = len(seqs[k][1])
            store.setdefault(seqs[k][0], []).append((k, ids[r, 1:1 + n], {l: torch.nn.functional.normalize(kept[l][r, 1:1 + n].float(), dim=-1).half() for l in layers}, kept[12][r, :n + 2].float().mean(0)))
        i = j
    print("embedded", len(seqs), round(time.time() - t0, 1), flush=True)
    one = {}

    def get(key):
        if key not in one:
            p = sorted(store[key], key=lambda z: z[0])
            one[key] = (torch.cat([x[1] for x in p]), {l: torch.cat([x[2][l] for x in p]) for l in layers}, torch.nn.functional.normalize(torch.stack([x[3] for x in p]).mean(0), dim=0))
        return one[key]
    names = ["P", "R", "F", "cos", "Pc", "Rc", "Fc", "Psum"]
    rows, vals = [], []

    def match(n, tagname, a, b):
        A, B = get(a), get(b)
        if len(A[0]) == 0 or len(B[0]) == 0:
            return
        ca, cb = is_content[A[0]].float(), is_content[B[0]].float()
        out = []
        for l in layers:
            s = (A[1][l] @ B[1][l].T).float(); p, r = s.amax(1), s.amax(0)
            P, R = p.mean(), r.mean(); Pc = (p * ca).sum() / ca.sum().clamp(min=1); Rc = (r * cb).sum() / cb.sum().clamp(min=1)
            out += [P, R, 2 * P * R / (P + R), (A[2] * B[2]).sum(), Pc, Rc, 2 * Pc * Rc / (Pc + Rc).clamp(min=1e-6), (p * ca).sum()]
        rows.append((n, tagname)); vals.append(torch.stack(out))
    for n, it in enumerate(items):
        o = ("t", texts[it["out"]])
        if "doc" in it:
            match(n, "doc", o, ("d", it["doc"]))
        if it.get("refs"):
            for q, r in enumerate(it["refs"][:11]):
                match(n, f"ref{q}", o, ("t", texts[r]))
        for k in ("fact", "inp"):
            if it.get(k):
                match(n, k, o, ("t", texts[it[k]]))
        if it.get("hist"):
            match(n, "hist3", o, ("t", texts[" ".join(it["hist"][-3:])])); match(n, "hist1", o, ("t", texts[it["hist"][-1]]))
            if it.get("fact"):
                match(n, "fh", o, ("t", texts[it["fact"] + " " + " ".join(it["hist"][-3:])]))
    V = torch.stack(vals).cpu().numpy()
    refs = {}
    for (n, t), v in zip(rows, V):
        if t.startswith("ref"):
            refs.setdefault(n, []).append(v)
            if t != "ref0":
                continue
        for q, l in enumerate(layers):
            for z, nm in enumerate(names):
                if nm == "cos" and l != 12:
                    continue
                S.put(f"{t}.{nm}{l if nm != 'cos' else ''}", n, v[q * 8 + z])
    for n, vs in refs.items():
        m, x = np.mean(vs, 0), np.max(vs, 0)
        for q, l in enumerate(layers):
            for z, nm in enumerate(names):
                S.put(f"refm.{nm}{l}", n, m[q * 8 + z]); S.put(f"refx.{nm}{l}", n, x[q * 8 + z])
    print("embedding signals", len(S.v), round(time.time() - t0, 1), "s", flush=True)
    return {tag + k: v for k, v in S.v.items()}


# ------------------------------------------------------------------ language model
DOC = ("con", "nli", "words", "cohd", "rel", "cov")
READ = {"doc": DOC, "sent": DOC[:3], "alone": ("acc", "coh"), "dlg": ("sel", "gro"), "h12": ("sel",), "f": ("gro",), "mr": ("d2t",), "inp": ("adq",), "refm": ("adq",)}
"""Heads that are read in a form (`rd.FORM.HEAD`). `dlg` is the product's; `h12` and `f` are what sel and gro were taught with;
`sent` (on request): every sentence by itself after the whole document, mean and lowest."""


def forms(it, nm):
    """Which forms a query of likelihood is, for this item."""
    if nm == "doc":
        return ("doc",)
    if nm == "unc":
        return ("alone",) if "hist" not in it and "mr" not in it and "inp" not in it else ()
    if nm in ("h12", "fh12"):
        return (*(("h12",) if nm == "h12" else ()), *(("dlg",) if (nm == "fh12") == bool(it.get("fact")) else ()))
    return {"f": ("f",), "mr": ("mr",), "out|inp": ("inp",), "alone": ("alone",), "refm": ("refm",), "sent": ("sent",)}.get(nm, ())


@torch.no_grad()
def lm_signals(items, paras, parts, tokpath, tag, budget=65536, tiny=False, only=None, each=None, sents=False):
    """`each`: a file for the log-likelihood of every token given the document, and alone. With heads in the weights also what
    they say (`rd.`), of the same pass: a line break is read after the output."""
    t0 = time.time(); S = Sig(len(items)); R = Sig(len(items)); Q = []
    m, tok, bos = open_lm(parts, tokpath, tiny)
    m.eval().to(DEV)  # float32: the network rounds its weights itself, and autocast chooses what products are computed in
    taught = (taught_by(parts) or {*TASKS, "nli", "words"}) if m.judge else frozenset()
    asked = {f: [h for h in heads if h in taught] for f, heads in READ.items()}
    for n, it in enumerate(items):
        o = it["out"]
        if "doc" in it:
            d = " ".join(paras[it["doc"]]); Q += [(n, "sent", doc_prefix(d), one) for one in (it["sents"] if sents else ())]; Q += [(n, "doc", doc_prefix(d), o), (n, "unc", doc_prefix(""), o)]
            if it.get("refs"):
                Q += [(n, "ref|out", doc_prefix(o), it["refs"][0]), (n, "out|ref", doc_prefix(it["refs"][0]), o), (n, "ref", doc_prefix(""), it["refs"][0])]
        elif "hist" in it:
            h = it["hist"]; Q += [(n, "unc", dlg_prefix([]), o), (n, "h1", dlg_prefix(h[-1:]), o), (n, "h3", dlg_prefix(h[-3:]), o), (n, "h12", dlg_prefix(h[-12:]), o)]
            if it.get("fact"):
                f = it["fact"]; Q += [(n, "f", dlg_prefix([], f), o), (n, "fh1", dlg_prefix(h[-1:], f), o), (n, "fh12", dlg_prefix(h[-12:], f), o)]
        elif "mr" in it:
            Q += [(n, "mr", mr_prefix(it["mr"]), o), (n, "unc", mr_prefix(""), o), (n, "dunc", dlg_prefix([]), o)]
            if it.get("refs"):
                Q += [(n, "out|ref", dlg_prefix(it["refs"][:1]), o), (n, "ref|out", dlg_prefix([o]), it["refs"][0])]
        elif "inp" in it:
            Q += [(n, "unc", dlg_prefix([]), o), (n, "out|inp", doc_prefix(it["inp"]), o), (n, "inp|out", doc_prefix(o), it["inp"])]
        else:
            Q += [(n, "unc", doc_prefix(""), o)]
        if m.judge:
            Q += [(n, "refm", doc_prefix(r), o) for r in it.get("refs", [])[:11]] if asked["refm"] else []
            Q += [(n, "alone", doc_prefix(""), o)] if asked["alone"] and not forms(it, "unc") else []
    if only:
        Q = [q for q in Q if q[1] in only]
    pre = list(dict.fromkeys(q[2] for q in Q)); tgt = list(dict.fromkeys(q[3] for q in Q))
    pe = dict(zip(pre, [e.ids for e in tok.encode_batch(pre, add_special_tokens=False)])); te = dict(zip(tgt, [e.ids for e in tok.encode_batch([" " + t for t in tgt], add_special_tokens=False)]))
    nl = tok.encode("\n", add_special_tokens=False).ids[-1:] if m.judge else []
    seq = [([bos] + pe[q[2]][-7000:], te[q[3]][:600]) for q in Q]; order = sorted(range(len(seq)), key=lambda i: len(seq[i][0]) + len(seq[i][1]))
    print("lm queued", len(seq), sum(len(a) + len(b) for a, b in seq) / 1e6, "M tokens", round(time.time() - t0, 1), flush=True)
    i = 0; tokens = {}; content = {}; read = {}

    def counts(t):
        """Whether a sub-word counts as a content word."""
        if t not in content:
            w = tok.decode([t]).strip().lower(); content[t] = w not in STOP and any(c.isalnum() for c in w)
        return content[t]
    with AC():
        table = m.net.table()
    while i < len(order):
        j = i
        while j < len(order) and (len(seq[order[j]][0]) + len(seq[order[j]][1])) * (j - i + 1) <= budget:
            j += 1
        j = max(j, i + 1); idx = order[i:j]; mx = max(len(seq[k][0]) + len(seq[k][1]) for k in idx) + len(nl)
        ids = np.zeros((len(idx), mx), np.int64); mk = np.zeros((len(idx), mx), bool); mask = np.zeros((len(idx), mx), bool); am = np.zeros((len(idx), mx), bool)
        for r, k in enumerate(idx):
            a, b = seq[k]; n = len(a) + len(b); ids[r, :n + len(nl)] = a + b + nl; mk[r, len(a):n] = True; mask[r, :n + len(nl)] = True; am[r, len(a):n + len(nl)] = True
        ids, mk, mask, am = (torch.from_numpy(z).to(DEV) for z in (ids, mk, mask, am))
        with AC():
            every = m.states(ids); x = every[:, :-1][mk[:, 1:]]; t = ids[:, 1:][mk[:, 1:]]; row = mk[:, 1:].nonzero()[:, 0]
            lp = torch.cat([-torch.nn.functional.cross_entropy(m.logits(x[c:c + 8192], table).float(), t[c:c + 8192], reduction="none") for c in range(0, len(x), 8192)])
        if m.judge:
            ans = m.judge.answers(every, mask, am); hd, en, wp = ans.questions.cpu().numpy(), ans.entailment.softmax(-1).cpu().numpy(), ans.words.sigmoid().cpu().numpy()
            for r, k in enumerate(idx):
                n, nm = Q[k][0], Q[k][1]; a, b = seq[k]
                for f in forms(items[n], nm):
                    for h in asked[f]:
                        if h == "words":
                            p = wp[r, len(a):len(a) + len(b)]; read.setdefault((n, f"rd.{f}.words.low"), []).append(float(np.sort(p)[:max(1, len(p) // 5)].mean())); c = np.array([counts(z) for z in b], bool); v = p[c].mean() if c.any() else p.mean()
                        else:
                            v = en[r, 0] if h == "nli" else hd[r, TASKS.index(h)]
                        read.setdefault((n, f"rd.{f}.{h}"), []).append(float(v))
        sm = torch.zeros(len(idx), device=DEV).index_add_(0, row, lp); ct = torch.zeros(len(idx), device=DEV).index_add_(0, row, torch.ones_like(lp))
        mn = torch.full((len(idx),), 0.0, device=DEV).scatter_reduce_(0, row, lp, "amin"); bad = torch.zeros(len(idx), device=DEV).index_add_(0, row, (lp < -9).float())
        sm, ct, mn, bad = (z.cpu().numpy() for z in (sm, ct, mn, bad))
        if each:
            for k, own in zip(idx, np.split(lp.float().cpu().numpy().astype(np.float16), np.cumsum(ct.astype(int))[:-1])):
                if Q[k][1] in ("doc", "unc") and "doc" in items[Q[k][0]]:
                    tokens[f"{Q[k][1]}:{Q[k][0]}"] = own
        for r, k in enumerate(idx):
            n, nm = Q[k][0], Q[k][1]
            if nm in ("alone", "refm", "sent"):  # only their heads are wanted
                continue
            S.put(f"{nm}.sum", n, sm[r]); S.put(f"{nm}.mean", n, sm[r] / max(1, ct[r])); S.put(f"{nm}.min", n, mn[r]); S.put("ntok" if not nm.startswith("ref") else "ntokref", n, ct[r]); S.put(f"{nm}.bad", n, bad[r] / max(1, ct[r]))
        i = j
    if each:
        names = sorted(tokens); np.savez_compressed(each, names=np.array(names), lengths=np.array([len(tokens[k]) for k in names]), values=np.concatenate([tokens[k] for k in names]))
    for (n, name), v in read.items():
        R.put(name, n, np.mean(v))
        if name.startswith("rd.sent"):
            R.put(f"{name}.min", n, np.min(v))
    print("lm signals", len(S.v), "read", len(R.v), round(time.time() - t0, 1), "s", flush=True)
    return {**{tag + k: v for k, v in S.v.items()}, **R.v}


def save(path, sig, items):
    np.savez_compressed(path, __id__=np.array([i["id"] for i in items]), **sig); print(path, os.path.getsize(path) >> 10, "KiB", flush=True)


if __name__ == "__main__":
    mode, itemfile, weights, tokpath, tag, out = sys.argv[1:7]
    kw = dict(a.split("=", 1) for a in sys.argv[7:])
    items, paras = load_items(itemfile, int(kw["limit"]) if "limit" in kw else None)
    if kw.get("val") == "1":  # validation sets only
        items = [i for i in items if not i["test"]]
    if kw.get("test") == "1":
        items = [i for i in items if i["test"]]
    if mode == "enc":
        sig = enc_signals(items, paras, weights, tokpath, tag)
    elif mode == "emb":
        sig = emb_signals(items, paras, weights, tokpath, tag, judge=kw.get("judge") == "1")
    else:
        sig = lm_signals(items, paras, weights, tokpath, tag, tiny=kw.get("tiny") == "1", only=set(kw["only"].split(",")) if "only" in kw else None, each=kw.get("each"), sents=kw.get("sents") == "1")
    save(out, sig, items)
