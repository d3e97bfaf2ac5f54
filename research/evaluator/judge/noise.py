"""Perturbations that look like the mistakes of neural generators. All take and return detokenised text."""
from __future__ import annotations

import re

from .textnorm import STOP

FUNC = {"a", "an", "the", "of", "in", "on", "at", "to", "for", "with", "by", "from", "is", "are", "was", "were", "be", "been", "has", "have", "had", "that", "which",
        "who", "and", "or", "but", "it", "he", "she", "they", "as", "will", "would", "do", "does", "did", "i", "you", "we", "my", "your", "not"}
AGREE = {"is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has", "do": "does", "does": "do", "this": "these", "these": "this", "that": "those", "i": "me", "he": "him",
         "they": "them", "we": "us", "his": "he", "their": "they", "my": "me", "a": "an", "an": "a", "don't": "doesn't", "doesn't": "don't", "am": "is"}
PREP = ["of", "in", "on", "at", "to", "for", "with", "by", "from", "about", "into", "as"]


def _tail(words):
    """Split off final punctuation so that edits do not always disturb it."""
    return words


def repeat_span(w, r, pool):
    n = r.choice([1, 1, 2, 2, 3, 4]); i = r.randrange(max(1, len(w) - n + 1)); times = 1 if r.random() < 0.8 else 2
    return w[:i + n] + w[i:i + n] * times + w[i + n:]


def repeat_later(w, r, pool):
    n = r.choice([2, 3, 4, 5]); i = r.randrange(max(1, len(w) - n)); j = r.randrange(i, len(w) + 1)
    return w[:j] + w[i:i + n] + w[j:]


def drop_func(w, r, pool):
    k = [i for i, x in enumerate(w) if x.lower() in FUNC]
    if not k:
        return drop_any(w, r, pool)
    for i in sorted(r.sample(k, min(len(k), r.choice([1, 1, 2, 3]))), reverse=True):
        w = w[:i] + w[i + 1:]
    return w


def drop_any(w, r, pool):
    if len(w) < 3:
        return w
    n = r.choice([1, 1, 2, 3]); i = r.randrange(0, max(1, len(w) - n))
    return w[:i] + w[i + n:]


