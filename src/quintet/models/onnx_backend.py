"""Encoders on ONNX Runtime: no torch, the same numbers whatever the batch."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet._checked import whole_number
from quintet.core.plain import Cells, Foreign
from quintet.core.stopping import checkpoint
from quintet.errors import ModelError
from quintet.models import packed_weights
from quintet.models.folder import Description
from quintet.models.passes import Layers, embed_layers
from quintet.models.roles import Long
from quintet.models.subwords import Subwords

# An ONNX file cut down to chosen outputs, on the level of bytes: no layer above the one asked for is computed.
#
# ONNX Runtime computes every node of a graph even when only an early output is fetched, and the `onnx` package is too
# large a dependency for cutting a graph. The file is protocol-buffer wire format: fields of (number, kind, value), a
# nested message being a field whose value is bytes. Only the few fields named below are read; others are copied.

# Field numbers of onnx.proto: ModelProto.graph; GraphProto.node, initializer, input, output; the names inside each.
_GRAPH = 7
_NODE, _INITIALIZER, _INPUT, _OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_TENSOR_NAME, _VALUE_NAME = 8, 1

Part = tuple[int, memoryview, memoryview]
"""Field number, the whole field as written, and its value."""


def cut(model: bytes | memoryview, outputs: Collection[str]) -> bytes | memoryview:
    """The model with only `outputs`, which may be values inside, and what they need, as bytes; as it was given where
    that is all of it. Graphs with control flow are not understood."""
    pieces: list[bytes | memoryview] = []
    whole = True
    for number, field, value in _parts(model):
        kept = _cut_graph(value, outputs) if number == _GRAPH else None
        if kept is None:
            pieces.append(field)
        else:
            pieces += [_head(number, sum(map(len, kept))), *kept]
            whole = False
    return model if whole else b"".join(pieces)


def mapped(path: Path) -> memoryview:
    """The bytes of a file, which are read where they are looked at."""
    with path.open("rb") as stream:
        empty = not os.fstat(stream.fileno()).st_size
        return memoryview(b"" if empty else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def open_cut(path: Path, outputs: Collection[str]) -> Session:
    model = mapped(path)
    kept = cut(model, outputs)
    return open_session(path if kept is model else bytes(kept))


def output_names(model: bytes | memoryview) -> list[str]:
    return _names(model, _OUTPUT)


def input_names(model: bytes | memoryview) -> list[str]:
    return _names(model, _INPUT)


def has_value(model: bytes | memoryview, name: str) -> bool:
    """Whether some node of the graph gives the value."""
    graphs = (graph for number, _, graph in _parts(model) if number == _GRAPH)
    return any(name in _strings(node, _NODE_OUTPUT) for graph in graphs for n, _, node in _parts(graph) if n == _NODE)


def _names(model: bytes | memoryview, field: int) -> list[str]:
    for number, _, graph in _parts(model):
        if number == _GRAPH:
            return [_first(value, _VALUE_NAME) for n, _, value in _parts(graph) if n == field]
    raise ModelError("not an ONNX model: the file has no graph")


def _cut_graph(graph: memoryview, outputs: Collection[str]) -> list[bytes | memoryview] | None:
    """Its fields that are needed; None: all of them, and no other."""
    parts = list(_parts(graph))
    ends = [_ends(value) if number == _NODE else None for number, _, value in parts]
    makers = {name: end[0] for end in ends if end is not None for name in end[1]}
    needed, queue = set(outputs), list(outputs)
    while queue:
        fresh = [name for name in makers.get(queue.pop(), ()) if name and name not in needed]
        needed.update(fresh)
        queue.extend(fresh)

    def kept(number: int, value: memoryview, end: tuple[list[str], list[str]] | None) -> bool:
        if end is not None:
            return any(name in needed for name in end[1])
        if number == _INITIALIZER:
            return _first(value, _TENSOR_NAME) in needed
        return number != _OUTPUT or _first(value, _VALUE_NAME) in outputs

    declared = {_first(value, _VALUE_NAME) for number, _, value in parts if number == _OUTPUT}
    inner = [_field(_OUTPUT, _field(_VALUE_NAME, name.encode())) for name in outputs if name not in declared]
    together = zip(parts, ends, strict=True)
    found = [whole for (number, whole, value), end in together if kept(number, value, end)]
    return None if len(found) == len(parts) and not inner else [*found, *inner]


def _ends(node: memoryview) -> tuple[list[str], list[str]]:
    """Names of what goes into a node and of what comes out."""
    found: tuple[list[str], list[str]] = ([], [])
    for number, _, value in _parts(node):
        if number == _NODE_INPUT:
            found[0].append(str(value, "utf-8"))
        elif number == _NODE_OUTPUT:
            found[1].append(str(value, "utf-8"))
    return found


def _parts(message: bytes | memoryview) -> Iterator[Part]:
    view = memoryview(message)
    at, size = 0, len(view)
    while at < size:
        start = at
        tag = view[at]
        at += 1
        if tag > 127:  # most numbers are one byte, and there are tens of thousands
            tag, at = _varint(view, start)
        kind = tag & 7
        if kind == 2:
            end = view[at] if at < size else 128
            if end > 127:
                end, at = _varint(view, at)
            else:
                at += 1
            end += at
        elif kind == 0:
            _, end = _varint(view, at)
        elif kind in (1, 5):
            end = at + (8 if kind == 1 else 4)
        else:
            raise ModelError("not an ONNX model: the bytes are not a protocol buffer")
        if end > size:
            raise ModelError("not an ONNX model: the file ends too early")
        yield tag >> 3, view[start:end], view[at:end]
        at = end


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(view):
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ModelError("not an ONNX model: the file ends too early")


def _field(number: int, value: bytes) -> bytes:
    return _head(number, len(value)) + value


def _head(number: int, size: int) -> bytes:
    return _varint_bytes(number << 3 | 2) + _varint_bytes(size)


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _strings(message: memoryview, field: int) -> list[str]:
    return [str(value, "utf-8") for number, _, value in _parts(message) if number == field]


def _first(message: memoryview, field: int) -> str:
    return next(iter(_strings(message, field)), "")


TOKEN_BUDGET = 1024
"""Tokens a pass, padding included: larger batches fall out of the cache and are slower on a CPU."""
LEAST = 0.9
"""Share of a batch's longest text that the others have at least: a batch of one is nearly as fast as a large one."""
SESSIONS = 2
"""Depths kept open at a time; each holds the weights once in fp32."""


