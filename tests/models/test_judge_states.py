"""Keys and values of grounds: bounded in bytes, and given to a graph without a copy."""

import numpy as np

from quintet.models.memo import KeptStates
from quintet.models.onnx_judge import as_inputs, from_outputs, past_names


def states(length, fill=0.0):
    return np.full((3, 2, 2, length, 4), fill, np.float32)


def test_inputs_are_views_layer_by_layer():
    whole = np.arange(3 * 2 * 2 * 5 * 4, dtype=np.float32).reshape(3, 2, 2, 5, 4)
    given = as_inputs(whole)
    assert list(given) == [name for names in past_names(3) for name in names]
    assert np.array_equal(given["past_value_2"], whole[2, 1])
    assert all(np.shares_memory(part, whole) and part.flags.c_contiguous for part in given.values())


def test_states_of_one_text_of_a_run():
    fresh = [np.random.default_rng(i).normal(size=(2, 3, 8, 4)).astype(np.float32) for i in range(6)]
    found = from_outputs(fresh, 1, 5)
    assert found.shape == (3, 2, 2, 5, 4)
    for layer in range(3):
        for part in range(2):
            assert np.array_equal(found[layer, part], fresh[2 * layer + part][:, 1, :5])


def test_the_least_recently_used_go_first():
    one = states(10).nbytes
    kept = KeptStates(2 * one, lambda states: states.nbytes)
    kept.put(b"a", states(10, 1))
    kept.put(b"b", states(10, 2))
    assert kept.get(b"a") is not None
    kept.put(b"c", states(10, 3))
    assert kept.get(b"b") is None
    assert float(kept.get(b"a")[0, 0, 0, 0, 0]) == 1.0
    assert kept.bytes == 2 * one
    kept.put(b"large", states(30))
    assert kept.get(b"a") is None
    assert kept.get(b"large") is not None
    assert kept.bytes == 3 * one
    kept.put(b"a", states(10))
    kept.clear()
    assert (kept.bytes, kept.get(b"a")) == (0, None)
