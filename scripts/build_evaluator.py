"""Builds the folders of the bundled evaluator and language model from trained weights, and prints their catalogue rows.

    python scripts/build_evaluator.py encoder WEIGHTS.safetensors TOKENIZER.json OUT --questions sel,coh,…
        [--together sel,adq,…] [--fp32] [--samples FILE.jsonl]
    python scripts/build_evaluator.py lm WEIGHTS TOKENIZER.json OUT [--fp32] [--taught con,nli,words]

WEIGHTS of the language model is a file, or a folder of files with a part of them each; if they hold heads, --taught
says which of these were trained. Needs `onnx` and `safetensors`.
The same weights give the same bytes. --fp32 writes the full model, for comparison: open it as `dir:OUT`. --samples
(rows with output and source, some hundred of the kinds that will be judged) writes the encoder with 8-bit arithmetic.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from quintet.models import folder, packed_weights
from quintet_train.evaluator.language_grid import compressed, expanded, joined_parts
from quintet_train.export_evaluator import export_evaluator, read_weights
from quintet_train.export_graph import Array
from quintet_train.export_judge_lm import export_judge_lm, together


def language_weights(path: Path) -> dict[str, Array]:
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    found = joined_parts({name: value for file in files for name, value in load_file(file).items()})
    # Matrices stay what they are; a table from a run with finer rows is rounded to what is shipped.
    return {name: value.numpy() for name, value in compressed(expanded(found)).items()}


def named(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("encoder", "lm"))
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--questions", default="", help="heads of the encoder in their order, with commas between them")
    parser.add_argument("--together", default="", help="those of them that read output and grounds as one text")
    parser.add_argument(
        "--taught", default="", help="heads of the language model that were trained, also nli and words"
    )
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--samples", type=Path)
    asked = parser.parse_args()
    if asked.kind == "encoder":
        weights = read_weights(asked.weights)
        precision = "fp32" if asked.fp32 else "int8-arithmetic" if asked.samples else "int8"
        rows = [json.loads(line) for line in asked.samples.open(encoding="utf-8")] if asked.samples else []
        samples = [(row["output"], row.get("source") or "") for row in rows]
        export_evaluator(
            weights, asked.out, asked.tokenizer, named(asked.questions), precision=precision, samples=samples,
            together=named(asked.together),
        )  # fmt: skip
    else:
        weights = language_weights(asked.weights)
        if asked.fp32:
            weights = {k: v if isinstance(v, np.ndarray) else v.matrix() for k, v in together(weights).items()}
        export_judge_lm(weights, asked.out, asked.tokenizer, taught=named(asked.taught))
    for name in ("model.onnx", packed_weights.FILE, folder.HEADS, "tokenizer.json", "model.toml"):
        if not (asked.out / name).is_file():
            continue
        data = (asked.out / name).read_bytes()
        print(f'  {{ name = "{name}", size = {len(data)}, sha256 = "{hashlib.sha256(data).hexdigest()}" }},')


if __name__ == "__main__":
    main()
