"""Read the training corpora that shipped weights may see; write compact tables for the trainers."""
from __future__ import annotations

import gzip, json, lzma, os, random, re, sys
from pathlib import Path

from .textnorm import detok, sentences

ROOT = Path(os.environ.get("QUINTET_CORPORA", "../shared/corpora"))


def rows(name):
    with gzip.open(ROOT / (name + ".jsonl.gz"), "rt", encoding="utf8") as h:
        for line in h:
            yield json.loads(line)


def write(path, it):
    n = 0
    with lzma.open(path, "wt", preset=3, encoding="utf8") as h:
        for r in it:
            h.write(json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n"); n += 1
    print(path.name, n, path.stat().st_size >> 10, "KiB", flush=True)


def merge(turns):
    """Join consecutive messages of one speaker."""
    out = []
    for spk, text, *rest in turns:
        text = detok(text)
        if not text:
            continue
        if out and out[-1][0] == spk:
            out[-1][1] += " " + text
        else:
            out.append([spk, text, *rest])
    return out


def dialogues():
    for f in ("valid_freq", "valid_rare", "test_rare"):
        for o in rows(f"topical_chat/topical_chat_{f}"):
            t = [[a, m, r, ",".join(k)] for a, m, _s, k, r in o["turns"]]
            t = merge(t)
            yield {"s": "topical", "t": [x[1] for x in t], "r": [x[2] for x in t], "k": [x[3] for x in t]}
    wiki = {}
    for o in rows("cmu_dog/cmu_dog_wiki"):
        sec = {}
        for k, v in o["sections"].items():
            if isinstance(v, dict):
                v = f"{v.get('movieName')} ({v.get('year')}). Directed by {v.get('director')}. Genre: {v.get('genre')}. {v.get('introduction','')} Cast: {'; '.join(v.get('cast', [])[:4])}. {' '.join(v.get('rating', []))} {' '.join(v.get('critical_response', []))}"
            sec[k] = detok(str(v))
        wiki[o["doc"]] = sec
    for o in rows("cmu_dog/cmu_dog"):
        if len(o["turns"]) < 8 or (o.get("rating") or 1) < 1:
            continue
        t = merge(o["turns"])
        saw = o["whoSawDoc"]
        yield {"s": "cmudog", "t": [x[1] for x in t], "f": [wiki[o["doc"]].get(str(x[2]), "") if x[0] in saw else "" for x in t]}
    for o in rows("convai2_human_eval/convai2_rated"):
        t = merge(o["turns"])
        if len(t) >= 4:
            bp, up = " ".join(o["bot_profile"] or []), " ".join(o["user_profile"] or [])
            yield {"s": "convai2", "t": [x[1] for x in t], "h": [int(x[0] == "Human") for x in t], "f": [up if x[0] == "Human" else bp for x in t],
                   "ts": [x[2] for x in t], "e": o["eval_score"]}
    for o in rows("convai2_human_eval/convai2_export_train"):
        t = merge(o["turns"])
        if len(t) >= 6 and (o["eval_score"] or 0) >= 3:
            yield {"s": "convai2x", "t": [x[1] for x in t]}
    rng = random.Random(1)
    for o in rows("sgd/sgd"):
        if rng.random() < 0.45:
            yield {"s": "sgd", "t": [detok(x[1]) for x in o["turns"]]}
    for o in rows("qmsum/qmsum"):
        t = [x for x in merge(o["turns"]) if 3 < len(x[1].split()) < 60]
        for i in range(0, len(t) - 12, 12):
            yield {"s": "qmsum", "t": [x[1] for x in t[i:i + 12]]}
    seen = set()
    for o in rows("natural_instructions/ni_dialogue"):
        i, t = o["i"], o["t"]
        turns = None
        if t.startswith(("task573", "task574")):
            turns = re.split(r"\s*\n?\s*(?:customer|agent): ", i)
        elif t.startswith(("task1500", "task1501")):
            turns = [x.strip("' \n") for x in re.split(r"(?:System|User): ", i)]
        elif re.match(r"task35[0-9]_casino", t):
            m = re.match(r"Context: (.*)\nUtterance: '(.*)'", i, re.S)
            if m:
                turns = [x.strip("' ") for x in re.split(r"' '", m.group(1))] + [m.group(2)]
        elif t.startswith("task1603") or t.startswith("task565"):
            turns = [i, o["o"][0]]
        elif t.startswith("task1714"):
            turns = re.split(r"\s*\n?\s*(?:User|Computer): ", i) + [o["o"][0]]
        if turns:
            turns = [detok(x) for x in turns if x.strip()]
            key = " ".join(turns)
            if len(turns) >= 2 and key not in seen:
                seen.add(key)
                yield {"s": "ni:" + t.split("_")[0], "t": turns}


def mutual():
    for o in rows("mutual/mutual"):
        ans = "ABCD".index(o["answer"]) if o.get("answer") in list("ABCD") else None
        if ans is None:
            continue
        ctx = [detok(x) for x in re.split(r"\b[mf] : ", o["context"]) if x.strip()]
        yield {"c": ctx, "o": [detok(re.sub(r"^[mf] : ", "", x)) for x in o["options"]], "a": ans}


def documents():
    for o in rows("cnndm/cnndm_subset"):
        yield {"s": "cnndm", "d": detok_par(o["document"]), "u": [detok(x) for x in o["summary"].split("\n") if x.strip()]}
    for o in rows("bbc_news_summary/bbc_news_summary"):
        yield {"s": "bbc", "d": detok_par(o["document"]), "u": sentences(re.sub(r"([.!?\"])(?=[A-Z\"])", r"\1 ", detok(o["summary"]))), "h": detok(o["title"])}
    for o in rows("xsum/xsum_subset"):
        yield {"s": "xsum", "d": detok_par(o["document"]), "u": [detok(o["summary"])]}
    for f in ("train", "dev", "test"):
        for o in rows(f"scitldr/scitldr_a_{f}"):
            yield {"s": "scitldr", "d": "\n".join(detok(x) for x in o["source"]), "u": [detok(o["target"][0])], "h": detok(o["title"])}
    for o in rows("gigaword/gigaword_8k"):
        if "UNK" not in o["summary"]:
            yield {"s": "gigaword", "d": detok(o["document"]), "u": [detok(o["summary"])]}
    for o in rows("qmsum/qmsum"):
        for q in o["general"][:1]:
            yield {"s": "qmsum", "d": "", "u": sentences(detok(q[1]))}
        for q in o["specific"]:
            lo, hi = int(q[2][0][0]), int(q[2][-1][1]) + 1
            d = "\n".join(f"{s}: {detok(t)}" for s, t in o["turns"][lo:hi])
            if len(d.split()) < 900:
                yield {"s": "qmsum", "d": d, "u": sentences(detok(q[1]))}
            else:
                yield {"s": "qmsum", "d": "", "u": sentences(detok(q[1]))}
    keep = {"amazon-fine-food", "msr-abstractive-compression", "peerread abstract->title", "sentence-compression", "eurlex->headline", "amazon+yelp multi-review"}
    for o in rows("summ_from_ni/summ_pairs"):
        if o["source"] in keep and o["document"].strip() and o["summaries"] and o["summaries"][0].strip():
            if o["source"] == "amazon-fine-food" and random.Random(len(o["document"])).random() < 0.6:
                continue
            yield {"s": o["source"], "d": detok_par(o["document"]), "u": [detok(x) for x in o["summaries"][:2]]}


def detok_par(t):
    return "\n".join(detok(x) for x in t.split("\n") if x.strip())


def stories():
    for o in rows("rocstories/rocstories"):
        yield [detok(x) for x in o["sentences"]]


def story_ends():
    for o in rows("rocstories/story_coherence"):
        yield {"c": [detok(x) for x in o["context"]], "e": detok(o["ending"]), "y": int(o["coherent"])}


NLI_OK = {"snli", "mnli", "scitail", "mnli-binary", "hans-swap", "cb", "rte"}


def nli():
    lab = {}
    for name in ("nli_from_ni/nli_pairs", "nli_from_ni/mnli_extra_from_history"):
        for o in rows(name):
            if name.endswith("pairs") and o["source"] not in NLI_OK:
                continue
            yield [o["source"], detok(o["premise"]), detok(o["hypothesis"]), str(o["label"])]
    for o in rows("rte_nltk/rte1_3"):
        yield ["rte1-3", detok(o["premise"]), detok(o["hypothesis"]), str(o["label"])]
    for o in rows("multirc/multirc_answer_verification"):
        yield ["multirc", o["text"], "", str(o["correct"])]


def adequacy():
    for o in rows("sts_semeval/sts2012_2016"):
        if o["score"] is not None:
            yield ["sts", detok(o["s1"]), detok(o["s2"]), round(float(o["score"]) / 5, 3)]
    for o in rows("paraphrase_from_ni/paraphrase_pairs"):
        if o["source"].startswith("sts-b"):
            yield ["stsb", detok(o["s1"]), detok(o["s2"]), round(float(o["label"]) / 5, 3)]
        elif o["source"] == "paws-wiki":
            yield ["paws", detok(o["s1"]), detok(o["s2"]), 0.95 if str(o["label"]).lower() in ("1", "true", "yes") else 0.4]
    for o in rows("mrpc/mrpc"):
        yield ["mrpc", detok(o["s1"]), detok(o["s2"]), 0.85 if int(o["label"]) else 0.5]
    agg = {}
    for o in rows("parabank_eval/parabank_eval"):
        agg.setdefault((o["reference"], o["candidate"]), []).append((float(o["similarity"]), float(o["grammar"])))
    for (r, c), v in agg.items():
        yield ["parabank", detok(c), detok(r), round(sum(x[0] for x in v) / len(v) / 100, 3), round(sum(x[1] for x in v) / len(v) / 2, 3)]


def mlqe():
    for o in rows("mlqe_pe/mlqe_pe_x_en"):
        yield [o["mt"], detok(o["pe"]), o["da_mean"], o["hter"], o["mt_tok"], "".join("1" if t == "OK" else "0" for t in o["word_tags"].split()) if o["word_tags"] else ""]


def darr():
    for o in rows("wmt19_darr/wmt19_darr_x_en"):
        yield [detok(o["ref"]), detok(o["better"]), detok(o["worse"])]


def accept():
    rng = random.Random(3)
    for o in rows("blimp/blimp"):
        if rng.random() < 0.35:
            yield ["p", o["good"], o["bad"]]
    for o in rows("wi_locness/errorified_synthetic"):
        if o["good"] != o["bad"]:
            yield ["p", detok(o["good"])[:600], detok(o["bad"])[:600]]
    for o in rows("cola/cola"):
        yield ["s", detok(o["sentence"]), int(o["label"])]
    for o in rows("query_wellformedness/query_wellformedness"):
        yield ["s", o["query"], round(float(o["score"]), 2)]


def d2t():
    for o in rows("data2text/data2text"):
        if o["source"] in ("e2e", "dart"):
            yield {"s": o["source"], "m": o["input"], "r": [detok(x) for x in o["refs"][:3]]}
    rng = random.Random(5)
    for o in rows("sgd/sgd"):
        for spk, utt, acts in o["turns"]:
            if spk == "SYSTEM" and acts and rng.random() < 0.28:
                yield {"s": "sgd", "m": acts, "r": [detok(utt)]}


TABLES = {"dialogues": dialogues, "mutual": mutual, "documents": documents, "stories": stories, "story_ends": story_ends, "nli": nli,
          "adequacy": adequacy, "mlqe": mlqe, "darr": darr, "accept": accept, "d2t": d2t}

if __name__ == "__main__":
    out = Path(sys.argv[1]); out.mkdir(exist_ok=True)
    for k in sys.argv[2:] or TABLES:
        write(out / (k + ".jsonl.xz"), TABLES[k]())