def threads() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("QUINTET_THREADS", cores)


TABLE = "words.rows"
"""The value in our graphs that holds a word's row of the embedding table, before positions are added."""


class OnnxEmbedder:
    """A graph with inputs `input_ids`, `attention_mask` and outputs `layer_0` … `layer_N`. Layer 0 is the row of the
    embedding table, where the graph has it; the output `layer_0` has positions in it.

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
        graph = mapped(self._path)
        self._table = TABLE if has_value(graph, TABLE) else "layer_0"
        missing = {f"layer_{i}" for i in range(self.layers + 1)} - set(output_names(graph))
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
        given = {"input_ids": ids, "attention_mask": mask}
        upper = [layer for layer in layers if layer > 0]
        found = (
            dict(zip(upper, self._session(max(upper)).run([f"layer_{i}" for i in upper], given), strict=True))
            if upper
            else {}
        )
        if 0 in layers:
            (found[0],) = self._session(0).run([self._table], given)
        return [found[layer] for layer in layers]

    def _session(self, depth: int):  # type: ignore[no-untyped-def]  # onnxruntime has no types
        with self._lock:
            if depth not in self._sessions:
                while len(self._sessions) >= SESSIONS:
                    self._sessions.popitem(last=False)
                # All outputs up to the depth stay: the graph is fused in one way, whichever of them are asked for.
                kept = [f"layer_{i}" for i in range(depth + 1)] if depth else [self._table]
                self._sessions[depth] = open_cut(self._path, kept)
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


class LateSession:
    """A graph that is opened when it is first asked for, or beside other work once it is known that it will be."""

    def __init__(self, model: Path, packed: Path) -> None:
        self._model, self._packed = model, packed
        self._found: Session | None = None
        self._begun = False
        self._lock = threading.Lock()

    def soon(self) -> None:
        """It will be asked for. Most of opening is done by libraries that let go of Python."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._beside, name="quintet-opening").start()

    def get(self) -> Session:
        with self._lock:
            if self._found is None:
                self._found = open_session(self._model, self._packed)
            return self._found

    def _beside(self) -> None:
        with contextlib.suppress(Exception):  # who asks for it is told
            self.get()


class Session:
    """An opened graph. Before every pass it asks whether anybody still waits for it."""

    def __init__(self, inner: Foreign, packed: Sequence[object] = ()) -> None:
        self._inner = inner
        self._packed = packed
        """It reads them where they lie, as long as it lives."""

    def run(self, outputs: Sequence[str], inputs: Cells) -> Foreign:
        checkpoint()
        return self._inner.run(outputs, inputs)

    def __getattr__(self, name: str) -> Foreign:
        return getattr(self._inner, name)
