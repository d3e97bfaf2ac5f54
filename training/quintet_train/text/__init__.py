"""Texts taken apart and spoilt on purpose, for training data."""
