"""Means with bootstrap intervals, over all rows and by system, gathered as rows go by."""

from __future__ import annotations

import math

import numpy as np
from rich.table import Table

from quintet.cli.screen import number, plain_table
from quintet.core.item import Scored
from quintet.metrics.baselines.corpus import CorpusTally
from quintet.runner.plan import Plan
from quintet.stats.significance import mean_interval


class Summary:
    def __init__(self, plan: Plan) -> None:
        self._labels = [column.label for column in plan.columns]
        self._values: dict[str, dict[str, list[float]]] = {label: {} for label in self._labels}
        self._corpora = [tally for column in plan.columns if (tally := CorpusTally.of(column.label, column.metric))]

    def add(self, scored: Scored) -> None:
        system = scored.item.example.system if scored.item.example else None
        for tally in self._corpora if scored.item.example else ():
            tally.add(scored.item.example)
        for label in self._labels:
            value = scored.scores[label].value
            if not math.isnan(value):
                self._values[label].setdefault(system or "", []).append(value)

    def corpus_lines(self) -> list[str]:
        """BLEU, chrF and TER of all rows together, which is what papers report."""
        return [line for tally in self._corpora if (line := tally.line())]

    def table(self) -> Table:
        systems = sorted({name for values in self._values.values() for name in values if name})
        rows = []
        for label in self._labels:
            everything = [value for values in self._values[label].values() for value in values]
            rows.append([label, "all", *_cells(everything)])
            rows += [["", name, *_cells(self._values[label].get(name, []))] for name in systems if len(systems) > 1]
        headers = ["dimension", "system", "n", "mean", "95 % interval"]
        if len(systems) < 2:
            # One column less to wonder about.
            del headers[1]
            rows = [[row[0], *row[2:]] for row in rows]
        return plain_table(headers, rows, right=range(len(headers) - 3, len(headers)))


def _cells(values: list[float]) -> list[str]:
    if not values:
        return ["0", "–", "–"]
    low, high = mean_interval(np.asarray(values))
    interval = "–" if math.isnan(low) else f"{number(low)} – {number(high)}"
    return [str(len(values)), number(float(np.mean(values))), interval]
