"""Trains the evaluator and the judging language model, scores the validation items with each, leaves weights in small parts.

    PYTHONPATH=src QUINTET_DATA=BENCHMARKS python research/evaluator/train_all.py CORPORA OUT [--items items.json.xz] [options]

One after another, so that each has the GPU to itself; `--only NAME` for one of them (two at a time share a GPU well while one
prepares its examples). Through `carry_out`, so nothing of the command line's is needed. A run that was cut off goes on where it
stopped if it is started with the same recipe and data. OUT/NAME is the run (weights, model folder, log), OUT/signals/NAME.npz
what `judge.score` says, OUT/parts/NAME the weights in files of at most 15 MiB with tokenizer and description: `dir:` opens it.
Where a recipe's weights are a mean with its start, OUT/parts/NAME-learnt has those that were learnt, and they are scored as well.
"""
from __future__ import annotations

import argparse, json, os, shutil, subprocess, sys, time
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file

from quintet_train import recipe as recipes
from quintet_train.evaluator.language_grid import compressed, save_parts
from quintet_train.evaluator import run
from quintet_train.evaluator.run import JUDGE, carry_out
from quintet_train.evaluator.starting import WEIGHTS
from quintet_train.trainer import plain_weights

HERE = Path(__file__).resolve().parent
NAMES = ("evaluator", "judge-lm-heads")
T0 = time.time()


def say(*words):
    print(round(time.time() - T0), *words, flush=True)


def recipe_of(name, args):
    """The recipe, with what the arguments change of it."""
    found = recipes.load(name, smoke=args.smoke)
    encoder = found.data.builder == JUDGE
    start = args.encoder_start if encoder else args.lm_start
    if start and not args.smoke:
        found = replace(found, model=replace(found.model, start=start))
    options = dict(found.data.options)
    if args.claims and not args.smoke:
        options["continuing"] = {**options["continuing"], "start": args.claims}
    if args.processes:
        options["processes"] = args.processes
    sources = tuple(replace(one, share=one.share * args.share) for one in found.data.sources)
    plan = found.train
    if args.steps:
        plan = replace(plan, max_steps=args.steps)
    if args.seconds:
        plan = replace(plan, seconds=args.seconds)
    return replace(found, data=replace(found.data, options=options, sources=sources), train=plan)


def fit_until(moment):
    """Preparing takes as long as it takes; training gets what is left of the time."""
    fit = run._fit

    def fitted(own, *rest):
        left = moment - time.time(); say("training for", round(left), "seconds")
        plan = replace(own.recipe.train, seconds=max(1.0, left))
        return fit(replace(own, recipe=replace(own.recipe, train=plan)), *rest)
    run._fit = fitted


def keep_learnt(target):
    """Before the mean is taken: parts, and what a folder of a language model needs beside them."""
    mean = run._towards_start

    def kept(own, network, *rest):
        weights = {name.removeprefix(network.body): value for name, value in plain_weights(network).items()}
        files = save_parts(compressed(weights), target); say("learnt", len(files), "parts")
        return mean(own, network, *rest)
    run._towards_start = kept


def train(found, args, out):
    last = [0.0]

    def progress(*told):
        if time.time() - last[0] > 10:
            last[0] = time.time(); say(found.name, *told)
    data = Path(recipes.__file__).parent / "recipes" / "smoke_rows" if args.smoke else args.corpora
    if args.until:
        fit_until(args.until)
    made = carry_out(found, data, out, True, args.device, progress, False)
    say(found.name, "done", made.items, "examples", made.steps, "steps", json.dumps(dict(made.figures)))


def score(found, args, out, name):
    """In a process of its own, so that the GPU's memory is free again."""
    target = args.out / "signals" / f"{name}.npz"
    target.parent.mkdir(exist_ok=True)
    if found.data.builder == JUDGE:
        own = ["enc", args.items, out / WEIGHTS, out / "tokenizer.json", "", target]
    else:
        own = ["lm", args.items, out, "", "lm.", target, f"each={target.with_name(name + '-each.npz')}"]
    more = [] if args.test else ["val=1"]
    path = os.pathsep.join([str(HERE), *sys.path[1:]])
    subprocess.run([sys.executable, "-m", "judge.score", *map(str, own), *more, *args.score], check=True, env={**os.environ, "PYTHONPATH": path})


def packed(weights):
    """The encoder's: rows of the word table in 8 bit, the rest in half precision; `dir:` reads it back."""
    out = {}
    for name, value in weights.items():
        if name == "enc.word.weight":
            scale = value.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
            out[f"{name}.q"], out[f"{name}.s"] = (value / scale).round().to(torch.int8), scale
        else:
            out[name] = value.half()
    return out


def leave_parts(found, args, out):
    target = args.out / "parts" / found.name
    shutil.rmtree(target, ignore_errors=True)
    weights = load_file(out / WEIGHTS)
    files = save_parts(packed(weights) if found.data.builder == JUDGE else weights, target)
    for name in ("tokenizer.json", "config.json", "model/model.toml", "model/CARD.md", "run/log.jsonl"):
        if (out / name).is_file():
            shutil.copy(out / name, target)
    say(found.name, len(files), "parts", sum(file.stat().st_size for file in files) >> 20, "MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path); parser.add_argument("out", type=Path)
    parser.add_argument("--items", type=Path, help="what judge.bench wrote; without it nothing is scored")
    parser.add_argument("--only", default=",".join(NAMES), help="names or files of recipes, with commas between")
    parser.add_argument("--lm-start", default="", help="of the language model, in place of the recipe's")
    parser.add_argument("--encoder-start", default="")
    parser.add_argument("--claims", default="", help="the language model that ends claims, in place of the recipes'")
    parser.add_argument("--steps", type=int, default=0); parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--until", type=float, default=0, help="train until this moment (seconds since 1970)")
    parser.add_argument("--share", type=float, default=1.0, help="of every source: for trying it out")
    parser.add_argument("--processes", type=int, default=0); parser.add_argument("--device", default="auto")
    parser.add_argument("--smoke", action="store_true", help="the recipes' tiny runs")
    parser.add_argument("--test", action="store_true", help="score the items of the test sets as well")
    parser.add_argument("--score", nargs="*", default=[], help="more for judge.score: limit=20")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.only.split(","):
        found = recipe_of(name, args); out = args.out / found.name; learnt = args.out / "parts" / f"{found.name}-learnt"
        if found.model.options.get("start_share"):
            keep_learnt(learnt)
        train(found, args, out)
        leave_parts(found, args, out)
        for name in ("tokenizer.json", "config.json", "model/model.toml") if learnt.is_dir() else ():
            shutil.copy(out / name, learnt)
        if args.items:
            score(found, args, out, found.name)
            if learnt.is_dir():
                score(found, args, learnt, learnt.name)


if __name__ == "__main__":
    main()
