"""Relations: what texts state, what is written by hand, when it holds."""
