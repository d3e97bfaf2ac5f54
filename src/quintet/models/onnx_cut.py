"""An ONNX file cut down to chosen outputs, on the level of bytes: no layer above the one asked for is computed.

ONNX Runtime computes every node of a graph even when only an early output is fetched, and the `onnx` package is too
large a dependency for cutting a graph. The file is protocol-buffer wire format: fields of (number, kind, value), where
a nested message is a field whose value is bytes. Only the few fields named below are read; all others are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from quintet.errors import ModelError

# Field numbers of onnx.proto: ModelProto.graph; GraphProto.node, initializer, input, output; the names inside each.
_GRAPH = 7
_NODE, _INITIALIZER, _INPUT, _OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_TENSOR_NAME, _VALUE_NAME = 8, 1

Part = tuple[int, memoryview, memoryview]
"""Field number, the whole field as written, and its value."""


def cut(model: bytes, outputs: Collection[str]) -> bytes:
    """The model with only `outputs` and what they need, as bytes. Graphs with control flow are not understood."""
    return b"".join(
        _field(number, _cut_graph(value, outputs)) if number == _GRAPH else whole
        for number, whole, value in _parts(model)
    )


def output_names(model: bytes) -> list[str]:
    return _names(model, _OUTPUT)


def input_names(model: bytes) -> list[str]:
    return _names(model, _INPUT)


def _names(model: bytes, field: int) -> list[str]:
    for number, _, graph in _parts(model):
        if number == _GRAPH:
            return [_first(value, _VALUE_NAME) for n, _, value in _parts(graph) if n == field]
    raise ModelError("not an ONNX model: the file has no graph")


def _cut_graph(graph: memoryview, outputs: Collection[str]) -> bytes:
    parts = list(_parts(graph))
    makers = {name: value for n, _, value in parts if n == _NODE for name in _strings(value, _NODE_OUTPUT)}
    needed, queue = set(outputs), list(outputs)
    while queue:
        maker = makers.get(queue.pop())
        if maker is not None:
            fresh = [name for name in _strings(maker, _NODE_INPUT) if name and name not in needed]
            needed.update(fresh)
            queue.extend(fresh)

    def kept(number: int, value: memoryview) -> bool:
        if number == _NODE:
            return any(name in needed for name in _strings(value, _NODE_OUTPUT))
        if number == _INITIALIZER:
            return _first(value, _TENSOR_NAME) in needed
        return number != _OUTPUT or _first(value, _VALUE_NAME) in outputs

    return b"".join(whole for number, whole, value in parts if kept(number, value))


def _parts(message: bytes | memoryview) -> Iterator[Part]:
    view = memoryview(message)
    at = 0
    while at < len(view):
        start = at
        tag, at = _varint(view, at)
        kind = tag & 7
        if kind == 0:
            _, end = _varint(view, at)
        elif kind == 2:
            size, at = _varint(view, at)
            end = at + size
        elif kind in (1, 5):
            end = at + (8 if kind == 1 else 4)
        else:
            raise ModelError("not an ONNX model: the bytes are not a protocol buffer")
        if end > len(view):
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
    return _varint_bytes(number << 3 | 2) + _varint_bytes(len(value)) + value


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
