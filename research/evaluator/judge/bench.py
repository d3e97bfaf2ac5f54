"""Human-judgement sets -> items (texts) and ratings (kept apart, never sent with the texts)."""
from __future__ import annotations

import csv, gzip, io, json, lzma, os, random, re, sys
from collections import Counter
from pathlib import Path

ROOT = Path(os.environ.get("QUINTET_DATA", "../shared/benchmarks"))


def op(p):
    return gzip.open(ROOT / p, "rt", encoding="utf8", newline="")


def jl(p):
    return [json.loads(x) for x in op(p).read().split("\n") if x.strip()]


def js(p):
    return json.load(op(p))


def cs(p):
    return list(csv.DictReader(io.StringIO(op(p).read().lstrip("\ufeff"))))


def mean(v):
    v = [float(x) for x in v if isinstance(x, (int, float)) or (isinstance(x, str) and re.fullmatch(r"-?[\d.]+", x))]
    return sum(v) / len(v) if v else None


def turns(t):
    t = re.sub(r"_eos", " ", t)
    return [x.strip() for x in re.split(r"\n|\|\|\|\|?", t) if x.strip()]


def load():
    I = []

    def add(set_, test, out, human, g=None, **k):
        I.append({"set": set_, "test": test, "g": g, "out": out, **{a: b for a, b in k.items() if b}, "human": human})

    # ---- test
    docs = {o["doc_id"]: o for o in jl("summeval/summeval_docs.jsonl.gz")}
    for o in jl("summeval/summeval_outputs.jsonl.gz"):
        d = docs[o["doc_id"]]
        add("summeval", 1, o["system_output"], o["scores"], o["doc_id"], doc=d["source"], refs=d["references_tok"])
    for s, f in (("qags_cnn", "cnndm"), ("qags_xsum", "xsum")):
        for o in js(f"qags/qags_{f}_unieval_with_predictions.json.gz"):
            add(s, 1, o["system_output"], {"consistency": o["scores"]["consistency"]}, doc=o["source"])
    for s, p in (("topical", "topical_chat_usr/topical_chat_ctc.json.gz"), ("persona", "persona_chat_usr/persona_chat_ctc.json.gz")):
        for o in js(p):
            fact = "" if "nofact" in o["fact"] else re.sub(r"your persona: ", "", o["fact"]).strip()
            add(s, 1, o["response"].strip(), {"naturalness": o["natural"], "coherence": o["maintains_context"], "engagingness": o["engaging"],
                "groundedness": o["uses_knowledge"], "understandability": o["understandable"], "overall": o["overall"], "sys": o["model"]}, hist=turns(o["dialog_history"]), fact=fact)
    for s in ("bagel", "sfhot", "sfres"):
        for o in jl(f"novikova2017_d2t/{s}.jsonl.gz"):
            add(s, 1, o["system_output"], o["scores"], mr=o["source"], refs=o["references"])
    for o in js("yelp_mir2019/yelp_ctc.json.gz"):
        add("yelp", 1, o["output_sent"], {"preservation": o["preservation"]}, inp=o["input_sent"])
    for o in jl("chaganty2018_cnndm_lqual/lqual.jsonl.gz"):
        if o["scores"]["overall"] is not None and o["system_id"] != "reference":
            add("lqual", 1, o["system_output"], {k: o["scores"][k] for k in ("overall", "grammar", "redundancy", "hter")}, refs_hidden=None)
    for o in js("fed/fed_data.json.gz"):
        h = {k: mean(v) for k, v in o["annotations"].items()}
        strip = lambda t: re.sub(r"^(User|System): ", "", t)
        t = [strip(x) for x in o["context"].split("\n") if x.strip()]
        if "response" in o:
            add("fed_turn", 1, strip(o["response"]), h, hist=t)
        else:
            add("fed_dial", 1, t[-1], h, hist=t[:-1])
    # ---- validation
    nd = {o["doc_id"]: o for o in jl("newsroom_ner18/newsroom_ner18_docs.jsonl.gz")}
    for o in jl("newsroom_ner18/newsroom_ner18_outputs.jsonl.gz"):
        d = nd[o["doc_id"]]
        add("newsroom", 0, o["system_output"], o["scores"], o["doc_id"], doc=d["source"], refs=[d["ref_summ"]])
    told = jl("dialsummeval/human_judgment.jsonl.gz")
    gold = {o["id"]: o["summary"] for o in told if o["model_id"] == "A"}  # A: SAMSum's reference, B and C: sentences of the dialogue, twice as long as the rest
    for o in told:
        d = "\n".join(x.strip() for x in o["dialogue"].split("|") if x.strip())
        h = {k: mean([a[k] for a in o["annotations"]]) for k in ("consistency", "relevance", "fluency", "coherence")}
        if o["model_id"] > "C":
            h["relevance of one length"] = h["relevance"]
        add("dialsumm", 0, o["summary"], h, o["id"], doc=d, refs=[gold[o["id"]]] if o["model_id"] != "A" else None)
    tdocs = {re.sub(r"\W", "", i["doc"])[:120] for i in I if i["test"] and i.get("doc")}
    for o in jl("summac_parts/factcc.jsonl.gz"):
        if re.sub(r"\W", "", o["document"])[:120] not in tdocs:
            add("factcc", 0, o["claim"], {"consistency": o["label"]}, doc=o["document"])
    for o in jl("summac_parts/polytope.jsonl.gz"):
        e = Counter(o["errors"])  # CNN/DM summaries of 64 ± 20 words with the errors that people marked: relevance is what is left out and what is needless
        wrong = e["Inaccuracy_internal"] + e["Inaccuracy_external"] + e["Positive_Negative_Aspect"]
        add("polytope", 0, o["claim"], {"consistency": -wrong, "relevance": -e["Omission"] - e["Addition"], "flow": -e["Duplication"], "omission": o["omission_label"], "label": o["label"]}, re.sub(r"\W", "", o["document"])[:120], doc=o["document"])
    xd = {o["bbcid"]: o["document"] for o in jl("xsum_faith/xsum_docs.jsonl.gz")}
    xs, fa = {}, {}
    for r in cs("xsum_faith/hallucination_annotations_xsum_summaries.csv.gz"):
        e = xs.setdefault((r["bbcid"], r["system"]), {"s": r["summary"], "w": {}})
        n = max(1, len(r["summary"]))
        span = 0 if r["hallucination_type"] == "NULL" else max(0, int(r["hallucinated_span_end"]) - int(r["hallucinated_span_start"]) + 1) / n
        e["w"][r["worker_id"]] = min(1.0, e["w"].get(r["worker_id"], 0) + span)
    for r in cs("xsum_faith/factuality_annotations_xsum_summaries.csv.gz"):
        fa.setdefault((r["bbcid"], r["system"]), []).append(int(r["is_factual"] == "yes"))
    for k, e in xs.items():
        if k[1] != "Gold":
            add("xsumfaith", 0, e["s"].replace("\\'", "'"), {"consistency": 1 - mean(list(e["w"].values())), "factual": mean(fa.get(k, []))}, k[0], doc=xd[k[0]])
    for s in ("dev", "test"):
        for o in jl(f"wice/claim_{s}.jsonl.gz"):
            add("wice", 0, o["claim"], {"consistency": {"supported": 1, "partially_supported": 0.5, "not_supported": 0}[o["label"]]}, doc="\n".join(o["evidence"]))
    for o in js("dstc10_dev/dailydialog-gupta_eval.json.gz"):
        add("gupta", 0, o["response"], {"overall": mean(o["annotations"]["overall"])}, hist=turns(o["context"]), refs=o["reference"])
    for s, n in (("convai2-grade", "convai2_grade"), ("dailydialog-grade", "dd_grade"), ("dailydialog-zhao", "dd_zhao")):
        for o in js(f"dstc10_dev/{s}_eval.json.gz"):
            add(n, 0, o["response"], {k: mean(v) for k, v in o["annotations"].items()}, hist=turns(o["context"]))
    for o in js("grade/human_judgement.json.gz"):
        if o["Dataset"].startswith("empathetic"):
            add("empathetic_grade", 0, o["Response"], {"relevance": mean(json.loads(o["HumanScores"]))}, hist=turns(o["Context"]))
    rng = random.Random(11)
    for s, n, m in (("persona-zhao", "persona_zhao", 900), ("dstc7", "dstc7", 3000), ("humod", "humod", 3000)):
        L = jl(f"dstc10_dev/{s}.jsonl.gz")
        for o in rng.sample(L, min(m, len(L))):
            if o["context"] and o["response"]:
                add(n, 0, o["response"], {k: mean(v) for k, v in o["annotations"].items()}, hist=[o["context"]])
    T = jl("dstc10_dev/persona-see_turns.jsonl.gz"); A = jl("dstc10_dev/persona-see_anno.jsonl.gz")
    for i in rng.sample(range(len(A)), 600):
        for j in (2, 4):
            o = T[i * 6 + j]
            if o["context"] and o["response"]:
                add("persona_see", 0, o["response"], {k: mean(v) for k, v in A[i].items()}, f"see{i}", hist=[o["context"]])
    for o in cs("predictive_engagement/humanAMT_engscores_utt.csv.gz"):
        add("pe_utt", 0, o["reply"], {"engagingness": float(o["label"])}, hist=[o["query"]])
    agg = {}
    for o in cs("predictive_engagement/Eng_Scores_queries_gen_gtruth_replies.csv.gz"):
        try:
            agg.setdefault((o["query"].strip(), o["response"].strip()), []).append(float(o["human_score"]))
        except (ValueError, AttributeError, TypeError):
            pass
    for (q, r), v in agg.items():
        if q and r:
            add("pe_dd", 0, r, {"engagingness": sum(v) / len(v)}, hist=[q])
    for o in cs("simplification_alvamanchego2021/simplicity_DA.csv.gz"):
        add("simp_da", 0, o["simp_sent"], {k: float(o[k]) for k in ("fluency", "meaning", "simplicity")}, inp=o["orig_sent"])
    for o in cs("simplification_alvamanchego2021/structural_simplicity.csv.gz"):
        add("simp_struct", 0, o["simp_sent"], {k: float(o[k]) for k in ("grammaticality", "meaning", "simplicity")}, inp=o["orig_sent"])
    return I


if __name__ == "__main__":
    items = load()
    out = Path(sys.argv[1])
    docs: dict[str, int] = {}
    hum = []
    for n, i in enumerate(items):
        i["id"] = n
        hum.append({"id": n, "set": i["set"], "test": i["test"], "g": i["g"], "human": i.pop("human")})
        if "doc" in i:
            i["doc"] = docs.setdefault(i["doc"], len(docs))
    with lzma.open(out / "items.json.xz", "wt", preset=4) as h:
        json.dump({"docs": list(docs), "items": items}, h)
    with gzip.open(out / "human.json.gz", "wt") as h:
        json.dump(hum, h)
    import collections
    print(collections.Counter((i["set"], i["test"]) for i in items), len(docs), (out / "items.json.xz").stat().st_size)
