"""USR's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "usr-mlm": ("likelihood:MaskedLikelihood", "Likelihood of the response under a masked language model (USR 4.2.1)"),
    "usr-dr-context": ("retrieval:DialogueRetrieval", "Probability of being the true response (USR DR(x=c))"),
    "usr-dr-fact": ("retrieval:FactRetrieval", "The same, judged by the fact alone (USR DR(x=f))"),
    "usr": ("overall:Usr", "USR's regression over its three sub-metrics, published or fitted weights"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.usr.{target}", summary)
