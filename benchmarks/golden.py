"""All that quintet says of the bundled examples, as one file: every metric and every task with values, spans, parts,
flags and signatures, and the text of a few commands. Made before and after a change of structure, two files are equal.

    python benchmarks/golden.py dump before.json [--rows 2] [--fast]
    python benchmarks/golden.py same before.json after.json

Metrics on a model that is not bundled run on the public fake, so that their code is walked as well. With --fast the
bundled language model is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import quintet
from quintet.cli import main as command
from quintet.core.task import read_tasks
from quintet.io.items import open_items
from quintet.metrics import metrics

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = {
    "summarization": "summarization.jsonl", "dialogue": "dialogue.jsonl", "data2text": "data2text.csv",
    "rewriting": "rewriting.tsv", "text": "text.jsonl", "fact": "fact.jsonl",
}  # fmt: skip
COMMANDS = (
    "score {examples}/summarization.jsonl --task summarization --fast --no-cache --evidence --format jsonl --limit 3",
    "score {examples}/dialogue.jsonl --task dialogue --fast --no-cache --limit 3",
    "explain {examples}/fact.jsonl --task fact --fast --no-cache --row 1",
    "gate {examples}/fact.jsonl --task fact --fast --no-cache --min consistency=0.5 --format markdown",
    "calibrate {examples}/labelled.jsonl --task fact --labels consistency=good --fast --no-cache --out {folder}/c.json",
    "metrics --json",
    "tasks",
)


def dump(rows: int, fast_only: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for task in read_tasks():
        if task in FILES:
            for fast in (True,) if fast_only else (True, False):
                found[f"task {task}{' fast' if fast else ''}"] = _scored(EXAMPLES / FILES[task], task, rows, fast=fast)
    examples = {task: [item.example for item in open_items(str(EXAMPLES / name), None, task, limit=rows)]
                for task, name in FILES.items()}  # fmt: skip
    for entry in metrics:
        metric = entry.build()
        if fast_only and any("judge-lm" in str(value) for value in vars(metric).values()):
            continue
        given = next((own for own in examples.values() if _fits(metric, own)), None)
        if given is None:
            found[f"metric {entry.name}"] = "no example has its fields"
            continue
        found[f"metric {entry.name}"] = _metric(entry.name, given)
    for line in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            found[f"command {line}"] = _command(line.format(examples=EXAMPLES, folder=folder).split(), folder)
    return found


def _fits(metric: Any, examples: list[Any]) -> bool:
    return all(not metric.lacks([field for field in metric.fields if one.has(field)]) for one in examples)


def _metric(name: str, given: list[Any]) -> Any:
    try:
        return _plain(quintet.score(given, metrics=[name], cache=False))
    except (quintet.QuintetError, ImportError) as error:
        every = type(metrics[name].build()).__dataclass_fields__
        fields = [f for f in every if f == "model" or (f.startswith("model_") and f != "model_role")]
        try:
            fake = f"{name}:{','.join(f'{field}=fake:golden' for field in fields)}"
            return _plain(quintet.score(given, metrics=[fake], cache=False)) if fields else str(error)
        except (quintet.QuintetError, ImportError) as second:
            return f"{error} / {second}"


def _scored(path: Path, task: str, rows: int, **given: Any) -> Any:
    return _plain(quintet.score(str(path), task, limit=rows, cache=False, skip_bad=True, **given))


def _plain(result: Any) -> Any:
    scores = [{label: score.to_json() for label, score in row.scores.items()} for row in result.rows]
    return {"rows": scores, "signatures": result.signatures, "left out": dict(result.left_out)}


def _command(arguments: list[str], folder: str) -> dict[str, Any]:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command(arguments)
        except SystemExit as leave:
            code = leave.code
    texts = {"out": out.buffer.getvalue().decode(), "err": err.getvalue()}
    places = {folder: "FOLDER", str(EXAMPLES): "EXAMPLES"}
    for place, name in places.items():
        texts = {stream: text.replace(place, name) for stream, text in texts.items()}
    lines = {stream: text.splitlines() for stream, text in texts.items()}
    # How far a run has come is said every few seconds, that is on slow machines alone.
    lines["err"] = [line for line in lines["err"] if not line.startswith("scoring:")]
    return {"code": code, **lines}


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = dict.fromkeys((*before, *after))
        return [line for n in names for line in differences(before.get(n), after.get(n), f"{where}/{n}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for k, (b, a) in pairs for line in differences(b, a, f"{where}/{k}")]
    return [] if before == after else [f"{where}: {before!r} -> {after!r}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("dump", "same"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--fast", action="store_true", help="without the bundled language model")
    asked = parser.parse_args()
    if asked.what == "dump":
        Path(asked.files[0]).write_text(
            json.dumps(dump(asked.rows, asked.fast), indent=1, ensure_ascii=False), encoding="utf-8"
        )
    else:
        before, after = (json.loads(Path(name).read_text(encoding="utf-8")) for name in asked.files)
        lines = differences(before, after)
        print("\n".join(lines[:50]) or "equal")
        sys.exit(bool(lines))
