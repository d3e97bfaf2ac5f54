"""Judges the judges: sees tables and ratings, never a model."""
