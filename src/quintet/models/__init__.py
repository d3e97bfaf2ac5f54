"""A model is a role; which library runs it is a backend's secret."""
