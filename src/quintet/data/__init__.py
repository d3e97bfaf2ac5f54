"""Benchmarks with human ratings and training corpora: raw file to Example."""
