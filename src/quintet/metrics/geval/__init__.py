"""G-Eval (Liu et al., EMNLP 2023): a language model grades on a scale, and its grades count by their probability."""
