"""The graph as arrays, and what is computed on it."""
