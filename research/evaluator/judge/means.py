"""Means of a learnt language model with its start, each scored: which share keeps most is chosen on validation sets.

python -m judge.means START LEARNT items.json.xz OUT SHARE…   (START and LEARNT as `open_language_model` takes them; OUT/SHARE has the
weights, OUT/SHARE.npz what judge.score says; all shares at once, so on a GPU)
"""
from __future__ import annotations

import os, shutil, subprocess, sys
from pathlib import Path

from quintet_train.evaluator.language_grid import compressed, save_parts, towards
from quintet_train.evaluator.starting import open_language_model


def weights(spec):
    start = open_language_model(spec, ())
    return {**{n: v.detach() for n, v in start.network.state_dict().items()}, **start.heads}, start


def main(start, learnt, items, out, *shares):
    (before, opened), (after, _) = weights(start), weights(learnt)
    jobs = []
    for share in shares:
        target = Path(out) / share
        save_parts(compressed(towards(after, before, float(share))), target)
        opened.tokenizer.save(str(target / "tokenizer.json"))
        for name in ("config.json", "model.toml"):
            if (found := Path(learnt.removeprefix("dir:")) / name).is_file():
                shutil.copy(found, target)
        more = os.environ.get("SCORE", "val=1").split()
        jobs.append(subprocess.Popen([sys.executable, "-m", "judge.score", "lm", items, str(target), "", "lm.", f"{target}.npz", *more]))
    return max(job.wait() for job in jobs)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
