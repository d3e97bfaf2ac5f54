"""The evaluator with 8-bit arithmetic: nearly four times the products a second of float32, and the same bits in any
company, because scales are fixed when the file is written and sums of whole numbers are exact.

Activations are 8 bit with one scale for each product, found on sample texts; weights are 7 bit with one scale for each
output, so that two products fit 16 bits and processors without VNNI do not saturate. Large channels are made smaller
before rounding and their weights larger (Xiao et al. 2023, SmoothQuant, eq. 4); for attention's values the factor goes
into the matrix that makes them. The few channels that are many times larger than all others are multiplied apart, in
float32 (Dettmers et al. 2022, LLM.int8()): they halve the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from numpy.typing import NDArray

from quintet.models.onnx_judge import NOTHING, States, as_inputs, fresh_names, from_outputs
from quintet.models.subwords import Subwords
from quintet_train.export_evaluator import LONGEST_OUTPUT, Weights, _Evaluator
from quintet_train.export_graph import MICROSOFT, Array
from quintet_train.torch_parts import need

Ranges = Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Lowest and highest value of each channel that goes into a product."""
Sample = tuple[str, str]
"""An output and its grounds, which may be empty."""

SHARE = 0.7
"""How much of a channel's range moves into the weights."""
APART = {"down": 16}
"""Channels multiplied apart: behind the activation one is often ten times as large as the rest."""
TOP = 63
_LEAST = 1e-5


class _Watched(_Evaluator):
    """In float32, with the names of what goes into each product."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, small=False)
        self.seen: dict[str, str] = {}

    def linear(self, x: str, name: str, part: slice = slice(None)) -> str:
        if name.startswith("enc.layers."):
            self.seen[name] = x
        return super().linear(x, name, part)


def watch(weights: Weights, tokenizer: Path, samples: Sequence[Sample]) -> Ranges:
    """What goes into each product of the encoder on some hundred texts: on either side, and with both as one text."""
    made = _Watched(weights)
    with TemporaryDirectory() as folder:
        made.write(Path(folder) / "model.onnx")
        model = onnx.load(Path(folder) / "model.onnx")
    for name in made.seen.values():
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    session = need("onnxruntime").InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    subwords, longest = Subwords.read(tokenizer), len(made.array("enc.pos.weight"))
    found: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    fresh = [name for names in fresh_names(made.layers) for name in names]

    def run(inputs: dict[str, Array]) -> States:
        outputs = session.run([*fresh, *made.seen.values()], inputs)
        for name, value in zip(made.seen, outputs[len(fresh) :], strict=True):
            low, high = value[0].min(axis=0), value[0].max(axis=0)
            before = found.get(name, (low, high))
            found[name] = np.minimum(low, before[0]), np.maximum(high, before[1])
        return from_outputs(outputs[: len(fresh)], 0, inputs["ids"].shape[1])

    for sample in samples:
        output, grounds = (subwords.split(text).ids for text in sample)
        past = np.zeros((made.layers, 2, made.heads, 0, made.each), np.float32)
        output = output[: min(LONGEST_OUTPUT, longest // 2)]
        if len(grounds):
            as_one = np.concatenate([output, subwords.frame[1:], grounds])[: longest - 2]
            run(_inputs(subwords, as_one, (np.arange(len(as_one) + 2) > len(output) + 1).astype(np.int64), past))
            past = run(_inputs(subwords, grounds[: longest - 2], 1, past))
        run(_inputs(subwords, output, 0, past))
    return found


def _inputs(
    subwords: Subwords, text: NDArray[np.int64], side: int | NDArray[np.int64], past: States
) -> dict[str, Array]:
    first, last = subwords.frame
    ids = np.concatenate([[first], text, [last]]).astype(np.int64)[None]
    return {
        "ids": ids,
        "types": np.zeros_like(ids) + side,
        "mask": np.ones_like(ids),
        "output_mask": np.zeros_like(ids),
        **as_inputs(past),
        **NOTHING,
    }


class IntegerEvaluator(_Evaluator):
    def __init__(self, weights: Weights, ranges: Ranges) -> None:
        super().__init__(weights, small=True)
        self.ranges = ranges
        self._rounded: dict[str, tuple[str, str, str]] = {}

    def linear(self, x: str, name: str, part: slice = slice(None)) -> str:
        if name not in self.ranges:
            return super().linear(x, name, part)
        plain, bias = self.array(f"{name}.weight"), self.array(f"{name}.bias")
        matrix, apart = plain * self.factors(name), self.apart(name)
        matrix[:, apart] = 0
        if name.endswith(".qkv"):
            # Attention mixes values along the text, so a factor of a channel passes through it.
            values = slice(2 * self.width, None)
            beyond = self.factors(name.removesuffix("qkv") + "o")
            matrix[values] /= beyond[:, None]
            bias = np.concatenate([bias[: 2 * self.width], bias[values] / beyond])
        scales = np.maximum(np.abs(matrix[part]).max(axis=1), _LEAST) / TOP
        codes = np.rint(matrix[part] / scales[:, None]).astype(np.int8)
        graph = self.graph
        rounded, scale, zero = self.rounded(x, name)
        product = graph.node(
            "MatMulIntegerToFloat", rounded, graph.constant(codes.T, np.int8), scale, graph.real(scales), zero, "",
            graph.real(bias[part]), domain=MICROSOFT,
        )  # fmt: skip
        if not len(apart):
            return product
        picked = graph.node("Gather", x, graph.whole(apart.tolist()), axis=-1)
        return graph.node("Add", product, graph.node("MatMul", picked, graph.real(plain[part][:, apart].T)))

    def apart(self, name: str) -> NDArray[np.int64]:
        """The largest channels, which the whole numbers leave out."""
        count = APART.get(name.rpartition(".")[2], 0)
        return np.sort(np.argsort(-self._largest(name), kind="stable")[:count])

    def _largest(self, name: str) -> NDArray[np.float32]:
        low, high = self.ranges[name]
        return np.maximum(np.maximum(-low, high), _LEAST)

    def factors(self, name: str) -> NDArray[np.float32]:
        """What each channel is divided by before rounding."""
        weights = np.maximum(np.abs(self.array(f"{name}.weight")).max(axis=0), _LEAST)
        found = self._largest(name) ** SHARE / weights ** (1.0 - SHARE)
        apart = self.apart(name)
        found /= np.exp(np.log(np.delete(found, apart)).mean())
        found[apart] = 1.0
        return np.asarray(found, np.float32)

    def rounded(self, x: str, name: str) -> tuple[str, str, str]:
        """Codes, scale and zero point of a product's input; made once where several products share it."""
        if name not in self._rounded:
            graph, factors = self.graph, self.factors(name)
            lowest, highest = (np.delete(limit / factors, self.apart(name)) for limit in self.ranges[name])
            low, high = min(0.0, float(lowest.min())), max(0.0, float(highest.max()))
            step = max(high - low, _LEAST) / 255
            scale, zero = graph.real(step), graph.constant(round(-low / step), np.uint8)
            divided = x if name.endswith(".o") else graph.node("Mul", x, graph.real(1.0 / factors))
            self._rounded[name] = graph.node("QuantizeLinear", divided, scale, zero), scale, zero
        return self._rounded[name]
