from hypothesis import given
from hypothesis import strategies as st

from quintet.text.overlap import (
    common_subsequence_pairs,
    edit_distance,
    longest_common_subsequence,
    longest_common_substring,
)

few = st.text(alphabet="abc", max_size=14)
many_words = st.lists(st.sampled_from(["the", "cat", "sat", -1, -2]), max_size=12)


def plain_substring(a, b):
    best = 0
    for i in range(len(a)):
        for j in range(len(b)):
            n = 0
            while i + n < len(a) and j + n < len(b) and a[i + n] == b[j + n]:
                n += 1
            best = max(best, n)
    return best


def plain_table(a, b):
    """Lengths of the longest common subsequence and the edit distance, by the textbook tables."""
    common = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    edits = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            common[i][j] = common[i - 1][j - 1] + 1 if x == y else max(common[i - 1][j], common[i][j - 1])
            edits[i][j] = min(edits[i - 1][j - 1] + (x != y), edits[i - 1][j] + 1, edits[i][j - 1] + 1)
    return common[-1][-1], edits[-1][-1]


@given(st.tuples(few, few) | st.tuples(many_words, many_words))
def test_against_plain_twins(pair):
    a, b = pair
    shared = longest_common_substring(a, b)
    assert shared.length == plain_substring(a, b)
    assert (
        a[shared.start_first : shared.start_first + shared.length]
        == b[shared.start_second : shared.start_second + shared.length]
    )
    common, edits = plain_table(a, b)
    pairs = common_subsequence_pairs(a, b)
    assert longest_common_subsequence(a, b) == common == len(pairs)
    assert all(a[i] == b[j] for i, j in pairs)
    assert pairs == sorted(pairs)
    assert edit_distance(a, b) == edits


def test_leftmost_of_equals():
    assert longest_common_substring("xabyab", "ab") == (1, 0, 2)
    assert longest_common_substring(["a", "b", "c", "d"], ["b", "c"]) == (1, 0, 2)
    assert longest_common_substring("abc", "xyz") == (0, 0, 0)
