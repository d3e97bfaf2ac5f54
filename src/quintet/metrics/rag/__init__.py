"""Answers of assistants: what they take from retrieved contexts, and how they fit their conversation."""
