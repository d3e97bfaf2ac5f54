"""Cutting a graph on the level of bytes equals cutting it with the onnx package, where that is installed."""

import numpy as np
import pytest

from quintet.errors import ModelError
from quintet.models import catalog
from quintet.models.onnx_backend import cut, open_session, output_names

FEED = {"input_ids": np.array([[101, 7592, 2088, 102]]), "attention_mask": np.ones((1, 4), np.int64)}


@pytest.fixture(scope="module")
def whole() -> bytes:
    entry = catalog.entry("gte-small")
    return (catalog.verify(entry) / "model.onnx").read_bytes()


def test_less_is_left_and_gives_the_same(whole):
    small = cut(whole, ["layer_0", "layer_2"])
    assert output_names(whole) == [f"layer_{i}" for i in range(13)]
    assert output_names(small) == ["layer_0", "layer_2"]
    assert len(small) < len(whole) * 0.55
    expected = open_session(whole).run(["layer_2"], FEED)[0]
    assert np.array_equal(open_session(small).run(["layer_2"], FEED)[0], expected)


def test_keeping_everything_changes_nothing(whole):
    assert cut(whole, output_names(whole)) == whole


def test_equals_the_reference_library(whole):
    onnx = pytest.importorskip("onnx", reason="the onnx package is only needed to build models")
    small = onnx.load_model_from_string(cut(whole, ["layer_1"]))
    onnx.checker.check_model(small)
    nodes = {name for node in small.graph.node for name in node.input if name}
    assert {tensor.name for tensor in small.graph.initializer} <= nodes
    assert not any("layer.1." in node.name for node in small.graph.node)


@pytest.mark.parametrize("data", [b"", b"\x0b\x00", b"\x3a\xff\xff\xff\x7f", b"\xff" * 20, b"hello, world"])
def test_other_bytes_are_refused(data):
    with pytest.raises(ModelError, match="not an ONNX model"):
        output_names(data)