def truncate(w, r, pool):
    if len(w) < 4:
        return w
    i = r.randrange(max(2, len(w) // 3), len(w))
    w = w[:i]
    w[-1] = w[-1].rstrip(".,!?")
    if w[-1].lower() in FUNC and r.random() < 0.6:
        w[-1] = w[-1] + "."
    return w


def fragment(w, r, pool):
    src = r.choice(pool).split(); n = r.randrange(1, 5); i = r.randrange(max(1, len(src) - n + 1)); f = src[i:i + n]
    return w + f if r.random() < 0.6 else f + w


def dots(w, r, pool):
    return w + [r.choice([". .", ". . .", ", ,", ". ,", "? .", ".. ", "and.", "the.", "of."])]


def swap(w, r, pool):
    if len(w) < 4:
        return w[::-1]
    n = r.choice([1, 1, 2, 3]); i = r.randrange(0, max(1, len(w) - 2 * n + 1))
    return w[:i] + w[i + n:i + 2 * n] + w[i:i + n] + w[i + 2 * n:]


def shuffle_window(w, r, pool):
    n = min(len(w), r.choice([3, 4, 5, 6])); i = r.randrange(max(1, len(w) - n + 1)); s = w[i:i + n]; r.shuffle(s)
    return w[:i] + s + w[i + n:]


def agree(w, r, pool):
    k = [i for i, x in enumerate(w) if x.lower() in AGREE]
    if k and r.random() < 0.7:
        i = r.choice(k); return w[:i] + [AGREE[w[i].lower()]] + w[i + 1:]
    k = [i for i, x in enumerate(w) if len(x) > 4 and x.isalpha()]
    if not k:
        return swap(w, r, pool)
    i = r.choice(k); x = w[i]
    x = x[:-1] if x.endswith("s") else x[:-2] if x.endswith("ed") else x[:-3] if x.endswith("ing") else x + r.choice(["s", "ing", "ed"])
    return w[:i] + [x] + w[i + 1:]


def prep(w, r, pool):
    k = [i for i, x in enumerate(w) if x.lower() in PREP]
    if not k:
        return insert(w, r, pool)
    i = r.choice(k); return w[:i] + [r.choice([p for p in PREP if p != w[i].lower()])] + w[i + 1:]


def insert(w, r, pool):
    src = r.choice(pool).split(); i = r.randrange(len(w) + 1)
    return w[:i] + [r.choice(src).strip(".,!?")] + w[i:]


def replace(w, r, pool):
    src = r.choice(pool).split()
    for _ in range(r.choice([1, 1, 2])):
        i = r.randrange(len(w)); w = w[:i] + [r.choice(src).strip(".,!?")] + w[i + 1:]
    return w


def selfcopy(w, r, pool):
    if len(w) < 4:
        return w + w
    i, j = r.randrange(len(w)), r.randrange(len(w)); return w[:i] + [w[j].strip(".,!?")] + w[i + 1:]


def splice(w, r, pool):
    src = r.choice(pool).split()
    return w[:max(2, r.randrange(1, len(w) + 1))] + src[r.randrange(len(src)):]


OPS = [repeat_span, repeat_later, drop_func, drop_any, truncate, fragment, dots, swap, shuffle_window, agree, agree, prep, insert, replace, selfcopy, splice]


def corrupt(text, r, pool, n=None):
    w = text.split()
    if not w:
        return text
    n = n or r.choice([1, 1, 1, 2, 2, 3])
    for _ in range(n):
        w = r.choice(OPS)(list(w), r, pool) or w
    out = " ".join(w)
    return out if out.lower() != text.lower() else " ".join(reversed(text.split()))


def cut_start(w, r, pool):
    return w[r.randrange(1, max(2, len(w) // 2)):] if len(w) > 4 else w


def stutter(w, r, pool):
    """A phrase that comes back two or three times, as decoders do that fall into a loop."""
    n = r.choice([2, 3, 4, 5, 6]); i = r.randrange(max(1, len(w) - n + 1)); p = w[i:i + n]
    return w[:i + n] + r.choice([["and"], [","], []]) + p + (r.choice([["and"], [","], []]) + p if r.random() < 0.4 else []) + (w[i + n:] if r.random() < 0.6 else [])


OPS += [cut_start, stutter, truncate, drop_func]


def system_error(sents, r, pool, n):
    """n mistakes of a text generator in a list of sentences: inside one sentence, or between sentences."""
    s = list(sents)
    for _ in range(n):
        x = r.random(); i = r.randrange(len(s))
        if len(s) > 1 and x < 0.12:  # the same sentence twice
            s.insert(r.randrange(len(s) + 1), s[i])
        elif len(s) > 1 and x < 0.22:  # two sentences run into one another
            j = r.randrange(len(s) - 1); a, b = s[j].split(), s[j + 1].split()
            k = r.randrange(max(1, len(a) // 2), len(a) + 1); q = r.randrange(0, max(1, len(b) // 2))
            s[j:j + 2] = [" ".join(a[:k]).rstrip(".,!?") + " " + " ".join(b[q:])]
        elif x < 0.3:  # the text breaks off
            w = s[-1].split(); s[-1] = " ".join(w[:max(1, r.randrange(len(w) // 3, max(len(w) // 3 + 1, len(w))))]).rstrip(".,!?") + r.choice(["", "", "."])
        else:
            s[i] = " ".join(r.choice(OPS)(s[i].split(), r, pool) or s[i].split())
    return " ".join(s)


# ---------------------------------------------------------------- factual edits with character spans
ENT = re.compile(r"\b(?:[A-Z][a-z]+|[A-Z]{2,}|[A-Z][a-z]*[A-Z]\w*)(?:[ -](?:[A-Z][a-z]+|[A-Z]{2,}|of|de|van|al)(?= |\b))*(?:[ -][A-Z][a-z]+)?")
NUM = re.compile(r"\b\d[\d,.:]*\d|\b\d\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|first|second|third|fourth|half)\b")
MONTH = "January February March April May June July August September October November December".split()
DAY = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMW = "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty".split()
ANT = {}
for _a in """increase/decrease increased/decreased rise/fall rose/fell rising/falling win/lose won/lost winning/losing beat/lost_to support/oppose supported/opposed accept/reject accepted/rejected more/less most/least
before/after first/last high/low higher/lower highest/lowest good/bad better/worse best/worst up/down old/new young/old male/female man/woman men/women boy/girl boys/girls son/daughter father/mother brother/sister
husband/wife he/she his/her north/south east/west northern/southern eastern/western open/close opened/closed start/end started/ended began/ended begin/finish alive/dead guilty/innocent arrested/released agreed/refused
agree/disagree approved/denied approve/deny confirmed/denied allow/ban allowed/banned always/never all/none everyone/nobody many/few success/failure successful/failed early/late earlier/later hot/cold big/small large/small larger/smaller
long/short public/private local/national rich/poor safe/dangerous happy/sad love/hate loves/hates loved/hated like/dislike buy/sell bought/sold borrow/lend found/lost gained/lost inside/outside above/below left/right day/night morning/evening
easy/difficult cheap/expensive strong/weak return/leave returned/left arrive/depart arrived/departed include/exclude attack/defend attacked/defended employer/employee teacher/student hospital/prison police/army president/minister""".split():
    x, y = _a.replace("_", " ").split("/"); ANT.setdefault(x, y); ANT.setdefault(y, x)
NEGAUX = re.compile(r"\b(is|was|are|were|will|has|have|had|can|could|would|should|does|did|do|may|might)\b(?! not|n't)", re.I)


def entities(text):
    out = []
    for m in ENT.finditer(text):
        s = m.group(0)
        first = s.split()[0].lower()
        if m.start() == 0 or text[max(0, m.start() - 2):m.start()].strip() in (".", "!", "?", '"', ""):
            if first in STOP or (" " not in s and len(s) < 4):
                continue
        if s in DAY or s in MONTH or first in STOP:
            continue
        out.append((m.start(), m.end(), s))
    return out


def _sub(t, a, b, new):
    return t[:a] + new + t[b:], (a, a + len(new))


def factual(text, r, ents, nums, phrases, near=None):
    """One edit that makes a true sentence false or unsupported; returns (text, [(start, end)]) or None."""
    kinds = ["ent", "ent", "ent", "num", "num", "neg", "ant", "ant", "role", "pp", "pp", "date", "near", "near"]
    r.shuffle(kinds)
    for k in kinds:
        if k == "ent":
            e = entities(text)
            if e:
                a, b, s = r.choice(e); c = [x for x in ents if x != s and x not in text and s not in x]
                if c:
                    t, sp = _sub(text, a, b, r.choice(c)); return t, [sp]
        elif k == "num":
            m = list(NUM.finditer(text))
            if m:
                x = r.choice(m); old = x.group(0)
                if old[0].isdigit():
                    c = [n for n in nums if n[0].isdigit() and n != old]
                    if c and r.random() < 0.5:
                        new = r.choice(c)
                    else:
                        d = [i for i, ch in enumerate(old) if ch.isdigit()]; i = r.choice(d)
                        new = old[:i] + r.choice([q for q in "123456789" if q != old[i]]) + old[i + 1:]
                else:
                    new = r.choice([q for q in NUMW if q != old])
                t, sp = _sub(text, x.start(), x.end(), new); return t, [sp]
        elif k == "neg":
            m = list(NEGAUX.finditer(text))
            n = re.search(r" not\b|n't\b", text)
            if n and r.random() < 0.5 and "can't" not in text and "won't" not in text:
                t = text[:n.start()] + text[n.end():]; return t, [(max(0, n.start() - 4), min(len(t), n.start() + 6))]
            if m:
                x = r.choice(m); t = text[:x.end()] + " not" + text[x.end():]; return t, [(x.start(), x.end() + 4)]
        elif k == "ant":
            m = [x for x in re.finditer(r"[A-Za-z]+", text) if x.group(0).lower() in ANT]
            if m:
                x = r.choice(m); t, sp = _sub(text, x.start(), x.end(), ANT[x.group(0).lower()]); return t, [sp]
        elif k == "near" and near:  # a word of the same kind, as a language model would slip in
            m = [x for x in re.finditer(r"\b[a-z]{4,}\b", text) if x.group(0) in near and x.group(0) not in STOP]
            if m:
                x = r.choice(m); t, sp = _sub(text, x.start(), x.end(), r.choice(near[x.group(0)])); return t, [sp]
        elif k == "role":
            e = entities(text)
            if len(e) >= 2:
                (a, b, s), (c, d, u) = sorted(r.sample(e, 2))
                if s != u and b <= c:
                    t = text[:a] + u + text[b:c] + s + text[d:]
                    return t, [(a, a + len(u)), (a + len(u) + c - b, a + len(u) + c - b + len(s))]
        elif k == "pp" and phrases:
            p = r.choice(phrases)
            if p.lower() not in text.lower():
                base = text.rstrip(); dot = base[-1:] in ".!?"
                stem = base[:-1] if dot else base
                t = stem + " " + p + (base[-1] if dot else ""); return t, [(len(stem) + 1, len(stem) + 1 + len(p))]
        elif k == "date":
            m = [x for x in re.finditer(r"[A-Z][a-z]+", text) if x.group(0) in DAY or x.group(0) in MONTH]
            if m:
                x = r.choice(m); pool = DAY if x.group(0) in DAY else MONTH
                t, sp = _sub(text, x.start(), x.end(), r.choice([q for q in pool if q != x.group(0)])); return t, [sp]
    return None


PP = re.compile(r"\b(?:in|at|on|for|with|after|from|by|during|against|near) (?:the |a |his |her |their )?(?:[\w'-]+ ){0,3}[\w'-]+(?=[,.;]| and | but |$)")


def phrases(text):
    return [m.group(0) for m in PP.finditer(text) if 2 <= len(m.group(0).split()) <= 6]


LEAD = re.compile(r"^(?:[A-Z][\w' ]{3,40}, )(?=[a-zA-Z])")
PAREN = re.compile(r" ?\([^)]*\)| - [^-]{3,60} - |, (?:who|which|where) [^,]{3,80}(?:,|(?=\.))")
SAID = re.compile(r",? (?:(?:he|she|they|police|officials|it|[A-Z]\w+(?: [A-Z]\w+)?) (?:said|says|added|told [\w ]{2,20}|reported)|according to [\w ]{3,40})\.?$")


def compress(text, r):
    """A shorter sentence that the original still supports."""
    t = text
    if r.random() < 0.7:
        t = PAREN.sub(lambda m: "" if r.random() < 0.7 else m.group(0), t)
    if r.random() < 0.5:
        u = LEAD.sub("", t)
        if len(u.split()) > 4 and u != t:
            t = u[0].upper() + u[1:]
    if r.random() < 0.5:
        u = SAID.sub(".", t)
        t = u if len(u.split()) > 4 else t
    if r.random() < 0.4:
        m = re.search(r", (?:and|but|while|after|as|because|with|although) ", t)
        if m and m.start() > 25:
            t = t[:m.start()] + "."
    if r.random() < 0.25:
        t = re.sub(r"\b(very|also|just|already|still|now|then|really|only|early|recently)\b ?", "", t)
    return t.replace(" .", ".").replace("..", ".").replace("  ", " ")
