"""Bytes: paths, tables (JSONL, CSV, TSV, Parquet, plain lines), and the only module that reaches the network."""
