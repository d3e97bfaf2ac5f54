"""The teacher: its examples, its own tellings, training, verdicts on claims, labels for the student, what it says of validation items."""

import sys, json, os
from dataclasses import replace
from random import Random
from between import *

SECONDS = float(os.environ.get("TEACHER_SECONDS", "330"))
PROCS = int(os.environ.get("PROCS", "12"))
import numpy as np
import tokenizers

c = corpus()
rec = recipe("judge-teacher-wide")
o = rec.data.options
say("corpus")
from quintet_train.evaluator import preparing as P, building, written_texts, teaching, run as RUN, starting, language_network
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.tables import load_written, Continued, Answered

tok = tokenizers.Tokenizer.from_file(str(X / "cut-tokenizer.json"))
tok.no_padding()
tok.no_truncation()
frame = LanguageFrame(tok, "<|im_start|>", o["judged_tokens"])
times = Times(o["times"])
heads = RUN._chosen_heads(o)
for n in ("near.pkl", "ends.ok", "answer.ok"):
    wait(X / n)
near = get(X / "near.pkl")
run = run_of(rec, TE)
# its examples, as _teacher builds them (tellings teach it nothing)
r = with_options(rec, retelling=None)
tables = P.with_texts_of_models(replace(run, recipe=r), c.tables, TE / "prepared")
tables = P.with_written_claims(run, replace(c, tables=tables), TE / "prepared")
packed = building.build(tables, near, times, frame, rec.data.seed, P.shards(o), PROCS, heads)
say("examples", len(packed.labels), packed.lengths.sum() / 1e6)
import torch
from quintet_train.evaluator.shared_lesson import SharedLesson
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_judge_lesson import LanguageJudgeLesson

weights = replace(RUN._weights(rec.model.options), masked_share=0.0)
judged = SharedLesson(packed, weights, rec.data.dev_fraction, rec.data.seed, o["row_tokens"])
say("lesson", judged.size)


class NoReadings:
    size = 0
    texts = ()

    def batches(self, *a):
        return []

    def dev_scores(self, network):
        return {}


class Lesson(LanguageJudgeLesson):
    def batches(self, epoch, seed, tokens):
        return self.judged.batches(epoch, seed, tokens)


lesson = Lesson(judged, NoReadings(), 1.0)
wait(X / "qwen.ok")
import quantised

found = quantised.weights(X / "head.json", X / "blob.bin", run.device)
told = {"num_attention_heads": 12, "rope_theta": 1e6, "rms_norm_eps": 1e-6}
shape = starting._language_shape(told, found)
if os.environ.get("CUT"):
    n = int(os.environ["CUT"])
    found = {k: v for k, v in found.items() if not k.startswith("blocks.") or int(k.split(".")[1]) < n}
    shape = starting._language_shape(told, found)
with torch.device("meta"):
    net = language_network.LanguageModel(shape)
net.load_state_dict(found, assign=True)
net.requires_grad_(True)
say("opened", shape)
start = starting.LanguageStart(net.unrounded(), tok, "<|im_start|>")
wait(X / "tell.ok")
tables = P.with_texts_of_models(run, c.tables, TE / "prepared", start)
written_texts.save(tables, TE / "written.part.gz")
(TE / "written.part.gz").replace(TE / RUN.WRITTEN)
put(1, X / "written.ok")
say("written", len(tables.retold), len(tables.told), len(tables.answered))
import random

rr = random.Random(1)
for one in rr.sample(tables.told[-8000:], min(12, len(tables.told))):
    print("   ", one.text)
torch.cuda.empty_cache() if run.device.type == "cuda" else None
net.shorten(int(os.environ.get("LAYERS", rec.model.options["layers"])))
torch.manual_seed(rec.train.seed)
network = LanguageJudge(net).to(run.device)
if run.device.type == "cuda":
    net.fuse()
from quintet_train import trainer as TR

TR.Trainer._save = lambda *a, **k: None
plan = replace(rec.train, seconds=SECONDS, evaluate_every=10**9)
if os.environ.get("TOKENS"):
    plan = replace(plan, tokens=int(os.environ["TOKENS"]))
last = [0.0]


def progress(step, total, figures):
    if time.time() - last[0] > 15:
        last[0] = time.time()
        say("teacher", step, total, {k: round(v, 4) for k, v in figures.items()})


out = TR.Trainer(network, lesson, plan, TE / "run", "k").fit(False, progress)
say("teacher done", out.steps, dict(out.scores))
network.eval()
network.zero_grad(set_to_none=True)
import gc

gc.collect()
if run.device.type == "cuda":
    torch.cuda.empty_cache()
    say("memory", torch.cuda.memory_reserved() >> 30)
tables = P.with_written_claims(run, replace(c, tables=tables), TE / "prepared")
claims = list(teaching.every_claim(tables, times, Random(f"{rec.data.seed}:claims")))
say("claims", len(claims))
if os.environ.get("FEW"):
    claims = claims[: int(os.environ["FEW"])]
judged_claims = teaching.judged(tables, claims, network, frame, run.device)
teaching.save(tables, judged_claims, TE / "taught.part.gz")
(TE / "taught.part.gz").replace(TE / RUN.TAUGHT)
put(1, X / "taught.ok")
v = np.array([x.supported for x in judged_claims])
say("verdicts", len(v), "below .2", (v < 0.2).mean(), "above .8", (v > 0.8).mean())
for one in rr.sample(judged_claims, min(12, len(judged_claims))):
    print("   ", one.supported, one.claim)
wait(X / "told_read.npz")
from quintet_train.evaluator.packing import Packed

read = Packed.load(X / "told_read.npz")
if run.device.type == "cuda":
    torch.cuda.empty_cache()
odds = teaching.verdicts(network, read, run.device).asked
np.save(X / "odds.part.npy", odds)
(X / "odds.part.npy").replace(X / "odds.npy")
say("odds", len(odds))
# what it says of validation items, while the student's examples are made
try:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from judge import score as S
    from judge.networks import LM

    lm = LM(net)
    lm.judge = network
    S.open_lm = lambda *a, **k: (lm, tok, tok.token_to_id("<|im_start|>"))
    S.taught_by = lambda w: {*heads, "words"}
    items, paras = S.load_items(str(X / "items.json.xz"), int(os.environ.get("LIMIT", "400")))
    items = [i for i in items if not i["test"]]
    with torch.no_grad():
        sig = S.lm_signals(items, paras, "", "", "lm.", only={"doc", "alone", "unc", "h12", "fh12"})
    S.save(str(X / "out" / "teacher.npz"), sig, items)
except Exception as e:
    say("teacher's validation failed", repr(e))
say("end")
