import gc
import weakref

import numpy as np

from quintet.core.cache import Cache, fresh
from quintet.models.fake import FakeEncoder
from quintet.models.memo import Memo


def test_one_pass_per_distinct_text_however_many_ask():
    model = Memo(FakeEncoder())
    model.announce(9)
    model.announce(12)
    for layer in (9, 12, 9):
        found = model.embed(["a cat", "a dog", "a cat", ""], layer)
        assert [v.text for v in found] == ["a cat", "a dog", "a cat", ""]
    assert model.passes == 3
    assert model.texts == 12


def test_a_layer_that_nobody_announced_costs_a_second_pass():
    model = Memo(FakeEncoder())
    model.embed(["a cat"], 9)
    model.embed(["a cat"], 12)
    assert model.passes == 2
    model.embed(["a cat"], 12)
    assert model.passes == 2


def test_gives_what_the_encoder_gives():
    model = Memo(FakeEncoder())
    model.announce(3)
    for _ in range(2):
        (mine,) = model.embed(["one two three"], 7)
        plain = FakeEncoder().embed_layers(["one two three"], (7,), "window")[0][7]
        assert np.array_equal(mine.vectors, plain.vectors)


def test_cut_and_windowed_are_kept_apart():
    model = Memo(FakeEncoder())
    text = "word " * 600
    assert model.embed([text], 1, "cut")[0].cut == 90
    assert model.embed([text], 1, "window")[0].cut == 0
    assert model.passes == 2


def test_the_limit_holds_and_the_least_recently_used_goes_first():
    one = FakeEncoder().embed_layers(["a b c"], (1,), "window")[0][1]
    size = one.vectors.nbytes + one.starts.nbytes + one.ends.nbytes + len(one.text)
    model = Memo(FakeEncoder(), limit=2 * size)
    model.embed(["a b c"], 1)
    model.embed(["d e f"], 1)
    model.embed(["a b c"], 1)
    model.embed(["g h i"], 1)
    assert model.bytes <= 2 * size
    assert model.passes == 3
    model.embed(["a b c"], 1)
    assert model.passes == 3
    model.embed(["d e f"], 1)
    assert model.passes == 4


def test_a_call_larger_than_the_limit_still_answers_and_shares():
    model = Memo(FakeEncoder(), limit=10)
    assert len(model.embed(["a", "b", "a"], 1)) == 3
    assert model.passes == 2
    assert model.bytes == 0


def test_forget_clears_but_announcements_stay():
    model = Memo(FakeEncoder())
    model.announce(9)
    model.announce(12)
    model.embed(["a"], 9)
    fresh()
    assert model.bytes == 0
    model.embed(["a"], 9)
    model.embed(["a"], 12)
    assert model.passes == 2


def test_a_cache_that_is_closed_keeps_nothing_alive():
    with Cache():
        model = Memo(FakeEncoder())
        model.embed(["a"], 9)
        assert model.bytes > 0
    assert model.bytes == 0
    gone = weakref.ref(model)
    fresh()
    del model
    gc.collect()
    assert gone() is None
