"""Shared by the steps that make judge-lm-taught-wide side by side (README.md of the study, "Running it again").

Folder WIDE holds all that passes between them; SMALL and what teacher.py and student.py read from the environment are for trying out.
What passes between the steps is pickled: files of one's own, on one machine, for one run.
"""

import os, pickle, sys, time
from pathlib import Path

X = Path(os.environ.get("WIDE", "wide"))
TE, ST = X / "teacher", X / "student"
T0 = time.time()


def say(*w):
    print(time.strftime("%H:%M:%S"), round(time.time() - T0), *w, flush=True)


def wait(path, what=""):
    path = Path(path)
    t = time.time()
    while not path.exists():
        if (X / "STOP").exists():
            sys.exit("stopped")
        time.sleep(0.5)
    say("waited", round(time.time() - t), "for", path.name)


def corpus():
    from quintet_train.evaluator.preparing import Corpus

    p = X / "corpus.pkl"
    tables, used, notes = pickle.load(open(p, "rb"))
    return Corpus(tables, used, notes)


def put(obj, path):
    part = Path(str(path) + ".part")
    pickle.dump(obj, open(part, "wb"), 5)
    part.replace(path)


def get(path):
    return pickle.load(open(path, "rb"))


def recipe(name):
    from quintet_train import recipe as R

    return R.load(name)


def run_of(rec, target):
    import torch
    from quintet_train.evaluator.preparing import Run

    target.mkdir(parents=True, exist_ok=True)
    (target / "prepared").mkdir(exist_ok=True)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if dev.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
    return Run(rec, X, target, True, dev, None, False)


def with_options(rec, **more):
    from dataclasses import replace

    o = {**rec.data.options, **more}
    for k, v in list(o.items()):
        if v is None:
            o.pop(k)
    return replace(rec, data=replace(rec.data, options=o))


if os.environ.get("SMALL"):
    from quintet_train.evaluator import retelling as _R, answering as _A

    _n = int(os.environ["SMALL"])
    _s, _a = _R.stretches, _A.asked
    _R.stretches = lambda *a: _s(*a)[:_n]
    _A.asked = lambda *a: _a(*a)[:_n]
