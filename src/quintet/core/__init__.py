"""What the words mean. Standard library only."""
