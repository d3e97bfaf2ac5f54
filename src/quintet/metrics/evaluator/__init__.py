"""The bundled evaluator: signals of one small encoder, one small language model and word counts, and their blends."""
