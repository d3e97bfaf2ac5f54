"""What has changed since a baseline: a test for each dimension, and the examples that fell or rose most."""

from __future__ import annotations

import math
import os
from html import escape

from quintet._saved import compare_two, ids_of, read_scored
from quintet.core.result import Result
from quintet.report.charts import number
from quintet.stats.compare import Difference

SHOWN = 10
"""Examples of each dimension and direction."""
LEAST = 5e-4
"""A change that three decimals do not show is none."""


def regression_section(result: Result, baseline: Result | str | os.PathLike[str]) -> str:
    """Rows are paired by id; rows that only one of the two has are counted."""
    before = baseline if isinstance(baseline, Result) else read_scored(os.fspath(baseline))
    name = "the baseline" if isinstance(baseline, Result) else os.fspath(baseline)
    found = compare_two(result, before, common_only=True)
    old = {id: place for place, id in enumerate(ids_of(before))}
    shared = [(place, old[id]) for place, id in enumerate(ids_of(result)) if id in old]
    alone = (len(result) - len(shared), len(before) - len(shared))
    note = f" {alone[0]} examples are new, {alone[1]} are gone." if any(alone) else ""
    body = "".join(_row(one) for one in found)
    lists = "".join(_moved(result, before, one.dimension, shared) for one in found)
    return (
        '<section id="since"><h2>Since the baseline</h2>'
        f'<p class="soft lead">Against {escape(name)}, over {len(shared)} examples with the same id, with a sign-flip '
        f"test. Bold: p &lt; 0.05 after Holm’s correction.{note}</p>"
        '<div class="scroll"><table class="pairs"><thead><tr><th scope="col">Dimension</th>'
        '<th scope="col" class="n">Before</th><th scope="col" class="n">Now</th><th scope="col" class="n">Change</th>'
        '<th scope="col" class="n">95 % interval</th><th scope="col" class="n">p (Holm)</th>'
        '<th scope="col" class="n">Better / same / worse</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>{lists}</section>"
    )


def _row(one: Difference) -> str:
    sure = "sure" if one.p_holm < 0.05 else ""
    p = "–" if math.isnan(one.p_holm) else "&lt; 0.01" if one.p_holm < 0.01 else f"{one.p_holm:.2f}"
    return (
        f'<tr class="{sure}"><th scope="row">{escape(one.dimension)}</th><td class="n">{number(one.mean_second)}</td>'
        f'<td class="n">{number(one.mean_first)}</td><td class="n">{_signed(one.difference)}</td>'
        f'<td class="n">{_signed(one.low)} to {_signed(one.high)}</td><td class="n">{p}</td>'
        f'<td class="n">{one.wins} / {one.ties} / {one.losses}</td></tr>'
    )


def _moved(result: Result, before: Result, label: str, shared: list[tuple[int, int]]) -> str:
    """The examples that got worse most, then those that got better most; each a link to the example."""
    sign = 1.0 if result.columns[label].higher_is_better else -1.0
    new, old = result[label], before[label]
    moved = sorted((sign * (new[i] - old[j]), i, j) for i, j in shared if math.isfinite(new[i] - old[j]))
    worse = [entry for entry in moved if entry[0] < -LEAST][:SHOWN]
    better = [entry for entry in reversed(moved) if entry[0] > LEAST][:SHOWN]
    if not worse and not better:
        return ""
    ids = ids_of(result)

    def listed(title: str, entries: list[tuple[float, int, int]]) -> str:
        items = "".join(
            f'<li><a href="#example-{i + 1}">{escape(ids[i])}</a> {number(old[j])} → {number(new[i])}</li>'
            for _, i, j in entries
        )
        return f"<div><h3>{title}</h3><ol>{items}</ol></div>" if items else ""

    inner = listed("Worse now", worse) + listed("Better now", better)
    opened = " open" if worse else ""
    return (
        f'<details class="compare"{opened}><summary>{escape(label)}: {len(worse)} worse, {len(better)} better shown'
        f'</summary><div class="ends since">{inner}</div></details>'
    )


def _signed(value: float) -> str:
    return ("+" if value > 0 and number(value).strip("0.") else "") + number(value)
