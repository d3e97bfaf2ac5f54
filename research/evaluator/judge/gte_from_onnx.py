"""The bundled gte-small graph (8-bit blocks) back to a state dict of Encoder; segment rows come from the original table."""
from __future__ import annotations

import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

from .net import pack


def main(path, segments, out):
    init = {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}

    def weight(n):
        c, s = init[n + ".codes"].astype(np.float32), init[n + ".scales"].astype(np.float32)
        w = c * s
        return w.reshape(-1, w.shape[-1]).T.copy()
    seg = np.load(segments).astype(np.float32)
    word = (init["words.codes"].astype(np.float32) * init["words.scales"].astype(np.float32)).reshape(30522, 384)
    sd = {"word.weight": word, "pos.weight": init["positions"] - seg[0], "typ.weight": seg, "ln.weight": init["embeddings.LayerNorm.weight"], "ln.bias": init["embeddings.LayerNorm.bias"]}
    for i in range(12):
        p, q = f"encoder.layer.{i}.", f"layers.{i}."
        names = [p + f"attention.self.{x}" for x in ("query", "key", "value")]
        sd[q + "qkv.weight"] = np.concatenate([weight(n) for n in names]); sd[q + "qkv.bias"] = np.concatenate([init[n + ".bias"] for n in names])
        for a, b in (("o", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
            sd[q + a + ".weight"], sd[q + a + ".bias"] = weight(p + b), init[p + b + ".bias"]
        for a, b in (("ln1", "attention.output.LayerNorm"), ("ln2", "output.LayerNorm")):
            sd[q + a + ".weight"], sd[q + a + ".bias"] = init[p + b + ".weight"], init[p + b + ".bias"]
    save_file(pack({k: torch.tensor(np.ascontiguousarray(v, np.float32)) for k, v in sd.items()}), out)


if __name__ == "__main__":
    main(*sys.argv[1:4])
