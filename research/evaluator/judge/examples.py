"""Training groups for every head. A group is (task, [(A, B, y, bad_spans | None), ...], rank): rank pairs y>hi against y<lo."""
from __future__ import annotations

import ast, json, lzma, random, re

import numpy as np

from . import noise
from .textnorm import content, sentences

GENERIC = """i don't know. | that's cool. | oh, really? | yeah, i think so. | i'm not sure. | wow, that's interesting. | me too. | i agree. | that is true. | what do you mean? | ok. | haha, yes. | that sounds like fun. | thank you. | i see.
| i like it too. | nice. | sure. | no, i don't. | i have no idea. | good for you. | i don't think so. | that's great. | how about you? | what do you do? | i love it. | that is a good point. | i did not know that. | really? that's amazing. | sounds good to me.""".replace("\n", " ").split(" | ")


def read(path, limit=None):
    out = []
    with lzma.open(path, "rt", encoding="utf8") as h:
        for line in h:
            out.append(json.loads(line))
            if limit and len(out) >= limit:
                break
    return out


class Tables:
    """All text tables plus the flat lists of turns and sentences that neighbours are mined over."""

    def __init__(self, root, limit=None):
        for k in ("dialogues", "mutual", "documents", "stories", "story_ends", "nli", "adequacy", "mlqe", "darr", "accept", "d2t"):
            setattr(self, k, read(f"{root}/{k}.jsonl.xz", limit))
        if limit:  # a dry run still needs every dialogue source
            self.dialogues = self.dialogues + [x for x in read(f"{root}/dialogues.jsonl.xz") if x["s"] in ("convai2", "cmudog")][:limit:]
        self.turns, self.turn_dlg = [], []
        for i, d in enumerate(self.dialogues):
            d["o"] = len(self.turns)
            self.turns += d["t"]; self.turn_dlg += [i] * len(d["t"])
        self.sents, self.sent_doc = [], []
        for i, d in enumerate(self.documents):
            full = [s for p in d.pop("P") for s in p]
            d["d"] = " ".join(full); d["S"] = full[:40]
            keep = [s for s in d["S"] if 5 <= len(s.split()) <= 60]
            d["o"] = (len(self.sents), len(keep)); self.sents += keep; self.sent_doc += [i] * len(keep)
            u = [s for s in d["u"] if 3 <= len(s.split()) <= 60]
            d["uo"] = (len(self.sents), len(u)); self.sents += u; self.sent_doc += [i] * len(u)
        self.turn_dlg = np.array(self.turn_dlg); self.sent_doc = np.array(self.sent_doc)


def ctx(turns, r, k=None):
    k = k or r.choice([1, 2, 3, 3, 4, 5, 6])
    t = turns[-k:]
    return (" [SEP] " if r.random() < 0.6 else " ").join(t)


def style(t, r):
    """Surface variants that must not matter."""
    x = r.random()
    if x < 0.2:
        t = t.rstrip(".!")
    if 0.1 < x < 0.3:
        t = t.lower()
    return t


