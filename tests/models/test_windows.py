from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quintet.models.subwords import windows

cases = st.tuples(st.integers(0, 300), st.integers(2, 40)).flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(0, pair[1] - 1))
)


@given(cases)
def test_each_position_belongs_to_the_window_where_it_is_most_central(case):
    length, size, overlap = case
    plan = windows(length, size, overlap)
    for position in range(length):
        (owner,) = [w for w in plan if w.first <= position < w.last]
        centre = {w: abs(2 * position - (w.start + w.end - 1)) for w in plan if w.start <= position < w.end}
        assert centre[owner] == min(centre.values())


@given(cases)
def test_windows_are_full_and_cover_everything(case):
    length, size, overlap = case
    plan = windows(length, size, overlap)
    assert plan[0].start == 0
    assert plan[-1].end == length
    assert [w.first for w in plan[1:]] == [w.last for w in plan[:-1]]
    if length > size:
        assert {w.end - w.start for w in plan} == {size}
        assert all(left.end - right.start >= overlap for left, right in pairwise(plan))
    else:
        assert len(plan) == 1
