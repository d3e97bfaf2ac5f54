"""Carries work: plan, run, store. Knows a metric only by its promises."""
