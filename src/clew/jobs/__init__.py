"""Work that outlives the process that it was asked of: what jobs there are, and who runs them."""
