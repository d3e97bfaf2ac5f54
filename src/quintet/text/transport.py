"""Exact optimal transport (earth mover's distance) between two small weighted point sets.

The network simplex method on the dense bipartite graph: a spanning tree of used moves is improved by swapping one move
at a time. Masses are counted in integers and perturbed as Orden (1956) proposed, so that no move of the tree is ever
empty and the method cannot cycle. Pricing is numpy, the tree plain Python: 60 x 60 takes 3 milliseconds, 60 x 500
takes 40, 500 x 500 takes 300.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quintet.core.stopping import checkpoint

MOST_POINTS = 1000
"""On either side, for metrics that carry the words of whole texts: beyond it the heaviest are carried."""
_TOTAL = 1 << 60
_TOLERANCE = 1e-13
"""Of the largest cost: a reduced cost this small is rounding, not an improvement."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transport:
    cost: float
    """The least total cost of turning one set of weights into the other, both scaled to sum 1."""
    plan: Floats
    """How much goes from row to column; rows sum to the first weights, columns to the second."""


def transport(cost: ArrayLike, supply: ArrayLike, demand: ArrayLike) -> Transport:
    """The cheapest plan that carries `supply` (rows of `cost`) to `demand` (columns); weights are scaled to sum 1."""
    prices = np.asarray(cost, dtype=np.float64)
    rows, columns = _masses(supply), _masses(demand)
    if prices.shape != (len(rows), len(columns)):
        raise ValueError(f"cost has shape {prices.shape}, weights ask for {(len(rows), len(columns))}")
    if not np.isfinite(prices).all():
        raise ValueError("cost holds a value that is not finite")
    used_rows, used_columns = np.flatnonzero(rows), np.flatnonzero(columns)
    tree = _Tree(prices[np.ix_(used_rows, used_columns)], rows[used_rows].tolist(), columns[used_columns].tolist())
    tree.improve()
    plan = np.zeros(prices.shape)
    for row, column, mass in tree.flows():
        plan[used_rows[row], used_columns[column]] = mass / _TOTAL
    return Transport(float((plan * prices).sum()), plan)


def _masses(weights: ArrayLike) -> NDArray[np.int64]:
    """Weights as integers that sum to _TOTAL exactly; what rounding leaves goes to the largest."""
    values = np.asarray(weights, dtype=np.float64)
    total = values.sum()
    if values.ndim != 1 or not np.isfinite(total) or total <= 0 or (values < 0).any():
        raise ValueError("weights must be finite, not negative, and not all zero")
    masses = np.floor(values / total * _TOTAL).astype(np.int64)
    masses[np.argmax(masses)] += _TOTAL - masses.sum()
    return masses


