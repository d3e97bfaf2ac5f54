"""Do scores depend on the processor? The same rows with instruction sets switched off, or on another machine.

    python benchmarks/instruction_sets.py [--metric NAME ...] [--rows 4] [--under "qemu-x86_64 -cpu Haswell" ...]
    python benchmarks/instruction_sets.py --save scores.json     # here
    python benchmarks/instruction_sets.py --against scores.json  # on another processor

Every setting is a process of its own. NumPy's and OpenBLAS's instruction sets are switched off by their variables;
ONNX Runtime has no such variable, so its kernels change only under an emulator or on another machine. Where
qemu-x86_64 is there (`apt install qemu-user`), a Haswell (AVX2, neither AVX-512 nor VNNI) and a Nehalem (SSE 4.2) are
emulated, at about a hundredth of the speed. `--under` takes other commands before Python's.
What can be told without either: processors without VNNI add pairs of 8-bit products in 16 bits, which overflow
where 255 times two neighbouring weights is more than 32,767. The first table says whether any weights could.
Ends with status 1 where weights could overflow or a score moved by more than 1e-5.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from made_up import items, machine

LIMIT, MOST = 2**15 - 1, 1e-5
AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "two threads": {"QUINTET_THREADS": "2"},
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": AVX512},
    "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": f"{AVX512} AVX2 FMA3"},
    "OpenBLAS for Haswell (AVX2)": {"OPENBLAS_CORETYPE": "Haswell"},
    "OpenBLAS for Nehalem (SSE)": {"OPENBLAS_CORETYPE": "Nehalem"},
}
EMULATED = ["qemu-x86_64 -cpu Haswell", "qemu-x86_64 -cpu Nehalem"]
METRICS = ["rouge-l", "chrf", "gruen-redundancy", "bertscore-f", "ctc-consistency", "gruen-focus", "evaluator-document",
           "evaluator-fluency"]  # fmt: skip


def child(metrics: list[str], rows: int) -> None:
    import quintet
    from quintet.metrics import metrics as registry

    given = [item.example for item in items(rows, 2, 8) if item.example is not None]
    known = [name for name in metrics if name in registry]
    found = quintet.score(given, metrics=known, cache=False)
    scores = {label: [float(row.scores[label].value).hex() for row in found.rows] for label in found.columns}
    print(json.dumps({"machine": machine(), "vector": _vector(), "scores": scores}))


def _vector() -> str:
    """What the processor says of itself, an emulated one too: NumPy asks it, not the system."""
    from numpy._core._multiarray_umath import __cpu_features__ as has

    names = ("SSE42", "AVX", "AVX2", "AVX512F", "AVX512_CLX", "AVX512_SPR", "NEON", "ASIMDDP", "SVE")
    return " ".join(name for name in names if has.get(name))


def measured(given: argparse.Namespace, setting: dict[str, str], under: str = "") -> dict[str, Any] | None:
    environment = {**os.environ, "QUINTET_THREADS": "1", "OMP_NUM_THREADS": "1", **setting}
    own = ["--child", "--rows", str(given.rows), *(part for name in given.metric for part in ("--metric", name))]
    command = [*shlex.split(under), sys.executable, __file__, *own]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        print(f"  does not run: {(done.stderr.strip().splitlines() or ['no message'])[-1][:150]}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(first: dict[str, Any], other: dict[str, Any]) -> float:
    most, differing, count = 0.0, 0, 0
    for label, values in first["scores"].items():
        for a, b in zip(values, other["scores"].get(label, values), strict=True):
            count += 1
            differing += a != b
            most = max(most, abs(float.fromhex(a) - float.fromhex(b)))
    for label, values in first["scores"].items():
        gap = max(abs(float.fromhex(a) - float.fromhex(b)) for a, b in zip(values, other["scores"][label], strict=True))
        if gap > MOST:
            print(f"  {label}: by {gap:.1e} at most")
    same = "the same bits" if not differing else f"{differing} of {count} scores differ, by {most:.1e} at most"
    print(f"  {same}")
    return most


def weights() -> bool:
    """Whether no two neighbouring 8-bit weights can overflow 16 bits."""
    from quintet.models.catalog import bundled
    from quintet.models.packed_weights import FILE, opened

    safe = True
    for entry in bundled():
        worst = 0
        for matrix in _graph_weights(entry.folder / "model.onnx"):
            worst = max(worst, _pairs(matrix))
        if (entry.folder / FILE).is_file():
            for name, matrix in opened(entry.folder / FILE):
                if "embed" not in name:
                    worst = max(worst, _pairs(matrix))
        if worst:
            safe = safe and 255 * worst <= LIMIT
            print(f"  {entry.name}: 255 x {worst} = {255 * worst:,} of {LIMIT:,}")
    return safe


def _graph_weights(path: Path) -> list[Any]:
    try:
        import onnx
    except ImportError:
        print("  (the graphs' own weights need the package onnx)")
        return []
    if not path.is_file():
        return []
    graph = onnx.load(str(path), load_external_data=False).graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    used = {node.input[1] for node in graph.node if "Integer" in node.op_type and node.input[1] in tensors}
    inside = [tensors[name] for name in sorted(used) if not tensors[name].external_data]
    found = [onnx.numpy_helper.to_array(tensor) for tensor in inside]
    return [matrix for matrix in found if matrix.dtype == np.int8]


def _pairs(matrix: Any) -> int:
    """Of a (in, out) matrix: the largest sum of two neighbours down a column."""
    sizes = np.abs(matrix[: len(matrix) // 2 * 2].astype(np.int16))
    return int((sizes[0::2] + sizes[1::2]).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--under", action="append", help="a command that runs another, such as an emulator")
    parser.add_argument("--only", action="store_true", help="no settings but those of --under")
    parser.add_argument("--save")
    parser.add_argument("--against")
    parser.add_argument("--child", action="store_true")
    given = parser.parse_args()
    given.metric = given.metric or METRICS
    if given.child:
        child(given.metric, given.rows)
        return 0
    print("8-bit weights: the largest sum of a pair of products, and what 16 bits hold")
    held = weights()
    first = measured(given, {})
    if first is None:
        return 1
    print(f"{first['machine']}; {first['vector']}")
    if given.save:
        Path(given.save).write_text(json.dumps(first))
        return 0 if held else 1
    if given.against:
        other = json.loads(Path(given.against).read_text())
        print(f"against {other['machine']}; {other['vector']}")
        return 0 if compare(other, first) <= MOST and held else 1
    emulators = given.under or (EMULATED if shutil.which("qemu-x86_64") else [])
    runs = [] if given.only else [(name, setting, "") for name, setting in SETTINGS.items()]
    for name, setting, under in [*runs, *((under, {}, under) for under in emulators)]:
        print(name, flush=True)
        found = measured(given, setting, under)
        if found is not None:
            if under:
                print(f"  {found['vector']}")
            held = compare(first, found) <= MOST and held
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
