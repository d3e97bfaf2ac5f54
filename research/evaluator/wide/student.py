"""The student: examples while the teacher learns, labels when it has spoken, training; weights in parts."""

import sys, os, json
from dataclasses import replace
from between import *

SECONDS = float(os.environ.get("STUDENT_SECONDS", "450"))
PROCS = int(os.environ.get("PROCS", "13"))
import numpy as np, tokenizers, torch

c = corpus()
rec = recipe("judge-lm-taught-wide")
o = rec.data.options
say("corpus")
from quintet_train.evaluator import preparing as P, building, written_texts, teaching, run as RUN
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.packing import joined
from quintet_train.evaluator.starting import open_language_model

times = Times(o["times"])
heads = RUN._chosen_heads(o)
told = [h for h in heads if h in o["teacher"]["heads"]]
others = [h for h in heads if h not in told]
cut = tokenizers.Tokenizer.from_file(str(X / "cut-tokenizer.json"))
cut.no_padding()
cut.no_truncation()
start = open_language_model(rec.model.start, ())
frame = LanguageFrame(start.tokenizer, start.first, o["judged_tokens"])
tframe = LanguageFrame(cut, "<|im_start|>", o["judged_tokens"])
run = run_of(rec, ST)
wait(X / "near.pkl")
wait(X / "written.ok")
near = get(X / "near.pkl")
tables = written_texts.load(c.tables, TE / RUN.WRITTEN)
say("written", len(tables.told), len(tables.answered))
rest = (near, times, rec.data.seed, P.shards(o), PROCS)
own, read = building.build_for([frame, tframe], tables, *rest, told)
read.save(X / "told_part.npz")
(X / "told_part.npz").replace(X / "told_read.npz")
say("told heads", len(own.labels), own.lengths.sum() / 1e6)
every = dict(building.BUILDERS)
taught = building.BUILDERS.pop("taught claims")
plain = building.build_for([frame], tables, *rest, others)[0]
say("others", len(plain.labels), plain.lengths.sum() / 1e6)
reading = RUN._reading_lesson(run, start, replace(c, tables=tables))
say("readings", len(reading.texts))
wait(X / "taught.ok")
tables = replace(tables, retold=teaching.load(tables, TE / RUN.TAUGHT))
building.BUILDERS.clear()
building.BUILDERS["taught claims"] = taught
claims = building.build_for([frame], tables, *rest, others)[0]
say("taught claims", len(claims.labels), claims.lengths.sum() / 1e6)
wait(X / "odds.npy")
odds = np.load(X / "odds.npy")
t = o["teacher"]
own = teaching.relabelled(own, teaching.chances(odds / t["heat"]), told, t["share"])
packed = joined([own, plain, claims])
say("examples", len(packed.labels))
from quintet_train.evaluator.shared_lesson import SharedLesson
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_judge_lesson import LanguageJudgeLesson
from quintet_train.evaluator.language_grid import compressed, save_parts

torch.manual_seed(rec.train.seed)
network = LanguageJudge(start.network, start.heads)
weights = replace(RUN._weights(rec.model.options), masked_share=0.0)
judged = SharedLesson(packed, weights, rec.data.dev_fraction, rec.data.seed, o["row_tokens"], RUN._held(run, network))
lesson = LanguageJudgeLesson(judged, reading, o["judged_share"])
say("lesson", lesson.size)
if run.device.type == "cuda":
    start.network.fuse()
network.to(run.device)
from quintet_train import trainer as TR
from quintet_train.trainer import plain_weights

TR.Trainer._save = lambda *a, **k: None
plan = replace(rec.train, seconds=SECONDS, evaluate_every=10**9)
if os.environ.get("TOKENS"):
    plan = replace(plan, tokens=int(os.environ["TOKENS"]))
if os.environ.get("UNTIL"):
    plan = replace(plan, seconds=max(30.0, float(os.environ["UNTIL"]) - time.time()))
say("training for", plan.seconds)
last = [0.0]


def progress(step, total, figures):
    if time.time() - last[0] > 15:
        last[0] = time.time()
        say("student", step, total, {k: round(v, 4) for k, v in figures.items()})


tr = TR.Trainer(network, lesson, plan, ST / "run", "k")
# weights first, figures after them
evaluate = tr._evaluate


def kept():
    w = {n.removeprefix(network.body): v for n, v in plain_weights(network).items()}
    files = save_parts(compressed(w), X / "out" / "parts")
    say("parts", len(files), sum(f.stat().st_size for f in files) >> 20)
    start.tokenizer.save(str(X / "out" / "parts" / "tokenizer.json"))
    json.dump(
        {"num_attention_heads": start.network.shape.heads, "rope_theta": start.network.shape.theta, "rms_norm_eps": start.network.shape.epsilon},
        open(X / "out" / "parts" / "config.json", "w"),
    )
    put(1, X / "student.ok")
    return evaluate()


tr._evaluate = kept
out = tr.fit(False, progress)
json.dump(
    {
        "steps": out.steps,
        "scores": dict(out.scores),
        "items": len(packed.labels),
        "groups": judged.size,
        "readings": len(reading.texts),
        "heads": {h: int((packed.heads == k).sum()) for k, h in enumerate(__import__("quintet_train.evaluator.groups", fromlist=["HEADS"]).HEADS)},
    },
    open(X / "out" / "student.json", "w"),
)
say("student done", out.steps, dict(out.scores))