def heaviest(weights: ArrayLike, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Places of the heaviest points in their order, the earlier of equal ones first chosen."""
    order = np.argsort(-np.asarray(weights, dtype=np.float64), kind="stable")[:most]
    return np.sort(order)


class _Tree:
    """A spanning tree over rows (0 to n-1) and columns (n to n+m-1), rooted at node 0.

    `load[v]` is the mass on the move between v and its parent; `price[v]` makes the moves of the tree cost nothing:
    cost = price[row] + price[column].
    """

    def __init__(self, cost: Floats, supply: list[int], demand: list[int]) -> None:
        self.cost, self.rows = cost, len(supply)
        self.cells: list[list[float]] = cost.tolist()
        self.masses = [*supply, *demand]
        nodes = len(self.masses)
        self.parent, self.depth = [-1] * nodes, [0] * nodes
        self.load, self.price = [0] * nodes, [0.0] * nodes
        self.children: list[set[int]] = [set() for _ in range(nodes)]
        self._grow(self._first_moves())

    def _perturbed(self) -> list[int]:
        """Masses in which no subset of rows equals a subset of columns but the whole."""
        scale = self.rows + 1
        masses = [mass * scale + (node < self.rows) for node, mass in enumerate(self.masses)]
        masses[-1] += self.rows
        return masses

    def _first_moves(self) -> list[tuple[int, int, int]]:
        """Cheapest cells first, each filled as far as it goes: n + m - 1 moves (row, column node, mass)."""
        left = self._perturbed()
        moves = []
        columns = self.cost.shape[1]
        # Cells are weighed by what they cost beyond the cheapest of their row and column.
        order = np.argsort(
            self.cost - self.cost.min(axis=0) - self.cost.min(axis=1, keepdims=True), axis=None, kind="stable"
        )
        for cell in order.tolist():
            row, column = cell // columns, self.rows + cell % columns
            amount = min(left[row], left[column])
            if amount:
                moves.append((row, column, amount))
                left[row] -= amount
                left[column] -= amount
                if len(moves) == len(left) - 1:
                    break
        return moves

    def _grow(self, moves: list[tuple[int, int, int]]) -> None:
        near: list[list[tuple[int, int]]] = [[] for _ in self.masses]
        for row, column, mass in moves:
            near[row].append((column, mass))
            near[column].append((row, mass))
        waiting = [0]
        for node in waiting:
            for other, mass in near[node]:
                if other != self.parent[node]:
                    self.parent[other], self.load[other] = node, mass
                    self.depth[other] = self.depth[node] + 1
                    self.price[other] = self._cell(node, other) - self.price[node]
                    self.children[node].add(other)
                    waiting.append(other)

    def _cell(self, a: int, b: int) -> float:
        return self.cells[a][b - self.rows] if a < self.rows else self.cells[b][a - self.rows]

    def improve(self) -> None:
        """Swaps moves until none would lower the cost."""
        least = -_TOLERANCE * max(float(np.abs(self.cost).max()), 1e-300)
        while True:
            checkpoint()
            price = np.array(self.price)
            reduced = self.cost - price[: self.rows, None] - price[self.rows :]
            best = reduced.argmin(axis=1)
            saving = reduced[np.arange(self.rows), best]
            candidates = np.flatnonzero(saving < least)
            if not len(candidates):
                return
            # The best cell of each row, most promising first; earlier swaps may have spoilt it.
            for row in candidates[np.argsort(saving[candidates])].tolist():
                column = self.rows + int(best[row])
                while (gain := self._cell(row, column) - self.price[row] - self.price[column]) < least:
                    self._swap(row, column, gain)

    def _swap(self, row: int, column: int, gain: float) -> None:
        """Brings the move (row, column) in: mass goes round the cycle it closes until a move of the tree is empty."""
        giving, taking = self._cycle(row, column)
        leaving = min(giving, key=self.load.__getitem__)
        amount = self.load[leaving]
        for node in giving:
            self.load[node] -= amount
        for node in taking:
            self.load[node] += amount
        # The part cut off hangs from `leaving`; it is turned round to hang from the new move.
        inside = row if self._hangs(row, leaving) else column
        outside = column if inside == row else row
        self._reroot(inside, leaving, outside, amount)
        self._shift_prices(inside, gain)

    def _cycle(self, row: int, column: int) -> tuple[list[int], list[int]]:
        """Moves of the tree path between the two, by their lower node: those that lose mass, and those that win."""
        giving: list[int] = []
        taking: list[int] = []
        a, b = row, column
        parent, depth = self.parent, self.depth
        while a != b:
            # Round the cycle moves lose and win in turn, and the neighbours of the new move lose: on the row's side
            # those with the row below, on the column's side those with the column below.
            if depth[a] >= depth[b]:
                (giving if a < self.rows else taking).append(a)
                a = parent[a]
            else:
                (giving if b >= self.rows else taking).append(b)
                b = parent[b]
        return giving, taking

    def _hangs(self, node: int, top: int) -> bool:
        depth = self.depth[top]
        while self.depth[node] > depth:
            node = self.parent[node]
        return node == top

    def _reroot(self, inside: int, leaving: int, outside: int, amount: int) -> None:
        node, above, load = inside, outside, amount
        while True:
            old, old_load = self.parent[node], self.load[node]
            self.children[old].discard(node)
            self.children[above].add(node)
            self.parent[node], self.load[node] = above, load
            if node == leaving:
                return
            node, above, load = old, node, old_load

    def _shift_prices(self, top: int, gain: float) -> None:
        """The subtree under `top` takes the new move's cost into its prices, and learns its depth."""
        rows, price, depth, parent = self.rows, self.price, self.depth, self.parent
        delta = gain if top < rows else -gain
        waiting = [top]
        for node in waiting:
            depth[node] = depth[parent[node]] + 1
            price[node] += delta if node < rows else -delta
            waiting.extend(self.children[node])

    def flows(self) -> list[tuple[int, int, int]]:
        """(row, column, mass) of the tree for the masses as they were, without the perturbation."""
        left = list(self.masses)
        found = []
        for node in sorted(range(1, len(left)), key=self.depth.__getitem__, reverse=True):
            above = self.parent[node]
            row, column = (node, above) if node < self.rows else (above, node)
            found.append((row, column - self.rows, left[node]))
            left[above] -= left[node]
        return found
