"""Positives and negatives for each family; `builders` holds the table of them."""
