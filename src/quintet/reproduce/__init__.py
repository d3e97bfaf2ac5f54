"""The tables of the five papers: what was printed, and the same figure by quintet beside it."""
