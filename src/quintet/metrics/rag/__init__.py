"""Retrieval-augmented answers: what the contexts hold, what the answer takes from them, whether it answers."""
