"""The metrics that the five papers compare with. Each score depends on its own example alone."""
