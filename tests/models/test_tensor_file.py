"""Our reader of safetensors against the library's; files that are damaged, or of another kind, are refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quintet.errors import ModelError
from quintet.models import packed_weights
from quintet.models.packed_weights import DTYPES, tensors

GOOD = {"dtype": "U8", "shape": [2, 2], "data_offsets": [0, 4]}
DEEP = b"[" * 100_000


def written(path: Path, header: Any, data: bytes = b"1234") -> Path:
    told = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(told).to_bytes(8, "little") + told + data)
    return path


def read(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as stream:
        return {name: tensor.read(stream) for name, tensor in tensors(stream).items()}


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(sorted(DTYPES.values())).flatmap(
        lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=5,
))  # fmt: skip
def test_what_the_library_writes_is_read(tmp_path_factory, arrays: dict[str, np.ndarray]) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="the torch extra is not installed")
    path = tmp_path_factory.mktemp("library") / "some.safetensors"
    library.save_file(arrays, path, metadata={"made": "up"})
    found = read(path)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_what_is_read_is_little_endian_and_by_place(tmp_path: Path) -> None:
    header = {
        "second": {"dtype": "I16", "shape": [1], "data_offsets": [1, 3]},
        "__metadata__": {"a": "b"},
        "first": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]},
    }
    found = read(written(tmp_path / "x", header, b"\x07\x01\x02"))
    assert list(found) == ["first", "second"]
    assert found["first"] == 7
    assert found["second"].tolist() == [513]


@pytest.mark.parametrize(("header", "data", "reason"), [
    (b"{", b"", "no JSON"),
    (b"\xff\xfe{}", b"", "no UTF-8"),
    (b"[]", b"", "no table"),
    (DEEP, b"", "too deep"),
    (b'{"a": 1, "a": 2}', b"", "names 'a' twice"),
    ({"a": 1}, b"1234", "does not say what 'a' is"),
    ({"a": {"dtype": "U8", "shape": [4]}}, b"1234", "does not say what 'a' is"),
    ({"a": {**GOOD, "dtype": "BF16"}}, b"1234", "'BF16', which is not read"),
    ({"a": {**GOOD, "dtype": ["U8"]}}, b"1234", "which is not read"),
    ({"a": {**GOOD, "shape": [-2, -2]}}, b"1234", "no list of whole numbers"),
    ({"a": {**GOOD, "shape": [4, True]}}, b"1234", "no list of whole numbers"),
    ({"a": {**GOOD, "data_offsets": [0, 2, 4]}}, b"1234", "no list of whole numbers"),
    ({"a": {**GOOD, "data_offsets": [0, 5]}}, b"12345", "'a' does not fill its place"),
    ({"a": {**GOOD, "shape": [10**30, 0, 4], "data_offsets": [0, 4]}}, b"1234", "'a' does not fill its place"),
    ({"a": {**GOOD, "data_offsets": [1, 5]}}, b"12345", "'a' does not begin where"),
    ({"a": GOOD, "b\n": GOOD}, b"1234", r"'b\\n' does not begin where"),
    ({"a": GOOD}, b"12345", "tensors end at"),
    ({"a": GOOD}, b"123", "tensors end at"),
])  # fmt: skip
def test_damage_is_named_in_one_line(tmp_path: Path, header: Any, data: bytes, reason: str) -> None:
    path = written(tmp_path / packed_weights.FILE, header, data)
    with pytest.raises(ModelError, match=reason) as error:
        list(packed_weights.opened(path))
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def archive() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=np.zeros(3))
    return stream.getvalue()


@pytest.mark.parametrize("content", [b"", b"1234567", b"\x09" + bytes(7) + b"{}", archive(), b"GGUF" * 9])
def test_files_of_another_kind_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / packed_weights.FILE
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not safetensors, or its end is missing"):
        list(packed_weights.opened(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        list(packed_weights.opened(tmp_path / packed_weights.FILE))


CODES, ENDS = np.zeros((2, 16, 3), np.uint8), np.zeros((2, 1, 3), np.int8)
WHOLE = {"m.codes": CODES, "m.low": ENDS, "m.high": ENDS}


@pytest.mark.parametrize("parts", [
    {"weight": CODES},
    {"m.weight": CODES},
    {"m.codes": CODES, "m.low": ENDS},
    {"m.low": ENDS, "m.high": ENDS},
    {**WHOLE, "m.rows": CODES[0].astype(np.int8)},
    {**WHOLE, "m.low": ENDS.astype(np.uint8)},
    {**WHOLE, "m.low": ENDS[:1]},
    {**WHOLE, "m.codes": CODES[:, :8]},
    {**WHOLE, "m.codes": CODES.reshape(2, 48)},
    {"m.rows": CODES[0]},
    {"m.rows": ENDS},
])  # fmt: skip
def test_tensors_that_are_no_packed_matrix_are_refused(tmp_path: Path, parts: dict[str, np.ndarray]) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="the torch extra is not installed")
    for given_parts, refused in ((WHOLE, False), (parts, True)):
        library.save_file(given_parts, tmp_path / packed_weights.FILE)
        if not refused:
            assert [name for name, _ in packed_weights.opened(tmp_path / packed_weights.FILE)] == ["m"]
            continue
        with pytest.raises(ModelError, match="is no packed matrix"):
            list(packed_weights.opened(tmp_path / packed_weights.FILE))
