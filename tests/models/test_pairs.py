import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.errors import ModelError
from quintet.models.subwords import shares

sizes = st.integers(0, 60)


def plain_longest_first(first, second, room):
    """One at a time from the longer text, from the second when they are as long."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(sizes, sizes, st.integers(2, 60))
def test_longest_first_equals_taking_one_at_a_time(first, second, room):
    assert shares(first, second, room, "longest_first") == plain_longest_first(first, second, room)


@given(sizes, sizes, st.integers(2, 60))
def test_only_second_leaves_the_first_alone(first, second, room):
    a, b = shares(first, second, room, "only_second")
    assert a == min(first, room)
    assert b == min(second, room - a)


def test_unknown_strategy():
    with pytest.raises(ModelError, match="longest_first or only_second"):
        shares(50, 50, 10, "middle_out")
