"""What the bundled evaluator is trained by: corpora, examples of every head, the two networks, their lessons."""
