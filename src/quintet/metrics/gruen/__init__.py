"""GRUEN (Zhu & Bhat, Findings of EMNLP 2020): linguistic quality of a text on its own."""
