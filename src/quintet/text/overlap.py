"""What two sequences share, and how far apart they are. Sequences are strings or lists of words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein


class Shared(NamedTuple):
    """`first[start_first : start_first + length] == second[start_second : start_second + length]`."""

    start_first: int
    start_second: int
    length: int


def longest_common_substring(first: Sequence[Hashable], second: Sequence[Hashable]) -> Shared:
    """The longest run found in both, leftmost in `first`; by a suffix automaton, linear in both lengths."""
    moves, link, length, ends = _suffix_automaton(second)
    state, run, best = 0, 0, Shared(0, 0, 0)
    for i, item in enumerate(first):
        while state and item not in moves[state]:
            state = link[state]
            run = length[state]
        if item in moves[state]:
            state = moves[state][item]
            run += 1
        if run > best.length:
            best = Shared(i - run + 1, ends[state] - run + 1, run)
    return best


def _suffix_automaton(
    items: Sequence[Hashable],
) -> tuple[list[dict[Hashable, int]], list[int], list[int], list[int]]:
    """States of the automaton of all substrings: moves, suffix links, longest length, end of the first occurrence."""
    moves: list[dict[Hashable, int]] = [{}]
    link, length, ends = [-1], [0], [-1]
    last = 0
    for i, item in enumerate(items):
        current = len(moves)
        moves.append({})
        link.append(0)
        length.append(length[last] + 1)
        ends.append(i)
        state = last
        while state != -1 and item not in moves[state]:
            moves[state][item] = current
            state = link[state]
        if state != -1:
            target = moves[state][item]
            if length[target] == length[state] + 1:
                link[current] = target
            else:
                clone = len(moves)
                moves.append(dict(moves[target]))
                link.append(link[target])
                length.append(length[state] + 1)
                ends.append(ends[target])
                while state != -1 and moves[state].get(item) == target:
                    moves[state][item] = clone
                    state = link[state]
                link[target] = link[current] = clone
        last = current
    return moves, link, length, ends


def longest_common_subsequence(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest sequence that both contain in order, gaps allowed."""
    return int(LCSseq.similarity(*_numbered(first, second)))


def common_subsequence_pairs(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Places (i, j) of one longest common subsequence, ascending."""
    pairs: list[tuple[int, int]] = []
    for operation in LCSseq.opcodes(*_numbered(first, second)):
        if operation.tag == "equal":
            length = operation.src_end - operation.src_start
            pairs += [(operation.src_start + k, operation.dest_start + k) for k in range(length)]
    return pairs


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Levenshtein: fewest insertions, deletions and replacements."""
    return int(Levenshtein.distance(*_numbered(first, second)))


def _numbered(first: Sequence[Hashable], second: Sequence[Hashable]) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    """Words become small integers, since rapidfuzz compares what is not a character by its hash alone."""
    if isinstance(first, str) and isinstance(second, str):
        return first, second
    numbers: dict[Hashable, int] = {}
    return (
        [numbers.setdefault(item, len(numbers)) for item in first],
        [numbers.setdefault(item, len(numbers)) for item in second],
    )
