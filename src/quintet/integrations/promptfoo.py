"""promptfoo: `quintet` as a Python assertion. A file of yours beside the configuration holds one line,

    from quintet.integrations.promptfoo import get_assert

and the configuration names it:

    assert:
      - type: python
        value: file://quintet_assert.py
        config: {task: rag, dims: [faithfulness], min: {faithfulness: 0.5}}

`vars` are read as columns are: question, contexts, source, reference, and others by `columns`.
"""

from __future__ import annotations

import math

from quintet.core.evidence import weakest
from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError
from quintet.integrations.chosen import choose_for_rows, row_of

OWN = ("min", "max")


def get_assert(output: object, context: Cells) -> JsonObject:
    """A grading result: whether every limit holds, the mean score, each dimension as a named score, and why."""
    config = dict(context.get("config") or {})
    least, most = (dict(config.pop(name, None) or {}) for name in OWN)
    chosen = choose_for_rows(config.pop("task", None), **{"skip_bad": True, **config})
    text = output if isinstance(output, str) else str(output)
    result = chosen.score([row_of(text, vars=dict(context.get("vars") or {}))])
    for name in (*least, *most):
        if name not in result.columns:
            why = result.left_out.get(name, "it is not among the dimensions")
            raise InputError(f"{name} was not scored: {why}", "promptfoo", "name it in dims, or give what it needs")
    scores = result[0]
    parts, named = [], {}
    for name, score in scores.items():
        held = score.value >= least.get(name, -math.inf) and score.value <= most.get(name, math.inf)
        said = "; ".join(filter(None, (", ".join(score.flags), weakest(score, text))))
        value = 0.0 if score.missing else float(score.value)
        number = "no score" if score.missing else f"{value:.3f}"
        reason = f"{name} {number}" + (f" ({said})" if said else "")
        # What has no score (an answer that declines to answer) neither passes nor fails by it.
        parts.append({"pass": held or score.missing, "score": value, "reason": reason})
        if not score.missing:
            named[name] = value
    known = list(named.values())
    return {
        "pass": all(part["pass"] for part in parts),
        "score": sum(known) / len(known) if known else 0.0,
        "reason": "; ".join(str(part["reason"]) for part in parts),
        "namedScores": named,
        "componentResults": parts,
    }
