"""Makes the small evaluators; knows no metric."""
