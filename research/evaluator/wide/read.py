"""read.py CORPORA: the tables that both recipes read, once (their sources are the same); a minute on two cores."""

import pickle
import sys
from pathlib import Path

import torch
from between import X
from quintet_train import recipe
from quintet_train.evaluator.preparing import Run, read_corpus

found = recipe.load("judge-teacher-wide")
assert found.data.sources == recipe.load("judge-lm-taught-wide").data.sources
made = read_corpus(Run(found, Path(sys.argv[1]), X, True, torch.device("cpu"), None, False))
X.mkdir(exist_ok=True)
with open(X / "corpus.pkl", "wb") as file:
    pickle.dump((made.tables, made.used, made.notes), file, 5)
print(made.notes)
