"""Encoders on ONNX Runtime: no torch, the same numbers whatever the batch."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.core.stopping import checkpoint
from quintet.errors import InputError, ModelError
from quintet.models import packed_weights
from quintet.models.folder import Description
from quintet.models.onnx_cut import cut, output_names
from quintet.models.passes import Layers, embed_layers
from quintet.models.roles import Long
from quintet.models.subwords import Subwords

TOKEN_BUDGET = 1024
"""Sub-words a pass, padding included: larger batches fall out of the cache and are slower on a CPU."""
LEAST = 0.9
"""Share of a batch's longest text that the others have at least: a batch of one is nearly as fast as a large one."""
SESSIONS = 2
"""Depths kept open at a time; each holds the weights once in fp32."""


def threads() -> int:
    text = os.environ.get("QUINTET_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"QUINTET_THREADS is {text!r}", todo="set it to a whole number from 1 up, or unset it")
    return int(text)


class OnnxEmbedder:
    """A graph with inputs `input_ids`, `attention_mask` and outputs `layer_0` … `layer_N`.

    A pass computes no layer above the deepest one asked for: the file is cut at that layer before it is opened.
    """

    def __init__(self, folder: Path, description: Description, identity: str) -> None:
        self.identity = identity
        self.layers, self.width = description.layers, description.width
        self.max_tokens = description.max_tokens
        self._subwords = Subwords.read(folder / "tokenizer.json", description.prefix_space)
        self._pad = description.pad
        self._path = folder / description.file
        self._sessions: OrderedDict[int, object] = OrderedDict()
        self._lock = threading.Lock()
        missing = {f"layer_{i}" for i in range(self.layers + 1)} - set(output_names(self._path.read_bytes()))
        if missing:
            raise ModelError(
                f"{self._path} has no output {min(missing)!r}; an embedder needs layer_0 to layer_{self.layers}"
            )

    def embed_layers(self, texts: Sequence[str], layers: tuple[int, ...], long: Long) -> list[Layers]:
        return embed_layers(
            self._subwords, texts, layers, long,
            max_tokens=self.max_tokens, width=self.width, budget=TOKEN_BUDGET, run=self._run, pad=self._pad,
            least=LEAST,
        )  # fmt: skip

    def _run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], layers: tuple[int, ...]
    ) -> Sequence[NDArray[np.float32]]:
        session = self._session(max(layers))
        return session.run([f"layer_{layer}" for layer in layers], {"input_ids": ids, "attention_mask": mask})

    def _session(self, depth: int):  # type: ignore[no-untyped-def]  # onnxruntime has no types
        with self._lock:
            if depth not in self._sessions:
                while len(self._sessions) >= SESSIONS:
                    self._sessions.popitem(last=False)
                # All outputs up to the depth stay: the graph is fused in one way, whichever of them are asked for.
                self._sessions[depth] = open_session(
                    cut(self._path.read_bytes(), [f"layer_{i}" for i in range(depth + 1)])
                )
            self._sessions.move_to_end(depth)
            return self._sessions[depth]


def open_session(model: bytes | Path, packed: Path | None = None) -> Session:
    """A graph as bytes, or the file it stands in, which is then not held in memory twice; and its packed matrices."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning threads steal the other cores from whoever shares the machine; the gain is small.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Arenas keep the largest batch ever seen; buffers of one pass are small beside its arithmetic.
    options.enable_cpu_mem_arena = False
    matrices = dict(packed_weights.opened(packed)) if packed is not None and packed.is_file() else {}
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(matrix) for matrix in matrices.values()]
    if values:
        options.add_external_initializers(list(matrices), values)
    try:
        given = str(model) if isinstance(model, Path) else model
        session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises a dozen unrelated types, none of them exported
        raise ModelError(f"ONNX Runtime cannot open the model ({str(error).splitlines()[0][:200]})") from None
    return Session(session, values)


class Session:
    """An opened graph. Before every pass it asks whether anybody still waits for it."""

    def __init__(self, inner: Any, packed: Sequence[Any] = ()) -> None:
        self._inner = inner
        self._packed = packed
        """It reads them where they lie, as long as it lives."""

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Any]) -> Any:
        checkpoint()
        return self._inner.run(outputs, inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
