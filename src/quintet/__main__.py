"""`python -m quintet` is the `quintet` command."""

from quintet.serve.cli import main

main()