class Builder:
    def __init__(self, T, turn_nb, sent_nb, seed, near=None):
        self.near = near or {}
        self.T, self.tn, self.sn, self.r = T, turn_nb, sent_nb, random.Random(seed)
        self.by_source = {}
        for d in T.dialogues:
            self.by_source.setdefault(d["s"], []).append(d)

    # ---- dialogue
    def sel(self, part, of):
        T, r = self.T, self.r
        rep = {"topical": 2.5, "cmudog": 0.8, "convai2": 2.5, "convai2x": 1.2, "sgd": 0.25, "qmsum": 0.2, "ni:task573": 0.25, "ni:task1500": 0.1, "ni:task1501": 0.1}
        for di in range(part, len(T.dialogues), of):
            d = T.dialogues[di]; t = d["t"]
            for i in range(1, len(t)):
                w = rep.get(d["s"], 0.6)
                n = int(w) + (r.random() < w % 1)
                if d.get("h") and not d["h"][i]:
                    continue
                if len(t[i].split()) < 2:
                    continue
                for _ in range(n):
                    yield self._sel_group(d, i)
        for k in range(part, len(T.mutual), of):
            m = T.mutual[k]
            yield "sel", [(m["o"][m["a"]], ctx(m["c"], r, r.choice([3, 6, 10])), 1, None)] + [(o, " [SEP] ".join(m["c"][-10:]), 0, None) for j, o in enumerate(m["o"]) if j != m["a"]][:2], True

    def _sel_group(self, d, i):
        T, r = self.T, self.r
        t = d["t"]; c = ctx(t[:i], r); pos = style(t[i], r)
        g = [(pos, c, 1, None)]
        # mostly foreign replies of the same register: too many on-topic negatives teach the head to punish staying on topic
        kinds = r.sample(["random"] * 4 + ["source"] * 5 + ["lenmatch"] * 3 + ["nb", "generic", "corrupt", "repeat"], 3)
        for k in kinds:
            n = None
            if k == "nb":
                n = T.turns[r.choice(self.tn[d["o"] + i])]
            elif k == "echo":
                n = T.turns[r.choice(self.tn[d["o"] + i - 1])]
            elif k == "same":
                c2 = [j for j in range(len(t)) if j > i + 1 or j < i - 4]
                n = t[r.choice(c2)] if c2 else None
            elif k == "repeat":
                n = t[max(0, i - r.choice([1, 1, 2, 2, 3]))]
                if r.random() < 0.4:
                    n = noise.corrupt(n, r, GENERIC, 1)
            elif k == "generic":
                n = r.choice(GENERIC)
                if len(t[i].split()) < 6:
                    n = None
            elif k == "corrupt":
                n = noise.corrupt(t[i], r, [T.turns[r.randrange(len(T.turns))]], r.choice([2, 3]))
            elif k == "mix":
                a = T.turns[r.choice(self.tn[d["o"] + i])].split(); b = t[i].split()
                n = " ".join(b[:len(b) // 2] + a[len(a) // 2:])
            elif k == "source":
                o = r.choice(self.by_source[d["s"]]); n = r.choice(o["t"]) if o is not d else None
            elif k == "lenmatch":
                n = min((T.turns[r.randrange(len(T.turns))] for _ in range(12)), key=lambda x: abs(len(x) - len(t[i])))
            if not n:
                n = T.turns[r.randrange(len(T.turns))]
            if n.strip().lower() != t[i].strip().lower():
                g.append((style(n, r), c, 0, None))
        return "sel", g, True

    def abac(self, part, of):
        """A reply against the nearest replies of other dialogues; and (abba) against its own previous turn with the roles swapped."""
        T, r = self.T, self.r
        for di in range(part, len(T.dialogues), of):
            d = T.dialogues[di]; t = d["t"]
            p = {"topical": 0.25, "convai2": 0.25, "cmudog": 0.12}.get(d["s"], 0.04)
            for i in range(1, len(t)):
                if r.random() < p and len(t[i].split()) > 2:
                    c = ctx(t[:i], r)
                    yield "abac", [(style(t[i], r), c, 1, None)] + [(style(T.turns[r.choice(self.tn[d["o"] + i])], r), c, 0, None) for _ in range(2)], True
                if r.random() < p and len(t[i].split()) > 2 and len(t[i - 1].split()) > 2:
                    yield "abba", [(style(t[i], r), t[i - 1], 1, None), (style(t[i - 1], r), t[i], 0, None)], True

    def ord(self, part, of):
        """Two neighbouring blocks of sentences, in order and swapped."""
        T, r = self.T, self.r

        def pair(x):
            k = r.randrange(1, len(x)); a, b = " ".join(x[max(0, k - r.choice([1, 1, 2, 3])):k]), " ".join(x[k:k + r.choice([1, 1, 2, 3])])
            return "ord", [(a, b, 1, None), (b, a, 0, None)], True
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            if len(d["S"]) >= 4:
                for _ in range({"cnndm": 2, "bbc": 2, "xsum": 2}.get(d["s"], 1)):
                    k = r.randrange(max(1, len(d["S"]) - 6)); yield pair(d["S"][k:k + 6])
            if len(d["u"]) > 1:
                yield pair(d["u"])
        for x in T.stories[part::of]:
            if r.random() < 0.5:
                yield pair(x)

    def gro(self, part, of):
        T, r = self.T, self.r
        pre = ["", "", "i heard that ", "did you know that ", "yes, ", "i read that ", "apparently ", "wow, ", "i think ", "that is interesting. ", "well, ", "oh really? "]
        post = ["", "", " what do you think?", " isn't that crazy?", " that's pretty cool.", " have you heard about that?", " i had no idea."]
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            if d["s"] not in ("cnndm", "bbc", "xsum", "scitldr") or len(d["S"]) < 5:
                continue
            for _ in range(2):
                k = r.randrange(len(d["S"]) - 3); par = d["S"][k:k + r.choice([1, 2, 3])]; s = r.choice(par)
                b = " ".join(par)
                a = r.choice(pre) + noise.compress(s, r) + r.choice(post)
                if len(s.split()) > 8 and r.random() < 0.5:
                    w = s.split(); q = r.randrange(3, len(w)); a = r.choice(pre) + " ".join(w[max(0, q - 8):q + 4]) + r.choice(post)
                o, n = d["o"]
                g = [(a.lower() if r.random() < .5 else a, b, 1, None)]
                if n:
                    x = T.sents[r.choice(self.sn[o + r.randrange(n)])]
                    g.append((r.choice(pre) + noise.compress(x, r) + r.choice(post), b, 0, None))
                g.append((style(T.turns[r.randrange(len(T.turns))], r), b, 0, None))
                yield "gro", g, True
        for d in T.dialogues[part::of]:
            if "f" not in d:
                continue
            for i in range(1, len(d["t"])):
                f = d["f"][i]
                if not f:
                    continue
                sc = [(len(set(content(s)) & set(content(d["t"][i]))), s) for s in sentences(f)]
                n, s = max(sc, key=lambda x: x[0]) if sc else (0, "")
                b = s if d["s"] == "cmudog" and r.random() < 0.6 else " ".join(f.split()[:200])
                need = 3 if d["s"] == "cmudog" else 2
                if n >= need:
                    j = r.randrange(len(d["t"])); other = d["t"][j]
                    g = [(style(d["t"][i], r), b, 1, None)]
                    if len(set(content(f)) & set(content(other))) < 2:
                        g.append((style(other, r), b, 0, None))
                    g.append((style(T.turns[r.choice(self.tn[d["o"] + i])], r), b, 0, None))
                    yield "gro", g, True

    # ---- text
    def _paras(self, part, of):
        T, r = self.T, self.r
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            o, n = d["uo"]
            if len(d["u"]) >= 2 and n:
                for _ in range(4 if d["s"] in ("cnndm", "qmsum") else 1):
                    yield d["u"], o, n, di
            o, n = d["o"]
            if n >= 5:
                for _ in range({"cnndm": 6, "bbc": 4, "xsum": 5, "scitldr": 1}.get(d["s"], 0)):
                    k = r.choice([3, 3, 4, 5]); a = 0 if r.random() < 0.4 else r.randrange(max(1, n - k))
                    yield T.sents[o + a:o + a + min(k, n - a)], o + a, min(k, n - a), di

    def _incoherent(self, s, o, n, di):
        """One corruption of a list of sentences; o is the row of its first sentence among the mined ones."""
        T, r = self.T, self.r
        s = list(s); k = r.choice(["shuffle", "swap", "nb", "nb", "nb2", "dup", "dup", "jump", "cut", "frag", "order", "far", "garble", "contra", "tail"])
        if k == "shuffle":
            q = list(s); r.shuffle(q); s = q
        elif k == "swap" and len(s) > 2:
            i = r.randrange(len(s) - 1); s[i], s[i + 1] = s[i + 1], s[i]
        elif k == "order":
            s = s[::-1]
        elif k in ("nb", "nb2"):
            for _ in range(1 if k == "nb" else 2):
                s[r.randrange(len(s))] = T.sents[r.choice(self.sn[o + r.randrange(n)])]
        elif k == "dup":
            x = r.choice(s); y = noise.compress(x, r) if r.random() < 0.5 else x; s.insert(r.randrange(len(s) + 1), y)
        elif k == "jump":
            a, b = T.documents[di]["o"]
            if b > 6:
                for _ in range(r.choice([1, 2])):
                    s[r.randrange(len(s))] = T.sents[a + r.randrange(b)]
        elif k == "cut":
            i = r.randrange(len(s)); w = s[i].split(); s[i] = " ".join(w[:max(2, len(w) * 2 // 3)]) + r.choice(["", "."])
            if r.random() < 0.5:
                i = r.randrange(len(s)); w = s[i].split(); s[i] = " ".join(w[len(w) // 3:])
        elif k == "frag":
            w = r.choice(s).split(); a = r.randrange(max(1, len(w) - 3)); s.insert(r.randrange(len(s) + 1), " ".join(w[a:a + r.choice([2, 3, 5])]) + ".")
        elif k == "contra":  # the same thing said again, but differently
            x = r.choice(s); e = noise.factual(x, r, [q[2] for y in s for q in noise.entities(y)], [], [])
            s.insert(r.randrange(len(s) + 1), e[0] if e else x)
        elif k == "tail":  # a text that breaks off, or begins in the middle
            w = s[-1].split(); s[-1] = " ".join(w[:max(2, r.randrange(len(w) // 3, max(len(w) // 3 + 1, len(w) - 1)))]).rstrip(".,")
        elif k == "far":
            s = [T.sents[r.randrange(len(T.sents))] if r.random() < 0.6 else x for x in s]
        elif k == "garble":
            i = r.randrange(len(s)); s[i] = noise.corrupt(s[i], r, [r.choice(s)], 2)
        return s

    def coh(self, part, of):
        T, r = self.T, self.r
        for s, o, n, di in self._paras(part, of):
            g = [(" ".join(style(x, r) if r.random() < 0.1 else x for x in s), "", 1, None)]
            for _ in range(2):
                c = self._incoherent(s, o, n, di)
                if c != list(s):
                    g.append((" ".join(c), "", 0, None))
            yield "coh", g, True
        for s in T.stories[part::of]:
            k = r.randrange(5); c = list(s)
            if r.random() < 0.5:
                r.shuffle(c)
            else:
                c[k] = r.choice(r.choice(T.stories))
            if c != s:
                yield "coh", [(" ".join(s), "", 1, None), (" ".join(c), "", 0, None)], True
        for s in T.story_ends[part::of]:
            yield "coh", [(" ".join(s["c"] + [s["e"]]), "", s["y"], None)], False

    def cohd(self, part, of):
        T, r = self.T, self.r
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            if len(d["S"]) < 6:
                continue
            doc = " ".join(d["S"]); o, n = d["uo"]
            for _ in range({"cnndm": 4, "bbc": 1, "xsum": 1}.get(d["s"], 1)):
                if len(d["u"]) >= 2 and n and r.random() < 0.7:
                    s, oo, nn = d["u"], o, n
                else:
                    oo, nn = d["o"][0], min(d["o"][1], r.choice([2, 3, 3, 4]))
                    if nn < 2:
                        continue
                    s = T.sents[oo:oo + nn]
                g = [(" ".join(s), doc, 1, None)]
                for _ in range(2):
                    c = self._incoherent(s, oo, nn, di)
                    if c != list(s):
                        g.append((" ".join(c), doc, 0, None))
                yield "cohd", g, True

    def rel(self, part, of):
        T, r = self.T, self.r
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            if len(d["S"]) < 6 or not d["u"]:
                continue
            doc = " ".join(d["S"]); full = " ".join(d["u"])
            for _ in range({"cnndm": 3, "bbc": 1, "xsum": 2}.get(d["s"], 1)):
                g = [(full, doc, 1, None)]
                m = max(1, len(d["u"])); half = len(d["S"]) // 2
                for k in r.sample(["lead", "tail", "tail", "nbsum", "partial", "partial", "mixed", "half"], 3):
                    y = 0.0
                    if k == "lead":
                        x, y = d["S"][:m], 0.75
                    elif k == "half":
                        x, y = r.sample(d["S"][:half], min(m, half)), 0.4
                    elif k == "tail":
                        x, y = r.sample(d["S"][half:], min(m, len(d["S"]) - half)), 0.15
                    elif k == "nbsum":
                        o, n = d["uo"] if d["uo"][1] else d["o"]
                        if not n:
                            continue
                        x = T.documents[T.sent_doc[r.choice(self.sn[o + r.randrange(n)])]]["u"]
                    elif k == "partial":
                        if len(d["u"]) < 2:
                            continue
                        q = r.randrange(1, len(d["u"])); keep = set(r.sample(range(len(d["u"])), q)); x, y = [z for j, z in enumerate(d["u"]) if j in keep], 0.25 + 0.55 * q / len(d["u"])
                    else:
                        x = [z if r.random() < 0.5 else r.choice(d["S"][len(d["S"]) // 3:]) for z in d["u"]]
                        y = 0.35 if d["u"][0] in x else 0.2
                        if x == d["u"]:
                            continue
                    g.append((" ".join(x), doc, y, None))
                yield "rel", g, True

    def cov(self, part, of):
        """A covers how much of B (a reference): soft label = share of B's content words kept."""
        T, r = self.T, self.r
        for di in range(part, len(T.documents), of):
            d = T.documents[di]; o, n = d["uo"]
            if not n or len(" ".join(d["u"]).split()) < 8:
                continue
            ref = d["u"]; b = " ".join(ref); cb = content(b)
            for _ in range({"cnndm": 4, "bbc": 1, "qmsum": 4, "xsum": 2}.get(d["s"], 1)):
                if not cb:
                    continue
                x = list(ref)
                mode = r.random()
                if mode < 0.35 and len(x) > 1:
                    keep = r.randrange(1, len(x) + 1); x = r.sample(x, keep)
                elif mode < 0.7:
                    x = [y if r.random() < 0.5 else T.sents[r.choice(self.sn[o + r.randrange(n)])] for y in x]
                elif mode < 0.85:
                    x = [noise.compress(y, r) for y in x]
                else:
                    w = b.split(); k = r.randrange(2, len(w)); x = [" ".join(w[:k])]
                a = " ".join(x)
                y = len([q for q in cb if q in set(content(a))]) / len(cb)
                yield "cov", [(style(a, r), b, round(y, 3), None)], False
            if d["s"] == "cnndm" and len(d["S"]) > 5:  # extracts against the reference
                lead = d["S"][:3]; tail = r.sample(d["S"][5:], min(3, len(d["S"]) - 5))
                sc = lambda x: len(set(cb) & set(content(" ".join(x)))) / max(1, len(set(cb)))
                for x in (lead, tail):
                    yield "cov", [(" ".join(x), b, round(min(1.0, sc(x) * 1.3), 3), None)], False

    def acc(self, part, of):
        T, r = self.T, self.r
        N = (len(T.turns) + len(T.sents)) // 6
        multi = [d for d in T.documents if len(d["u"]) >= 2 or len(d["S"]) >= 4]
        for k in range(part, N, of):
            x = r.random()
            if x < 0.1:
                t = [r.choice(r.choice(T.d2t)["r"])]
            elif x < 0.17:
                s = r.choice(T.stories); a = r.randrange(4); t = s[a:a + r.choice([1, 2, 3])]
            elif x < 0.42:  # summaries and leads of several sentences
                d = r.choice(multi); q = r.choice([2, 3, 3, 4])
                t = d["u"][:5] if len(d["u"]) >= 2 and r.random() < 0.5 else (d["S"][:q] if r.random() < 0.5 else d["S"][(z := r.randrange(max(1, len(d["S"]) - q))):z + q])
            else:
                t = [r.choice(T.turns if r.random() < 0.45 else T.sents)]
            if not t or not 3 <= sum(len(y.split()) for y in t) <= 110:
                continue
            pool = [T.turns[r.randrange(len(T.turns))], T.sents[r.randrange(len(T.sents))], *t[:2], t[0]]
            g = [(style(" ".join(t), r), "", 1, None)]
            for n in ([1, 3] if r.random() < 0.35 else [r.choice([1, 1, 2, 3])]):
                bad = noise.system_error(t, r, pool, n)
                if bad.lower() != g[0][0].lower():
                    g.append((style(bad, r), "", 0.25 if n == 1 else 0.0, None))
            if len(g) > 1:
                yield "acc", g, True
        for x in T.accept[part::of]:
            if x[0] == "p":
                yield "acc", [(x[1], "", 1, None), (x[2], "", 0, None)], True
            elif not (isinstance(x[2], float) and x[1].islower() and r.random() < 0.6):  # fewer search queries
                yield "acc", [(x[1], "", x[2], None)], False
        for mt, pe, da, hter, *_ in T.mlqe[part::of]:
            if hter and hter > 0.25:
                yield "acc", [(pe, "", 1, None), (mt, "", 0.15 + 0.45 * (da / 100), None)], True
        for x in T.adequacy[part::of]:
            if x[0] == "parabank" and len(x) > 4:
                yield "acc", [(x[1], "", x[4], None)], False

    def d2t(self, part, of):
        T, r = self.T, self.r
        byname = {}
        P = [(d, self._slots(d)) for d in T.d2t]
        pool = {}
        for d, s in P:
            for a, k, v in s:
                if v:
                    pool.setdefault(k, []).append(v)
        allslots = [x for _, s in P for x in s if x[2]]
        for d, s in P[part::of]:
            if not s:
                continue
            for ref in d["r"][:2]:
                g = [(style(ref, r), self._mr(s, r), 1, None)]
                for k in r.sample(["add", "add", "change", "change", "drop", "corrupt", "act"], 3):
                    z = list(s); a = ref; q = r.randrange(len(z))
                    if k == "add":
                        x = r.choice(allslots); z.insert(r.randrange(len(z) + 1), (z[0][0], x[1], x[2]))
                    elif k == "change":
                        act, key, v = z[q]
                        c = [u for u in (r.choice(pool[key]) for _ in range(6)) if u.lower() != v.lower()] if v and key in pool else []
                        if not c:
                            continue
                        z[q] = (act, key, c[0])
                    elif k == "drop":
                        if len(z) < 2:
                            continue
                        z.pop(q)
                    elif k == "act":
                        if d["s"] != "sgd":
                            continue
                        acts = ["inform", "request", "confirm", "offer", "goodbye", "notify_failure", "select"]
                        na = r.choice([x for x in acts if x != z[0][0]]); z = [(na, x[1], x[2]) for x in z]
                    else:
                        a = noise.corrupt(ref, r, [r.choice(r.choice(T.d2t)["r"])], r.choice([1, 2, 3]))
                    g.append((style(a, r), self._mr(z, r), 0, None))
                yield "d2t", g, True

    @staticmethod
    def _slots(d):
        m = d["m"]
        if d["s"] == "sgd":
            out = []
            for a, k, v in m:
                if v and k != "intent":
                    out += [(a.lower(), k, x) for x in v[:2]]
                else:
                    out.append((a.lower(), k, ""))
            return out
        if d["s"] == "e2e":
            return [("inform", k.strip(), v) for k, v in re.findall(r"([\w ]+)\[([^\]]*)\]", m)]
        try:
            tr = ast.literal_eval(m)
        except (ValueError, SyntaxError):
            return []
        out = []
        for x in tr:
            if len(x) == 3:
                if not out:
                    out.append(("inform", "name", str(x[0]).replace("_", " ")))
                elif str(x[0]).replace("_", " ") != out[0][2]:
                    out.append(("inform", "subject", str(x[0]).replace("_", " ")))
                out.append(("inform", str(x[1]).lower().replace("_", " "), str(x[2]).replace("_", " ")))
        return out

    @staticmethod
    def _mr(s, r):
        acts = {}
        for a, k, v in s:
            acts.setdefault(a, []).append((k, v))
        sep = r.choice([",", ";", ", "]); q = r.choice(["'", "", ""])
        f = r.random()
        if f < 0.75:
            return " ".join(f"{a}({sep.join(k if not v else f'{k}={q}{v}{q}' for k, v in kv)})" for a, kv in acts.items())
        if f < 0.9:
            return ", ".join(f"{k}[{v}]" for _, k, v in s)
        return " | ".join(f"{k}: {v}" for _, k, v in s)

    # ---- pairs
    def nli(self, part, of):
        T, r = self.T, self.r
        lab = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
        rows = [x for x in T.nli if x[3] in lab]
        for i in range(part, len(rows), of):
            s, p, h, y = rows[i]; y = lab[y]
            yield "nli", [(style(h, r), p, y, None)], False
            if r.random() < 0.4:  # the same question with the premise among other sentences
                yield "nli", [(style(h, r), self._hide(p, r, r.choice([1, 2, 3, 5])), y, None)], False
            if r.random() < (0.35 if s == "snli" else 0.8):  # the premise hidden in a longer text: not supported stays not supported
                k = r.choice([2, 4, 8, 14]); a = r.randrange(max(1, len(T.sents) - k))
                fill = T.sents[a:a + k] if r.random() < 0.6 else [rows[r.randrange(len(rows))][1] for _ in range(k)]
                fill = list(fill); fill.insert(r.randrange(len(fill) + 1), p)
                yield "con", [(style(h, r), " ".join(fill), 1 if y == 0 else 0, None)], False
            if r.random() < 0.15:
                yield "con", [(style(h, r), p, 1 if y == 0 else 0, None)], False

    def _hide(self, sent, r, k=None):
        """A sentence among others of one foreign text (half of them from the nearest texts)."""
        T = self.T; k = k or r.choice([0, 1, 2, 4, 8, 12])
        if not k:
            return sent
        a = r.randrange(max(1, len(T.sents) - k)); f = T.sents[a:a + k]
        f.insert(r.randrange(len(f) + 1), sent)
        return " ".join(f)

    def pair(self, part, of):
        """Paraphrases as evidence: the claim says in other words what one sentence of the window says."""
        T, r = self.T, self.r
        for x in T.adequacy[part::of]:
            a, b, y = x[1], x[2], x[3]
            lab = 1 if y >= 0.9 else 0 if y <= 0.5 else None
            if x[0] == "mrpc":
                lab = 1 if y > 0.8 else None
            if lab is None or len(a.split()) < 4:
                continue
            B = self._hide(b, r)
            if lab == 0:
                if y > 0.25 or r.random() < 0.4:
                    yield "con", [(style(a, r), B, 0, None)], False
                continue
            g = [(style(a, r), B, 1, [])]
            e = noise.factual(a, r, [q[2] for q in noise.entities(T.sents[r.randrange(len(T.sents))])], [], noise.phrases(T.sents[r.randrange(len(T.sents))]), self.near)
            if e:
                g.append((e[0], B, 0, e[1]))
            yield "con", g, True
        for mt, pe, da, hter, tok, tags in T.mlqe[part::of]:
            if len(pe.split()) < 5 or r.random() < 0.35:
                continue
            if da >= 82 or hter is not None and hter < 0.12:
                a, B = (mt, pe) if r.random() < 0.8 else (pe, mt)
                B = self._hide(B, r); g = [(style(a, r), B, 1, [])]
                o = T.sents[r.randrange(len(T.sents))]
                e = noise.factual(a, r, [q[2] for q in noise.entities(o)], [], noise.phrases(o), self.near)
                if e:
                    g.append((e[0], B, 0, e[1]))
                yield "con", g, True
            elif da < 45:
                yield "con", [(style(mt, r), self._hide(pe, r), 0, None)], False

    def con(self, part, of):
        T, r = self.T, self.r
        short = {"gigaword": 3, "msr-abstractive-compression": 2, "sentence-compression": 2, "peerread abstract->title": 1, "eurlex->headline": 1, "scitldr": 3}
        for di in range(part, len(T.documents), of):
            d = T.documents[di]
            if d["s"] in ("amazon-fine-food", "amazon+yelp multi-review") or not d["d"]:
                continue
            S = d["S"]; doc = d["d"]
            ents = list({e[2] for s in S for e in noise.entities(s)}); nums = list({m.group(0) for s in S for m in noise.NUM.finditer(s)})
            reps = {"cnndm": 9, "bbc": 5, "xsum": 8, "qmsum": 3}.get(d["s"], short.get(d["s"], 1))
            for _ in range(reps):
                oth = T.documents[r.randrange(len(T.documents))]
                oents = [e[2] for s in oth["S"][:8] for e in noise.entities(s)]
                phr = [p for s in oth["S"][:12] for p in noise.phrases(s) if len(p.split()) > 2 or any(ch.isupper() or ch.isdigit() for ch in p)] + [p for s in S for p in noise.phrases(s) if len(p.split()) > 2][:3]
                mode = r.random(); o, n = d["o"]; lo = 0  # a label of an edited claim
                if (mode < 0.6 or len(S) < 4) and d["u"] and d["s"] != "bbc":
                    a = r.choice(d["u"]); y = 1
                    if d["s"] == "xsum":  # its summaries often say more than the text does: only better than an edited one
                        y, lo = -1, -2
                    if len(d["u"]) > 1 and r.random() < 0.25:
                        a = " ".join(d["u"])
                elif S:
                    i = r.randrange(min(len(S), 30)); a = noise.compress(S[i], r); y = 1
                    if mode > 0.8 and i + 1 < len(S):
                        a = a.rstrip(".") + r.choice([" and ", ", while ", ". "]) + noise.compress(S[i + 1], r)
                    if len(a.split()) < 4:
                        continue
                else:
                    continue
                if len(doc.split()) < 70 and r.random() < 0.6:  # one-sentence sources: hidden among sentences of near texts
                    B = self._hide(doc, r) if r.random() < 0.5 or not n else " ".join(self._among(doc, o, n, r))
                else:
                    B = self._window(doc, a, r)
                g = [(style(a, r), B, y, [] if y == 1 else None)]
                pool = ents if r.random() < 0.5 else ents + oents * 3
                e = noise.factual(a, r, pool, nums, phr, self.near)
                if e:
                    if r.random() < 0.3:
                        f = noise.factual(e[0], r, pool, nums, phr, self.near)
                        if f and f[0] != e[0]:
                            g.append((style(f[0], r), B, lo, None))
                    g.append((style(e[0], r) if r.random() < 0.3 and y != 1 else e[0], B, lo, e[1] if y == 1 else None))
                if n and r.random() < 0.5:  # a sentence of a neighbouring text
                    x = T.sents[r.choice(self.sn[o + r.randrange(n)])]
                    g.append((style(noise.compress(x, r), r), B, lo, None))
                if r.random() < 0.25 and len(a.split()) > 8:  # true head, foreign tail
                    x = T.sents[r.choice(self.sn[o + r.randrange(n)])].split() if n else None
                    if x and len(x) > 6:
                        w = a.split(); k = len(w) * 2 // 3; head = " ".join(w[:k]); t = head + " " + " ".join(x[len(x) // 2:])
                        g.append((t, B, lo, [(len(head) + 1, len(t))] if y == 1 else None))
                yield "con", g, True

    def _among(self, doc, o, n, r):
        f = [self.T.sents[j] for j in r.sample(list(self.sn[o + r.randrange(n)]), r.choice([2, 4, 7]))]
        f.insert(r.randrange(len(f) + 1), doc)
        return f

    @staticmethod
    def _window(doc, a, r):
        """About 330 words of the document that hold the claim's evidence (best word overlap)."""
        w = doc.split(); size = r.choice([60, 120, 220, 330, 330])
        if len(w) <= size:
            return doc
        ca = set(content(a)); best, at = -1, 0
        low = [x.strip(".,'\"!?").lower() for x in w]
        hit = np.cumsum([0] + [x in ca for x in low])
        for s in range(0, len(w) - size + 1, max(1, size // 8)):
            v = hit[s + size] - hit[s]
            if v > best:
                best, at = v, s
        at = max(0, min(len(w) - size, at + r.randrange(-size // 8, size // 8 + 1)))
        return " ".join(w[at:at + size])

    def adq(self, part, of):
        T, r = self.T, self.r
        for x in T.adequacy[part::of]:
            a, b = (x[1], x[2]) if r.random() < 0.5 or x[0] == "parabank" else (x[2], x[1])
            yield "adq", [(style(a, r), b, x[3], None)], False
        for mt, pe, da, hter, tok, tags in T.mlqe[part::of]:
            bad = None
            w = tok.split()
            if tags and len(tags) == 2 * len(w) + 1:
                bad, p = [], 0
                for k, x in enumerate(w):
                    if tags[2 * k + 1] == "0":
                        bad.append((p, p + len(x)))
                    p += len(x) + 1
            yield "adq", [((" ".join(w) if bad is not None else mt), pe, round(da / 100, 3), bad), (pe, pe, 1.0, None) if r.random() < 0.1 else (mt, T.mlqe[r.randrange(len(T.mlqe))][1], 0.0, None)], True
        for ref, b, w in T.darr[part::of]:
            if r.random() < 0.5:
                yield "adq", [(b, ref, -1, None), (w, ref, -2, None)], True  # ranking only
        for s in T.d2t[part::of]:
            if len(s["r"]) > 1:
                yield "adq", [(s["r"][0], s["r"][1], 0.9, None), (noise.corrupt(s["r"][0], r, s["r"], 3), s["r"][1], 0.45, None)], True


KINDS = ["sel", "abac", "ord", "gro", "coh", "cohd", "rel", "cov", "acc", "d2t", "nli", "con", "pair", "adq"]
