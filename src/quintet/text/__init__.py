"""Strings in, strings or numbers out: pure, and seeded where random."""
